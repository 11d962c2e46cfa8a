package dataset

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/largemvc/largemvc/dataset/internal/columnar"
	"github.com/largemvc/largemvc/internal/parallel"
)

const (
	// unitBytes is the most of a group of rows that is decoded at once (bytes of float32).
	unitBytes = 32 << 20
	// heldUnits is how much of all tables together is held decoded (bytes).
	heldUnits = 2 * unitBytes
	// mostUnits is the limit where more tables are read side by side than heldUnits has room for (bytes).
	mostUnits = 32 * unitBytes
)

// rowGroups reads rows of a table whose columns lie in groups of rows. A group is decoded in units of at most unitBytes, which
// are held until others need the room. Several goroutines may use it.
type rowGroups struct {
	units   []rowUnit
	columns []columnar.Column
	width   int // values of a row
}

// rowUnit is a part of a group: the rows lo to hi−1 of it, from row first of the table on.
type rowUnit struct{ group, lo, hi, first int }

// newRowGroups returns a reader of columns in groups of some rows; nil if a column cannot be read so.
func newRowGroups(groups []int, columns []columnar.Column, width int) *rowGroups {
	if width == 0 || slices.ContainsFunc(columns, func(c columnar.Column) bool { return c.Part == nil }) {
		return nil
	}
	g := &rowGroups{columns: columns, width: width}
	step, first := max(1, unitBytes/4/width), 0
	for k, rows := range groups {
		for lo := 0; lo < rows; lo += step {
			hi := min(lo+step, rows)
			g.units = append(g.units, rowUnit{k, lo, hi, first})
			first += hi - lo
		}
	}
	return g
}

// rowGroups returns a reader of some features; nil if one of them is a text.
func (c *csvFile) rowGroups(features []csvFeature) *rowGroups {
	columns := make([]columnar.Column, len(features))
	for k, f := range features {
		if f.onehot {
			return nil
		}
		columns[k] = c.typed[f.column]
	}
	return newRowGroups(c.groups, columns, len(features))
}

// read fills dst with rows from number row on.
func (g *rowGroups) read(ctx context.Context, row int, dst []float32) error {
	for k, _ := slices.BinarySearchFunc(g.units, row+1, func(u rowUnit, end int) int {
		return u.first + u.hi - u.lo - end
	}); len(dst) > 0; k++ {
		u := g.units[k]
		held, err := decodedUnits.get(ctx, g, k)
		if err != nil {
			return err
		}
		n := copy(dst, held.x[(row-u.first)*g.width:])
		decodedUnits.put(held)
		dst, row = dst[n:], row+n/g.width
	}
	return nil
}

// decode fills x with the rows of a unit, columns side by side.
func (g *rowGroups) decode(ctx context.Context, k int, x []float32) error {
	u, wide := g.units[k], g.width/len(g.columns)
	return parallel.Blocks(ctx, 0, len(g.columns), 1, func(lo, hi int) error {
		for j := lo; j < hi; j++ {
			at, k := j*wide, 0 // of a value in x, and in its row of the column
			err := g.columns[j].Part(ctx, u.group, u.lo, u.hi, func(values []float64) error {
				for _, v := range values {
					x[at+k] = float32(v)
					if k++; k == wide {
						at, k = at+g.width, 0
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// unitCache holds decoded units of all tables.
type unitCache struct {
	mu          sync.Mutex
	held        []*heldUnit // the one used last is the last
	bytes, most int64
	last        map[*rowGroups]int // the unit that was read last
	freed       chan struct{}      // closed when a unit may have become free
}

// heldUnit is a decoded unit.
type heldUnit struct {
	of    *rowGroups
	unit  int
	users int
	done  chan struct{} // closed when x or err is there
	x     []float32
	err   error
}

var decodedUnits = &unitCache{most: heldUnits, last: map[*rowGroups]int{}, freed: make(chan struct{})}

// get returns a unit, which put gives back.
func (c *unitCache) get(ctx context.Context, g *rowGroups, k int) (*heldUnit, error) {
	for {
		h, mine, wait := c.find(g, k)
		if mine {
			h.err = g.decode(ctx, k, h.x)
			close(h.done)
		}
		if h != nil {
			wait = h.done
		}
		select {
		case <-wait:
		case <-ctx.Done():
			if h != nil {
				c.put(h)
			}
			return nil, ctx.Err()
		}
		if h == nil { // there may be room now
			continue
		}
		if h.err == nil {
			return h, nil
		}
		c.put(h)
		if ctx.Err() != nil || !errors.Is(h.err, context.Canceled) && !errors.Is(h.err, context.DeadlineExceeded) {
			return nil, h.err
		} // else the context of another reader has ended
	}
}

// find returns a unit, and whether the caller has to decode it. Without room for it, it returns what to wait for.
func (c *unitCache) find(g *rowGroups, k int) (h *heldUnit, mine bool, wait <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, h := range c.held {
		if h.of == g && h.unit == k && !h.failed() {
			h.users++
			c.held = append(slices.Delete(c.held, i, i+1), h)
			return h, false, nil
		}
	}
	u := g.units[k]
	n := (u.hi - u.lo) * g.width
	if last, read := c.last[g]; read && last == k && c.most < mostUnits { // it was pushed out between two reads of its rows
		c.most += 4 * int64(n)
	}
	h = &heldUnit{of: g, unit: k, users: 1, done: make(chan struct{})}
	for i := 0; i < len(c.held) && c.bytes+4*int64(n) > c.most; {
		if old := c.held[i]; old.users > 0 {
			i++
			continue
		}
		if old := c.remove(i); cap(old.x) >= n {
			h.x = old.x[:n]
		}
	}
	if len(c.held) > 0 && c.bytes+4*int64(n) > c.most {
		return nil, false, c.freed
	}
	if h.x == nil {
		h.x = make([]float32, n)
	}
	c.bytes += 4 * int64(cap(h.x))
	c.last[g] = k
	c.held = append(c.held, h)
	return h, true, nil
}

// failed reports whether a unit could not be decoded.
func (h *heldUnit) failed() bool {
	select {
	case <-h.done:
		return h.err != nil
	default:
		return false
	}
}

// remove takes a unit out of those that are held.
func (c *unitCache) remove(i int) *heldUnit {
	h := c.held[i]
	c.held = slices.Delete(c.held, i, i+1)
	c.bytes -= 4 * int64(cap(h.x))
	return h
}

// put gives a unit back.
func (c *unitCache) put(h *heldUnit) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h.users--; h.users > 0 {
		return
	}
	if i := slices.Index(c.held, h); i >= 0 && h.failed() {
		c.remove(i)
	}
	close(c.freed)
	c.freed = make(chan struct{})
}

// drop forgets a table, which nobody uses.
func (c *unitCache) drop(g *rowGroups) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.last, g)
	for i := len(c.held) - 1; i >= 0; i-- {
		if c.held[i].of == g {
			c.remove(i)
		}
	}
	if len(c.held) == 0 {
		c.most = heldUnits
	}
}
