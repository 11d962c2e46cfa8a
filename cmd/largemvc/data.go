package main

import (
	"errors"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/dataset/remote"
)

// aboutData is the part of the help on what can be read.
const aboutData = `
Rows are samples. A file may be NumPy (.npz, .npy), safetensors, MATLAB (.mat, v7.3 too), HDF5, AnnData (.h5ad), MuData
(.h5mu), Parquet, CSV or TSV (gzip too), or a folder of one file a view; its content shows which. .npy and .parquet may be
addresses (https://…). x-%d.npy is one view, its rows in x-0.npy, x-1.npy, … ('largemvc inspect -manifest' lists them).
The usual names are known: views in X0, X1, … (x0, view_0, … too) or in a cell X, data, fea …, classes in y, Y, gt,
labels …, a mask in present, ids in id, sample_id, patient_id …. Files with ids are joined by them, in any order. A line for
each view says how it is read; what looks like a view and is not read is an error.
'largemvc inspect FILE' says what is found and how it is read; docs/reading.md has the rules.
`

// dataOptions holds the flags for reading data.
type dataOptions struct {
	data        []string
	labels      string
	mask        string
	views       string
	missingRows bool
	triplets    bool
	sparse      dataset.Storage
	orientation dataset.Orientation
	maxMemory   int
	id          string
	table       []dataset.TableView
	oneHot      string
	impute      dataset.Impute
	transform   map[string]dataset.Transform
	allowNaN    bool // the model fills holes
	leaveOut    string
	leftOut     []string // by the training of a model
	header      dataset.Header
	decimal     dataset.Decimal
	fromDisk    bool
	scratch     string
	numbers     dataset.Numbers
	progress    func(bytes int64) error // while the data are read; nil: nothing is said
}

// dataFlags adds the flags of o, but for the data themselves.
func (o *dataOptions) dataFlags(f *flags) {
	f.string(&o.labels, "labels", "`NAME|FILE`: the variable or CSV column (its name, or its number from 0) that holds the "+
		"classes, or, where there is none,\na file with them, of any format of -data; none: use no classes. By "+
		"default one of a usual name")
	f.string(&o.id, "id", "`NAME` of the variable or CSV column that names the samples; files are joined by it, in whatever "+
		"order they have them.\nnone: match the rows of files by their places. By default a column id or of another usual "+
		"name, or the\nindex of pandas and R")
	f.string(&o.views, "views", "`NAMES` of the variables that hold the views, with commas between them, X{2} being an "+
		"element of a cell; of AnnData\nthe paths (X,layers/counts,mod/rna/X). By default the usual names")
	f.value(tableViews{&o.table}, "view", "`NAME=COLUMNS` of a CSV file, or of the only matrix of other files (see "+
		"-views), that make a view, with commas between\nthem: names, ranges (c1-c40) and patterns (shape_*), numbers from 0 "+
		"where they have no names. Give it several times. By default\nall columns of a file are one view")
	f.string(&o.leaveOut, "leave-out", "`NAMES` of what is not read, with commas between them: variables, columns, files "+
		"of a folder; patterns are allowed.\nA model keeps them for new samples. By default what is not understood is an error")
	f.string(&o.oneHot, "one-hot", "`NAMES` of CSV columns that become a feature of 0 and 1 for each text in them; * "+
		"takes all columns of texts. By default\ncolumns of texts are an error")
	f.string(
		&o.mask,
		"mask",
		"`FILE` with an n×V matrix of ones and zeros, which views each sample has; its columns may be named as\nthe "+
			"views, and it may have ids. By default what the data hold",
	)
	f.bool(&o.missingRows, "missing-rows", "take rows that are wholly NaN for absent views; by default they are an "+
		"error, unless the file lists the samples of\neach view")
	f.bool(&o.triplets, "triplets", "read views of three columns as (row, column, value); by default they are three features")
	f.value(oneOf(&o.sparse, dataset.SparseIfSmaller, dataset.AsStored, dataset.AllDense, dataset.AllSparse), "sparse",
		"how views are held: `auto|keep|never|always`. auto: sparse where at most 5 % of the entries are not zero, which "+
			"trains faster\nand takes less memory; keep: as in the file; never and always: all dense, all sparse")
	f.value(oneOf(&o.orientation, dataset.AutoOrientation, dataset.RowsAreSamples, dataset.ColumnsAreSamples), "orientation",
		"axis of the matrices that counts the samples: `auto|rows|columns`. auto: by the labels and the sizes of the views;\n"+
			"of tables the rows, unless the first line has the ids of another file")
	f.value(oneOf(&o.header, dataset.AutoHeader, dataset.WithHeader, dataset.NoHeader), "header",
		"whether the first line of a CSV file names its columns, where that is not certain: `auto|yes|no`. auto: an error "+
			"says so")
	f.value(oneOf(&o.decimal, dataset.AutoDecimal, dataset.DecimalPoint, dataset.DecimalComma), "decimal",
		"how a CSV file writes decimals: `auto|point|comma`, 0.5 or 0,5")
	f.int(&o.maxMemory, "max-memory", 0, "`MIB` that the values may take at most; 0: 1024, or 128 times the size of the "+
		"files where that is more.\nWith fit -from-disk it is what the fit may take at most; 0: what it needs")
}

