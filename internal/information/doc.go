// Package information computes the two terms of the loss for clusters, with their gradients: the information about neighbours
// (Neighbors), and the held-out information (HeldOut), with its leave-one-out regression. Package term makes nodes of a Gorgonia
// graph from them.
package information
