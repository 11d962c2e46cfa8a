package kmeans

import "github.com/largemvc/largemvc/internal/kernel"

// itemSamples bounds the samples of one item of work in the sums of the clusters.
const itemSamples = 1024

// change is a sample that enters (its number) or leaves (its complement) a cluster.
type change int

func (c change) sample() (i int, sign float64) {
	if c < 0 {
		return int(^c), -1
	}
	return int(c), 1
}

// updates are the changes of one relabelling, by cluster and then by sample, cut into items of limited length: an order
// that depends on the labels alone.
type updates struct {
	changes []change
	items   []item
	touched []bool // clusters with changes
	from    []int  // scratch
}

type item struct{ cluster, lo, hi int }

// hand holds the goroutines and the scratch for the work on one start.
type hand[T kernel.Float] struct {
	workers int
	spaces  []*workspace[T]
	order   *updates
}

// collect lists the changes from the labels before to the labels after. With fresh, all samples enter. before may be −1.
func (u *updates) collect(before, after []int, clusters int, fresh bool) {
	u.from = resize(u.from, clusters+1)
	u.touched = resize(u.touched, clusters)
	clear(u.from)
	for i, k := range after {
		if fresh || k != before[i] {
			u.from[k+1]++
			if !fresh && before[i] >= 0 {
				u.from[before[i]+1]++
			}
		}
	}
	u.items = u.items[:0]
	for k := range clusters {
		u.touched[k] = u.from[k+1] > 0
		u.from[k+1] += u.from[k]
		for lo := u.from[k]; lo < u.from[k+1]; lo += itemSamples {
			u.items = append(u.items, item{k, lo, min(lo+itemSamples, u.from[k+1])})
		}
	}
	u.changes = resize(u.changes, u.from[clusters])
	for i, k := range after {
		if !fresh && k == before[i] {
			continue
		}
		u.changes[u.from[k]] = change(i)
		u.from[k]++
		if !fresh && before[i] >= 0 {
			u.changes[u.from[before[i]]] = ^change(i)
			u.from[before[i]]++
		}
	}
}

func (u *updates) entries(i int) []change { return u.changes[u.items[i].lo:u.items[i].hi] }