// prepareFlags adds the flags of o that change values; a model keeps them for new samples.
func (o *dataOptions) prepareFlags(f *flags) {
	f.value(oneOf(&o.impute, dataset.NoImpute, dataset.ImputeMean, dataset.ImputeMedian, dataset.ImputeNeighbors), "impute",
		"what fills missing values in rows of samples that have the view: `none|mean|median|neighbors`, the mean or median of "+
			"the feature,\nor its mean over the 5 nearest samples that have it (docs/reading.md). none: they are an error")
	f.value(transforms{&o.transform}, "transform", "`log1p|clr|tfidf`, what counts become in all views, or NAME=log1p,… for "+
		"single views (docs/reading.md);\nby default values stay as they are")
}

// transforms is a flag.Value: one transform for all views, or NAME=TRANSFORM with commas between them.
type transforms struct{ p *map[string]dataset.Transform }

func (v transforms) String() string { return "" }

func (v transforms) Set(s string) error {
	*v.p = map[string]dataset.Transform{}
	if len(list(s)) == 0 {
		return errors.New("must be log1p, clr or tfidf, or NAME=log1p,…")
	}
	for _, part := range list(s) {
		name, kind, ok := strings.Cut(part, "=")
		if !ok {
			name, kind = "*", part
		}
		var t dataset.Transform
		if err := oneOf(&t, dataset.Log1p, dataset.CLR, dataset.TFIDF).Set(strings.TrimSpace(kind)); err != nil {
			return err
		}
		(*v.p)[strings.TrimSpace(name)] = t
	}
	return nil
}

// check refuses what is wrong whatever the data are.
func (o *dataOptions) check(command string) error {
	if len(o.data) == 0 {
		return usagef("%s: -data FILE is missing ('largemvc %[1]s -h' explains the flags)", command)
	}
	if o.maxMemory < 0 || o.maxMemory > math.MaxInt64>>20 {
		return usagef("%s: -max-memory is %d, want at least 0", command, o.maxMemory)
	}
	if !o.sharded() {
		return nil
	}
	return o.checkShards(command, "%d in -data")
}

// inputs are the paths that are read, by the flags that give them.
func (o *dataOptions) inputs() map[string][]string {
	data := slices.Clone(o.data)
	for _, path := range o.data {
		if isPattern(path) {
			files, _ := numberedFiles(path) // reading them reports what is wrong
			data = append(append(data, files...), manifestPath(path))
		}
	}
	return map[string][]string{"data": data, "labels": {o.labels}, "mask": {o.mask}}
}

