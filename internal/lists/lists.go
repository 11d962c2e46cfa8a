// Package lists makes lists that package slices has no function for.
package lists

// Indices returns the numbers from 0 to n−1.
func Indices(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// Texts returns the text of each element of a list.
func Texts[E any](in []E, text func(E) string) []string {
	out := make([]string, len(in))
	for i, e := range in {
		out[i] = text(e)
	}
	return out
}
