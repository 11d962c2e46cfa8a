// Package report writes what a clustering found as one HTML file, for those who want to look at it and for those who do
// not program.
//
//	c, err := largemvc.Fit(ctx, views, config)
//	if err != nil {
//		return err
//	}
//	return report.Write(ctx, file, c, report.Options{Data: "products.npz", Views: views, IDs: ids})
//
// The file needs nothing else: styles, script and data are in it, it asks for nothing from any network, and it may be
// mailed, opened without a server and printed. It has a summary in words, a map of the samples, sizes, the confidence of the
// labels, typical and doubtful samples, the features and views that tell each cluster apart, the trust in views, a table of
// known classes, the loss, and a model card. Without a script all of it can be read; with one, points of the map say what they
// are and tables can be sorted.
//
// # What the numbers mean
//
// The confidence of a sample is 1 − a/b with its distances a and b to the nearest and the next nearest centroid in the space
// that the clusters were found in: H, or its rows at norm 1 (largemvc.Config.PlainReadOut). It lies between 0, on the border of
// two clusters, and 1, on the centroid; it is the simplified silhouette of E. Hruschka, L. de Castro and R. Campello (ICDM
// 2004). It says how far a sample is from the border, not how likely its label is right.
//
// A feature's effect is the mean over the cluster less the mean over all other samples, in standard deviations of the
// feature over all samples. What a view says alone is found by giving each sample to the nearest cluster mean in that view,
// the sample itself left out of its cluster's mean. These describe the clusters, which were made from the same features:
// they are no tests.
//
// Samples above Options.Points are drawn at random for the map, and above 10,000 for the effects; the page says so.
package report
