// Package report writes a clustering as one HTML file, for readers who do not program and for those who do.
//
//	c, err := largemvc.Fit(ctx, views, config)
//	if err != nil {
//		return err
//	}
//	return report.Write(ctx, file, c, report.Options{Data: "products.npz", Views: views, IDs: ids})
//
// The file needs no other file, no server and no network: styles, script and data are in it. It can be mailed and printed. It
// has a summary in words, a map of the samples, the sizes of the clusters, and the confidence of the labels. It lists typical
// and doubtful samples, and the features and views that distinguish each cluster. It shows the trust in views, a table of known
// classes, the loss, and a model card. All of it can be read without running its script, which labels the points of the map and
// sorts tables.
//
// # What the numbers mean
//
// The confidence of a sample says how often clusters of other samples give it the same label again, in excess of chance
// (largemvc.Clustering.Confidence, docs/trust.md). If the fit did not judge the structure, it is the margin 1 − a/b, with the
// distances a and b to the nearest and the next nearest centroid, in the space in which the clusters were found: H, or its rows
// at norm 1 (largemvc.Config.PlainReadOut). The margin is 0 on the border of two clusters and 1 on a centroid; it is high in
// noise, too. It is the simplified silhouette of E. Hruschka, L. de Castro and R. Campello (ICDM 2004).
//
// Samples that fit no cluster are those of largemvc.Clustering.Outlier. A report on new samples does not look for any.
//
// The effect of a feature is its mean over the cluster less its mean over all other samples, in standard deviations over all
// samples. The agreement of a single view is found by giving each sample to the nearest cluster mean in that view. The mean of
// the sample's own cluster leaves the sample out. Effects and agreements describe the clusters, which were made from the same
// features: they are not tests.
//
// Above Options.Points samples the map shows a random part of them, above 10,000 samples the effects use one; the page states
// this.
package report
