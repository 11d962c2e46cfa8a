// Package score compares a clustering with known classes (NewContingency and its methods), and judges one by the data
// alone (Silhouette, CalinskiHarabasz, DaviesBouldin). Labels are arbitrary integers everywhere. The usual scores at one
// call each are in the package above: largemvc.Evaluate, largemvc.Accuracy, largemvc.NMI, largemvc.ARI.
package score
