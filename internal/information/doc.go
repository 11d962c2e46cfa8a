// Package information is the arithmetic of the two terms of the loss for clusters that neighbours share (Neighbors) and that
// can be told from the features of other samples (HeldOut), with their gradients, and of the leave-one-out regression behind
// the latter. Package term makes nodes of a Gorgonia graph of them.
package information
