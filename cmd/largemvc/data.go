package main

import (
	"math"
	"os"
	"strings"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/dataset/views"
)

// aboutData is the part of the help on what can be read.
const aboutData = `
Rows are samples. A file may be NumPy (.npz, .npy), MATLAB (.mat, v7.3 too), HDF5, CSV or TSV (gzip too), or a folder of one
file a view; what it is shows in its content. The usual names are known: views in X0, X1, … (x0, view_0, … too) or in a cell
X, data, fea …, labels in y, Y, gt, labels …, a mask in present. 'largemvc inspect FILE' says what is found and how it is read.
`

// dataOptions is what the flags say on how data are read.
type dataOptions struct {
	data        []string
	labels      string
	mask        string
	views       string
	missingRows bool
	triplets    bool
	sparse      storage
	orientation orientation
	maxMemory   int
}

// dataFlags adds the flags of o, but for the data themselves.
func (o *dataOptions) dataFlags(f *flags) {
	f.string(&o.labels, "labels", "`FILE|NAME`: a file with the labels, or the variable or CSV column (its name, or its number from 0) that holds them, where there is no file of\nthat name; none: use no labels. By default a variable or column of a usual name is taken")
	f.string(&o.views, "views", "`NAMES` of the variables that hold the views, with commas between them, X{2} being an element of a cell; by default\nthe usual names")
	f.string(&o.mask, "mask", "`FILE` with an n×V matrix of ones and zeros, which views each sample has; by default what the data hold")
	f.bool(&o.missingRows, "missing-rows", "take rows that are wholly NaN for absent views; by default they are an error, unless the file lists the samples of\neach view")
	f.bool(&o.triplets, "triplets", "read views of three columns as (row, column, value); by default they are three features")
	f.value(choose(&o.sparse, sparseAuto, sparseKeep, sparseNever, sparseAlways), "sparse",
		"how views are held: `auto|keep|never|always`. auto: sparse where at most 5 % of the entries are not zero, which trains faster\nand takes less memory; keep: as in the file; never and always: all dense, all sparse")
	f.value(choose(&o.orientation, orientAuto, orientRows, orientColumns), "orientation",
		"axis of the matrices that counts the samples: `auto|rows|columns`. auto: by the labels and the sizes of the views")
	f.int(&o.maxMemory, "max-memory", 0, "`MIB` that the values may take at most; 0: 1024, or 128 times the size of the files where that is more")
}

// check refuses what is wrong whatever the data are.
func (o *dataOptions) check(command string) error {
	if len(o.data) == 0 {
		return usagef("%s: -data FILE is missing ('largemvc %[1]s -h' explains the flags)", command)
	}
	if o.maxMemory < 0 || o.maxMemory > math.MaxInt64>>20 {
		return usagef("%s: -max-memory is %d, want at least 0", command, o.maxMemory)
	}
	return nil
}

// options are the reader's, for values of some bits.
func (o *dataOptions) options(bits int) dataset.Options {
	out := dataset.Options{
		Float: bits, MaskFile: o.mask, MissingRows: o.missingRows, Triplets: o.triplets,
		Storage: dataset.Storage(o.sparse), Orientation: dataset.Orientation(o.orientation), MaxBytes: int64(o.maxMemory) << 20,
	}
	if o.views != "" {
		for name := range strings.SplitSeq(o.views, ",") {
			out.Views = append(out.Views, strings.TrimSpace(name))
		}
	}
	switch info, err := os.Stat(o.labels); {
	case o.labels == "none":
		out.NoLabels = true
	case o.labels != "" && err == nil && !info.IsDir():
		out.LabelsFile = o.labels
	default:
		out.Labels = o.labels
	}
	return out
}

// orientation is a dataset.Orientation with a name.
type orientation dataset.Orientation

const (
	orientAuto    = orientation(dataset.AutoOrientation)
	orientRows    = orientation(dataset.RowsAreSamples)
	orientColumns = orientation(dataset.ColumnsAreSamples)
)

func (o orientation) String() string {
	return map[orientation]string{orientAuto: "auto", orientRows: "rows", orientColumns: "columns"}[o]
}

// bits is the width of a float, as package dataset has it.
func bits(f largemvc.Float) int {
	if f == largemvc.Float64 {
		return 64
	}
	return 32
}

// input is a data set as the network takes it.
type input struct {
	views   []largemvc.View
	names   []string
	labels  []int // nil: not known
	classes int
	samples int
	dims    []int
	missing float64 // share of the view rows that are absent
}

// newInput gives a set to the network, without a copy of its values.
func newInput(set *dataset.Set) (*input, error) {
	x, err := views.Of(set)
	if err != nil {
		return nil, err
	}
	in := &input{views: x, labels: set.Labels, classes: set.Classes(), samples: set.Samples(), dims: set.Dims(), missing: set.MissingRate()}
	for _, v := range x {
		in.names = append(in.names, v.Name())
	}
	return in, nil
}

// read reads the data and completes the configuration with what depends on them. The views have the only copy of the
// values: the fit may overwrite them.
func read(o *fitOptions) (*input, error) {
	set, err := o.open(bits(o.config.Float))
	if err != nil {
		return nil, err
	}
	if err := o.drop(set); err != nil {
		return nil, err
	}
	in, err := newInput(set)
	if err != nil {
		return nil, err
	}
	return in, complete(o, in)
}

// drop takes views away from a complete set. Their rows keep their values, which are never read.
func (o *fitOptions) drop(set *dataset.Set) error {
	if o.missing == 0 {
		return nil
	}
	if rate := set.MissingRate(); rate > 0 {
		return usagef("fit: -missing is for complete data; %s lacks %.1f %% of the view rows already", o.data[0], 100*rate)
	}
	if len(set.Views) < 2 {
		return usagef("fit: -missing leaves every sample a view, and %s has one view only", o.data[0])
	}
	var err error
	set.Present, err = dataset.Drop(set.Samples(), len(set.Views), o.missing, o.config.Seed)
	return err
}

// complete fills and checks what of the configuration depends on the data.
func complete(o *fitOptions, in *input) error {
	c := &o.config
	c.Overwrite = true
	if o.resume != "" {
		return nil
	}
	if c.Clusters == 0 {
		if c.Clusters = in.classes; c.Clusters == 0 {
			return usagef("fit: %s holds no labels to count the classes of: say with -clusters how many clusters there are", o.data[0])
		}
	}
	if c.Anchors == 0 {
		c.Anchors = c.Clusters
	}
	if c.Clusters > in.samples {
		return usagef("fit: %d clusters for %d samples", c.Clusters, in.samples)
	}
	if c.Anchors > in.samples {
		return usagef("fit: %d anchors for %d samples", c.Anchors, in.samples)
	}
	if o.startLabels == "" {
		return nil
	}
	var err error
	c.StartLabels, err = readStartLabels(o.startLabels, in.samples, c.Anchors)
	return err
}
