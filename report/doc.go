// Package report writes a clustering as one HTML file. Readers need not program.
//
//	c, err := largemvc.Fit(ctx, views, config)
//	if err != nil {
//		return err
//	}
//	return report.Write(ctx, file, c, report.Options{Data: "products.npz", Views: views, IDs: ids})
//
// The file needs no other file, no server and no network. You can mail and print it. It has a summary in words, a map of the
// samples, the sizes of the clusters, and the confidence of the labels. It lists typical and doubtful samples, the neighbours of
// each cluster, and the features and views that distinguish clusters. It shows the trust in views, a table of known classes, the
// loss, and a model card, and holds the labels as a CSV file. All of it can be read without its script, which labels the points
// of the map, zooms it, and sorts tables.
//
// # What the numbers mean
//
// The confidence of a sample says how often clusters of other samples give it the same label again, in excess of chance
// (largemvc.Clustering.Confidence, docs/trust.md). If the fit did not judge the structure, the confidence is the margin 1 − a/b.
// a and b are the distances to the nearest and the next nearest centroid, in H or in its rows at norm 1
// (largemvc.Config.PlainReadOut). The margin is 0 on the border of two clusters and 1 on a centroid. It is high in noise, too. It
// is the simplified silhouette of E. Hruschka, L. de Castro and R. Campello (ICDM 2004).
//
// The page lists the samples that fit no cluster by largemvc.Clustering.Outlier. A report on new samples has no such list.
//
// Silhouettes and separations are measured in the prepared views. In the representation H they would be high for noise, too:
// training makes clusters tight.
//
// # Features that distinguish clusters
//
// The effect of a feature is its mean over the cluster less its mean over all other samples, in standard deviations over all
// samples. Clusters of noise have large effects too, because a clustering separates samples by their features. So effects are
// measured with labels that depend neither on the feature nor on the sample:
//
//   - Features are split in two halves at random, and so are at most 2,000 samples (at least 600 if views are wide).
//   - For each half of the features, each half of the samples is clustered without these features, by the method of the initial
//     clustering. Its clusters label the other half of the samples.
//   - These clusters are paired with the clusters of the fit, one to one, such that most samples are in both clusters of a pair.
//     If a pair shares less than half of the samples that are in either, the cluster of the fit is not found again. Its features
//     are not tested.
//   - The feature's ranks in the cluster are compared with those in all other samples (a rank test, stratified by the halves of
//     the samples, with the Pearson distribution of type III).
//
// The procedure of Benjamini and Hochberg selects tests at 5 %. At most 5 % of the selected tests are expected to be false, and
// in noise at most 5 % of the fits have any. This holds for features that are independent of each other within the clusters. Of
// the selected features, the page shows those with an effect of at least 0.5 standard deviations. Without the halves of the
// features the test is wrong, also in new samples: they get their labels by the same features that are tested.
//
// A view's agreement is an adjusted Rand index. It compares those labels with the clusters whose means are nearest in the
// left-out half of the view's features. The means come from the other half of the samples.
//
// Nothing is tested if the structure is none or was not judged (package score), in predictions of a model, for one cluster, and
// if no cluster is found again. The page then says so.
//
// Above Options.Points samples the map shows a random part of them. The page states the number of samples of every figure.
package report
