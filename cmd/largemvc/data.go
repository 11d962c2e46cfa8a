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
Rows are samples. A file may be NumPy (.npz, .npy), safetensors, MATLAB (.mat, also v7.3), HDF5, AnnData (.h5ad), MuData
(.h5mu), Parquet, CSV or TSV (also gzip); its content shows which. A folder has one file per view. .npy and .parquet may be
addresses (https://…). x-%d.npy is one view with its rows in x-0.npy, x-1.npy, …; first run 'largemvc inspect -manifest'.
Usual names are found without a flag: views in X0, X1, … (also x0, view_0, …) or in a cell X, data, fea …; classes in y, Y,
gt, labels …; a mask in present; ids in id, sample_id, patient_id …. Files with ids are joined by them, in any order. One line
per view reports how it is read. A variable that looks like a view and is not read is an error.
'largemvc inspect FILE' shows the content of a file and how it is read; docs/reading.md has the rules.
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
	noFeature   string   // a column that has the known labels
	header      dataset.Header
	decimal     dataset.Decimal
	fromDisk    bool
	scratch     string
	numbers     dataset.Numbers
	progress    func(bytes int64) error // while the data are read; nil: nothing is said
}

// dataFlags adds the flags of o.
func (o *dataOptions) dataFlags(f *flags) {
	o.sparse = dataset.SparseIfSmaller
	f.group("Data")
	f.data = &o.data
	f.each("data", "`FILE` or folder with the data, the same as an argument; - is standard input. Repeat it to give one file "+
		"per view", o.addData)
	f.string(&o.labels, "labels", "`NAME|FILE` with the classes: a variable or CSV column, by its name or its number from 0, "+
		"or else a file of any\nformat of -data; none: use no classes. By default a column or variable with a usual name")
	f.string(&o.id, "id", "`NAMES` of the variable or CSV column with the ids of the samples; if files have different names for "+
		"it, all of\nthem, separated by commas. Files with ids are joined by them, in any order; none: match rows by places. "+
		"By default\nid or another usual name, or the index of pandas and R")
	f.string(&o.views, "views", "`NAMES` of the variables that hold the views, separated by commas. X{2} is an element of a "+
		"cell; in AnnData give\npaths (X,layers/counts,mod/rna/X). By default the usual names")
	f.value(tableViews{&o.table}, "view", "`NAME=COLUMNS`: a view made of some columns of a CSV file, or of the only matrix of "+
		"another file. -views selects\nthat matrix. Repeat -view for each view. COLUMNS are separated by commas: names, "+
		"ranges (c1-c40), patterns\n(shape_*), or numbers from 0 if they have no names. By default, and in a file with "+
		"none of these\ncolumns, all columns are one view")
	f.string(&o.leaveOut, "leave-out", "`NAMES` of variables, columns or files of a folder that are not read, separated by "+
		"commas; patterns are allowed. A\nmodel leaves them out of new samples too. By default, content that is not "+
		"understood is an error")
	f.string(&o.oneHot, "one-hot", "`NAMES` of CSV columns of text: each different text becomes a feature with 0 and 1; * "+
		"takes all columns of text. By\ndefault columns of text are an error")
	f.string(&o.mask, "mask", "`FILE` with an n×V matrix: 1 where a sample has a view, 0 where it lacks it. Its columns may "+
		"have the names of the\nviews, and its rows ids. By default the mask in the data, if there is one")
	f.bool(&o.missingRows, "missing-rows", "read a row that has only NaN as an absent view; by default it is an error, unless "+
		"the file lists the samples of each\nview")
	f.bool(&o.triplets, "triplets", "read a matrix of three columns as entries (row, column, value) of a view; by default they "+
		"are three features")
	f.value(oneOf(&o.sparse, dataset.SparseIfSmaller, dataset.AsStored, dataset.AllDense, dataset.AllSparse), "sparse", "how "+
		"views are stored in memory: `auto|keep|never|always`. auto: sparse if at most 5 % of the entries are not "+
		"zero,\nwhich trains faster and takes less memory; keep: as in the file; never: dense; always: sparse")
	f.value(oneOf(&o.orientation, dataset.AutoOrientation, dataset.RowsAreSamples, dataset.ColumnsAreSamples), "orientation",
		"axis of the samples in the matrices: `auto|rows|columns`. auto: the axis that fits the labels and the sizes of "+
			"the\nviews; the rows of tables, unless the first line has the ids of another file")
	f.value(oneOf(&o.header, dataset.AutoHeader, dataset.WithHeader, dataset.NoHeader), "header", "whether the first line of a "+
		"CSV file names its columns: `auto|yes|no`. auto: decided from the texts in it, or an\nerror if that is uncertain; "+
		"no: only texts above numbers are names")
	f.value(oneOf(&o.decimal, dataset.AutoDecimal, dataset.DecimalPoint, dataset.DecimalComma), "decimal", "decimal sign in "+
		"CSV files: `auto|point|comma`, as in 0.5 or 0,5")
	f.int(&o.maxMemory, "max-memory", 0, "`MIB`, the most memory for the values that are read; 0: 1024, or 128 times the size "+
		"of the files if that is more.\nIt limits a fit, too; there 0 is no limit")
}

// prepareFlags adds the flags of o that change values; a model keeps them for new samples.
func (o *dataOptions) prepareFlags(f *flags) {
	f.value(oneOf(&o.impute, dataset.NoImpute, dataset.ImputeMean, dataset.ImputeMedian, dataset.ImputeNeighbors), "impute",
		"what replaces missing values in a view that the sample has: `none|mean|median|neighbors`. mean, median: of "+
			"the\nfeature; neighbors: the mean over the 5 nearest samples that have it (docs/reading.md); none: missing values "+
			"are\nan error")
	f.value(transforms{&o.transform}, "transform", "transformation of counts: `log1p|clr|tfidf` for all views, or NAME=log1p,… "+
		"for single views (docs/reading.md); none\nby default")
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
	if o.noFeature != "" {
		out.LeaveOut = append(out.LeaveOut, strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `\`, `\\`).Replace(o.noFeature))
	}
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

// addData takes a file of data.
func (o *dataOptions) addData(path string) error {
	if path == "" {
		return errEmpty
	}
	o.data = append(o.data, path)
	return nil
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
	f.bool(&o.fromDisk, "from-disk", "read the rows from the files whenever they are needed, for data larger than memory; "+of)
	f.value(scratchFolder{&o.scratch, &o.numbers}, "scratch", "`FOLDER` for temporary files. With -from-disk it gets a copy of "+
		"data that cannot be read row by row (CSV, MATLAB v5,\ncompressed or chunked arrays); by default such data are an "+
		"error. FOLDER,bfloat16 stores values with 8 significant\nbits (2 bytes), FOLDER,uint8 with 256 levels per column (1 "+
		"byte): less to read, less exact (docs/scale.md).\nParquet is then decoded once, not in each pass")
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
