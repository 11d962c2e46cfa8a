// Package dataset reads and writes multi-view data: n samples described by V matrices X_v of n×d_v values, with class
// labels where they are known, and with a mask where samples lack some of their views.
//
//	set, err := dataset.Open(ctx, []string{"handwritten.mat"}, dataset.Options{})
//	if err != nil {
//		log.Fatal(err)
//	}
//	fmt.Println(set.Samples(), "samples,", len(set.Views), "views,", set.Classes(), "classes")
//
// views.Of of package dataset/views turns a set into the views of largemvc.Fit.
//
// # Formats
//
// [Open] recognises a file by its content, not by its name:
//
//   - NumPy .npz and .npy: stored and compressed members, versions 1 to 3, C and Fortran order, either byte order, bool,
//     integers of 8 to 64 bits, floats of 16 to 64 bits; scipy.sparse matrices (CSR and CSC). Views are named X0, X1, … (x0, X_0,
//     view_0, view0 … too, in numeric order), labels y (gt, label, labels, truth, gnd, truelabel … too).
//   - MATLAB v5 to v7 .mat, compressed or not: views in a cell (X, data, fea …; 1×V or V×1) or in numbered variables, stored
//     as any numeric class, full or sparse. Text, structures and functions are skipped.
//   - Parquet, in a program that imports package dataset/parquet.
//   - .npy and Parquet on a server, by Options.OpenURL and package dataset/remote.
//   - safetensors, with float16, bfloat16 and whole numbers too.
//   - MATLAB v7.3 .mat, which are HDF5 files, with the same contents; and plain HDF5 files of the old and the new format with
//     numbered datasets, and with texts as labels and ids.
//   - AnnData .h5ad and MuData .h5mu: variables are paths. X, of MuData mod/*/X, are the views, the index of obs the ids. A
//     column such as obs/cell_type gives labels if [Options.Labels] names it. A view is absent of samples that its modality
//     lacks. [EncodeAnnData] writes labels into a copy.
//   - CSV and TSV, with or without a header, also gzip, UTF-8 or UTF-16, with decimal points or commas: one view a file;
//     labels in a column or a file of their own. Columns of texts or dates are an error unless they are labels, ids, or made
//     features of 0 and 1 ([Options.OneHot]).
//   - Several views of the columns of one table or matrix ([Options.Table]).
//   - A folder, or several files ([Open]): one view a file, a file named y, labels, gt … for the labels.
//
// A variable is read as a view if it has a usual name, or a row for each sample and no other role. If it cannot be read, the
// error names it, and [Options.LeaveOut] or [Options.Views] leave it out. [Set.Reading] lists what was read and what was not.
//
// # Conventions
//
// Rows are samples. Views that a MATLAB file holds as d×n are transposed. The number of labels and the views that are not square
// decide, once for the file, which of the two it is. Labels may be any numbers. They become classes 0 … c−1 in the order of
// their values, which are in [Set.LabelNames].
//
// Files whose samples have ids (a column or variable of a usual name, the index of pandas or R) are joined by them, in the
// order of the first file; [Set.IDs] holds them. Samples that are not in every file are an error, or absent views with
// [Options.MissingRows] or a mask. Files without ids are matched by the places of their rows, and a file with ids beside one
// without is an error. A header names the features ([View.Features]). Where a first line may be a header or a sample,
// [Options.Header] has to say so. docs/reading.md lists the cases.
//
// An absent view of a sample is a row of zeros, with false in [Set.Present]. A file has one of these marks of absent views:
//
//   - an `index` cell with the samples present in each view, from 1, and rows of NaN for the others;
//   - a matrix `present` or `mask` (n×V);
//   - rows of NaN alone, with [Options.MissingRows].
//
// Any other NaN or infinity is an error with its view, row and column, unless [Options.Impute] or [Options.AllowNaN] permit it.
//
// # Inspecting and writing
//
// [Inspect] reports what a file holds, how it is read, and what is unusual: constant columns, rows of zeros, absent rows, the
// share of nonzero entries. [Set.WriteNPZ], [WriteNPZ] and [WriteCSV] write files that appear whole or not at all. [Synthetic]
// draws a set with known clusters. [Drop] and [Set.Incomplete] remove views from a complete set.
//
// # Memory
//
// A dense view takes n·d_v values of the type asked for, and no second copy, for any type in the file. Sizes in a header are
// compared with the size of the file, and compressed data get memory only as they arrive. [Options.MaxBytes] bounds the whole. A
// broken, truncated or malicious file is an error that names the file and the variable.
package dataset
