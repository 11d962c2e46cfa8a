// Package score measures clusterings. With known classes, use NewContingency and its methods. Without classes, Silhouette,
// CalinskiHarabasz and DaviesBouldin measure how well the clusters fit the data. Labels are arbitrary integers. For the usual
// scores in one call use largemvc.Evaluate.
package score