// options are the reader's, for values of some bits.
func (o *dataOptions) options(bits int) dataset.Options {
	out := dataset.Options{
		Progress: o.progress, Float: bits, MaskFile: o.mask, MissingRows: o.missingRows, Triplets: o.triplets,
		Storage: o.sparse, SparseShare: sparseFill, Orientation: o.orientation, MaxBytes: int64(o.maxMemory) << 20,
	}
	out.Views, out.OneHot, out.LeaveOut = list(o.views), list(o.oneHot), list(o.leaveOut)
	out.LeftOut = slices.DeleteFunc(slices.Clone(o.leftOut), func(name string) bool { return name == o.labels || name == o.id })
	out.Impute, out.Transform, out.AllowNaN = o.impute, o.transform, o.allowNaN
	out.OpenURL = remote.Options{}.OpenURL
	out.Scratch, out.ScratchNumbers = o.scratch, o.numbers
	out.Table, out.Header, out.Decimal = o.table, o.header, o.decimal
	if out.Labels = o.labels; o.labels == "none" {
		out.Labels, out.NoLabels = "", true
	}
	if out.IDs = o.id; o.id == "none" {
		out.IDs, out.NoIDs = "", true
	}
	return out
}

// list splits names that have commas between them.
func list(names string) []string {
	var out []string
	for name := range strings.SplitSeq(names, ",") {
		if name = strings.TrimSpace(name); name != "" {
			out = append(out, name)
		}
	}
	return out
}

// tableViews is a flag.Value that may be given several times: NAME=COLUMNS.
type tableViews struct{ p *[]dataset.TableView }

func (v tableViews) String() string { return "" }

func (v tableViews) Set(s string) error {
	name, columns, ok := strings.Cut(s, "=")
	if name = strings.TrimSpace(name); !ok || name == "" || len(list(columns)) == 0 {
		return errors.New("must be NAME=COLUMNS, for example colour=c1-c40,c44")
	}
	*v.p = append(*v.p, dataset.TableView{Name: name, Columns: list(columns)})
	return nil
}

// bits is the width of a float, as package dataset has it.
func bits(double bool) int {
	if double {
		return 64
	}
	return 32
}

// diskFlags adds the flags of data that are larger than memory.
func (o *dataOptions) diskFlags(f *flags, of string) {
	f.bool(&o.fromDisk, "from-disk", "read the rows from the files whenever they are needed, for data larger than memory: "+of)
	f.value(scratchFolder{&o.scratch, &o.numbers}, "scratch", "`FOLDER` for files that are deleted at the end. With "+
		"-from-disk it gets what cannot be read row by row as it lies in\n"+
		"its file (CSV, MATLAB v5, compressed or chunked arrays); "+
		"by default that is an error.\nFOLDER,bfloat16 or FOLDER,uint8 writes 8 significant bits in 2 bytes, "+
		"or 256 levels a column in one: less to read, less exact (docs/scale.md). "+
		"Parquet is then\ndecoded once, and not in each pass")
}

// scratchFolder is a flag.Value for a folder and, after a comma, the numbers that are written there.
type scratchFolder struct {
	folder  *string
	numbers *dataset.Numbers
}

func (v scratchFolder) String() string {
	if v.folder == nil || *v.folder == "" || *v.numbers == 0 {
		return words{v.folder}.String()
	}
	return *v.folder + "," + v.numbers.String()
}

func (v scratchFolder) Set(s string) error {
	for _, n := range []dataset.Numbers{dataset.BFloat16Numbers, dataset.Uint8Numbers} {
		if folder, ok := strings.CutSuffix(s, ","+n.String()); ok {
			s, *v.numbers = folder, n
		}
	}
	return words{v.folder}.Set(s)
}

// checkDisk refuses what -from-disk does not do; others are flags that need the values in memory.
func (o *dataOptions) checkDisk(command string, others map[string]bool) error {
	if !o.fromDisk {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(others)) {
		if others[name] {
			return usagef("%s: -%s needs the data in memory: leave out -from-disk", command, name)
		}
	}
	if slices.Contains(o.data, standard) {
		return usagef("%s: standard input cannot be read again and again: write it to a file for -from-disk", command)
	}
	return nil
}
