// Package score compares a clustering with known classes (NewContingency and its methods), and judges one by the data
// alone (Silhouette, CalinskiHarabasz, DaviesBouldin). Labels are arbitrary integers everywhere. largemvc.Evaluate has
// the usual scores of classes and clusters in one call.
package score
