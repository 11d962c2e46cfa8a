// Package dataset reads and writes multi-view data: n samples described by V matrices X_v of n×d_v values, with class
// labels where they are known, and with a mask where samples lack some of their views.
//
//	set, err := dataset.Open(ctx, []string{"handwritten.mat"}, dataset.Options{})
//	if err != nil {
//		log.Fatal(err)
//	}
//	fmt.Println(set.Samples(), "samples,", len(set.Views), "views,", set.Classes(), "classes")
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
//   - safetensors, with float16, bfloat16 and whole numbers too.
//   - MATLAB v7.3 .mat, which are HDF5 files, with the same contents; and plain HDF5 files of the old and the new format with
//     numbered datasets, and with texts as labels and ids.
//   - CSV and TSV, with or without a header, also gzip, UTF-8 or UTF-16, with decimal points or commas: one view a file;
//     labels in a column or a file of their own. Columns of texts or dates are an error unless they are labels, ids, or made
//     features of 0 and 1 ([Options.OneHot]).
//   - Several views of the columns of one table or matrix ([Options.Table]).
//   - A folder, or several files ([Open]): one view a file, a file named y, labels, gt … for the labels.
//
// What looks like a view (a usual name, or a row for each sample and no other role) is read, or it is an error that names it;
// [Options.LeaveOut] and [Options.Views] permit to leave it out. [Set.Reading] says what was read, and what was not.
//
// # Conventions
//
// Rows are samples. MATLAB files that hold the views d×n are turned; which of the two it is, is decided once for the
// file, by the number of labels and by the views that are not square. Labels may be any numbers; they become classes
// 0 … c−1 in the order of their values, and [Set.LabelNames] keeps the values.
//
// Files whose samples have ids (a column or variable of a usual name, the index of pandas or R) are joined by them, in the
// order of the first file; [Set.IDs] keeps them. Samples that a file lacks are an error, or absent views with
// [Options.MissingRows] or a mask. Files without ids are matched by their places, and a file with ids beside one without is an
// error. A header names the features ([View.Features]); where a first line may be a header or a sample, [Options.Header] has to
// say so. docs/reading.md lists the cases.
//
// An absent view of a sample is a row of zeros with a false in [Set.Present]. Files say so in one of three ways: by an
// `index` cell (the samples present in each view, from 1) next to rows that are wholly NaN, by a matrix `present` or
// `mask` (n×V), or, with [Options.MissingRows], by rows that are wholly NaN. Any other NaN or infinity is an error that
// names view, row and column.
//
// # Looking and writing
//
// [Inspect] says what is in a file, how it is read and what stands out: constant columns, rows of zeros, absent rows, the
// share of entries that are not zero. [Set.WriteNPZ], [WriteNPZ] and [WriteCSV] write files that appear whole
// or not at all. [Synthetic] draws a set with known clusters, [Drop] and [Set.Incomplete] take views away from a complete
// one.
//
// # Memory
//
// A dense view costs its n·d_v values of the float type asked for, and no second copy, whatever the type in the file.
// Sizes that a header claims are compared with what the file holds, and compressed data are given memory only as they
// arrive; [Options.MaxBytes] bounds the whole. A broken, truncated or malicious file gives an error that names the file
// and the variable.
package dataset
