// Package ranks lets the processes that fit one data set together work as one: it numbers what they do together, so that ranks
// that disagree get an error, ends them together, and adds up and gathers what each has of its rows.
package ranks

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/machine"
)

// Group is the ranks of a fit, as one of them sees it. All methods work on nil, which is a process that is alone. They are called
// by the goroutine of the fit alone.
type Group struct {
	world  machine.Comm
	watch  func() error            // an error of this rank that nobody has returned yet; may be nil
	outer  context.Context         // whose end is told to all ranks
	cancel context.CancelCauseFunc // of the context of the fit
	ended  bool                    // some rank's context has ended, as all know
	broken error                   // what ended the fit on all ranks: nothing is done together any more

	number uint64 // of what is done together next
	spent  int64

	all, sent []byte // memory for sums
	slices    *parallel.Tree[[]float64]
	width     int // of the slices

	first  int // the number of this rank's first row
	rows   int
	total  int // rows of all ranks
	counts []int
}

// Spread is for structs of options to embed: it says whether the samples are spread over several processes.
type Spread struct {
	Group *Group // processes that hold the other rows; nil: these are all
}

// Enter returns the group of a communicator, nil for a process that is alone, and a context for what the group does. That context
// ends on all ranks together: where they next do something together after the context of one of them has ended.
func Enter(ctx context.Context, world machine.Comm) (context.Context, *Group) {
	if parallel.Nil(world) {
		return ctx, nil
	}
	g := &Group{world: world, outer: ctx}
	ctx, g.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	return ctx, g
}

// Asked returns the context whose end asks this rank to end, at once, where ctx, which Enter has returned, ends on all ranks
// together.
func (g *Group) Asked(ctx context.Context) context.Context {
	if g == nil {
		return ctx
	}
	return g.outer
}

// Rank is the number of this rank.
func (g *Group) Rank() int {
	if g == nil {
		return 0
	}
	return g.world.Rank()
}

// Size is the number of ranks.
func (g *Group) Size() int {
	if g == nil {
		return 1
	}
	return g.world.Size()
}

// First is the number of this rank's first row among those of all.
func (g *Group) First() int {
	if g == nil {
		return 0
	}
	return g.first
}

// Total returns the number of rows of all ranks; n are those of this one.
func (g *Group) Total(n int) int {
	if g == nil {
		return n
	}
	return g.total
}

// Spent returns how often the ranks have done something together and how many bytes this one has received in it.
func (g *Group) Spent() (times int, bytes int64) {
	if g == nil {
		return 0, 0
	}
	return int(g.number), g.spent
}

// Error is the error that ended the fit on a rank, as the other ranks receive it.
type Error struct {
	Rank int
	Text string
}

func (e *Error) Error() string { return fmt.Sprintf("rank %d: %s", e.Rank, e.Text) }

// Watch has the ranks ask, before they do something together, for an error that ends the fit.
func (g *Group) Watch(failure func() error) {
	if g != nil {
		g.watch = failure
	}
}

// What a rank says of itself before anything is done together.
const (
	working = iota
	cancelled
	failed
)

// A header has the number of what is done, the bytes that this rank has for it, the state of the rank, and what it is, in text.
const (
	HeaderBytes = 72
	textBytes   = HeaderBytes - 17
)

// head sends all ranks the kind of the next exchange of this one, and returns the sizes of what they have for it.
func (g *Group) head(what string, size, state int) ([]int, error) {
	if g.broken != nil {
		return nil, g.broken
	}
	if state == working && g.watch != nil {
		if err := g.watch(); err != nil {
			what = textOf(err)
			size, state = len(what), failed
		}
	}
	if state == working && !g.ended && g.outer.Err() != nil {
		state = cancelled
	}
	mine := binary.LittleEndian.AppendUint64(make([]byte, 0, HeaderBytes), g.number)
	mine = binary.LittleEndian.AppendUint64(mine, uint64(size))
	mine = append(mine, byte(state))
	mine = append(mine, what[:min(len(what), textBytes)]...)
	mine = mine[:HeaderBytes]
	ranks := g.world.Size()
	sizes, all := slices.Repeat([]int{HeaderBytes}, ranks), make([]byte, ranks*HeaderBytes)
	if err := g.gather(mine, sizes, all); err != nil {
		return nil, err
	}
	g.number++
	own := header(all, g.Rank())
	ending, failing := -1, -1
	for r := ranks - 1; r >= 0; r-- {
		h := header(all, r)
		switch sizes[r] = h.size; h.state {
		case cancelled:
			ending = r
		case failed:
			failing = r
		}
	}
	if failing >= 0 {
		return g.failures(all, size, what)
	}
	for r := range ranks {
		if h := header(all, r); h.number != own.number || h.what != own.what {
			a, b := header(all, 0), h
			if r == 0 {
				a, b, r = own, h, g.Rank()
			}
			return nil, g.differ("rank 0 is at step %d, %s, and rank %d at step %d, %s", a.number, a.what, r, b.number, b.what)
		}
	}
	if ending >= 0 {
		g.ended = true
		cause := context.Cause(g.outer)
		if cause == nil {
			cause = &Error{ending, "its context has ended"}
		}
		g.cancel(cause)
		return nil, context.Canceled
	}
	return sizes, nil
}

// differ ends what the ranks do together, for they do not do the same.
func (g *Group) differ(format string, args ...any) error {
	g.broken = fmt.Errorf("the ranks disagree: "+format, args...)
	return g.broken
}

type parsed struct {
	number uint64
	size   int
	state  byte
	what   string
}

func header(all []byte, r int) parsed {
	b := all[r*HeaderBytes : (r+1)*HeaderBytes]
	return parsed{
		binary.LittleEndian.Uint64(b), int(binary.LittleEndian.Uint64(b[8:])), b[16], strings.TrimRight(string(b[17:]), "\x00"),
	}
}

// failures exchanges the texts of the ranks that failed.
func (g *Group) failures(all []byte, size int, text string) ([]int, error) {
	sizes, total, first := make([]int, g.Size()), 0, -1
	for r := range sizes {
		if h := header(all, r); h.state == failed {
			sizes[r] = h.size
			total += h.size
			if first < 0 {
				first = r
			}
		}
	}
	var mine []byte
	if sizes[g.Rank()] > 0 {
		mine = []byte(text)[:size]
	}
	texts := make([]byte, total)
	if err := g.gather(mine, sizes, texts); err != nil {
		return nil, err
	}
	g.broken = &Error{first, string(texts[:sizes[first]])}
	return nil, g.broken
}

func (g *Group) gather(mine []byte, sizes []int, all []byte) error {
	g.spent += int64(len(all))
	if err := g.world.AllGather(context.WithoutCancel(g.outer), mine, sizes, all); err != nil {
		g.broken = err
		return err
	}
	return nil
}

// textOf returns what the others are told of an error.
func textOf(err error) string {
	text := strings.TrimPrefix(strings.ToValidUTF8(err.Error(), "�"), "largemvc: ")
	if text == "" {
		text = "an error without words"
	}
	return text[:min(len(text), mostText)]
}

// mostText bounds the text of an error that is sent to others.
const mostText = 4096

// Leave ends what the ranks do together: those that are still at work get the error, if there is one, and a rank without one
// gets the error of another. It returns the error of this rank.
func (g *Group) Leave(err error) error {
	if g == nil {
		return err
	}
	defer g.cancel(nil)
	if g.broken != nil { // all know
		return err
	}
	if err == nil {
		g.ended = true // whoever ends now has all that there is
		if _, other := g.head("the end", 0, working); other != nil {
			return other
		}
		return nil
	}
	text := textOf(err)
	if _, other := g.head(text, len(text), failed); other != nil {
		var e *Error
		if !errors.As(other, &e) { // the communicator's own
			return errors.Join(err, other)
		}
	}
	return err
}

// Agree returns an error on all ranks if there is one on any: its own on those that have one, else the error of the lowest rank
// that has one. The ranks go on together after it.
func (g *Group) Agree(what string, err error) error { return g.AgreeOn(what, 0, err) }

// AgreeOn is Agree for ranks that must also have the same state. sum is a hash of it.
func (g *Group) AgreeOn(what string, sum uint64, err error) error {
	if g == nil {
		return err
	}
	mine := binary.LittleEndian.AppendUint64(nil, sum)
	if err != nil {
		mine = append(mine, "!"+textOf(err)...)
	}
	all, other := g.Gather(what, mine)
	if other != nil {
		return errors.Join(err, other)
	}
	for r, b := range all {
		if !bytes.Equal(b[:8], all[0][:8]) {
			return g.differ("at %s rank 0 and rank %d have different values", what, r)
		}
	}
	if err != nil {
		return err
	}
	for r, b := range all {
		if len(b) > 8 {
			return &Error{r, string(b[9:])}
		}
	}
	return nil
}

// Gather returns the bytes of all ranks, in their order.
func (g *Group) Gather(what string, mine []byte) ([][]byte, error) {
	if g == nil {
		return [][]byte{mine}, nil
	}
	sizes, err := g.head(what, len(mine), working)
	if err != nil {
		return nil, err
	}
	total := 0
	for _, n := range sizes {
		total += n
	}
	all := make([]byte, total)
	if err := g.gather(mine, sizes, all); err != nil {
		return nil, err
	}
	out := make([][]byte, len(sizes))
	for r, n := range sizes {
		out[r], all = all[:n:n], all[n:]
	}
	return out, nil
}

// Broadcast gives the bytes of a rank to all, in x, which has the same length on all of them.
func (g *Group) Broadcast(what string, root int, x []byte) error {
	if g == nil {
		return nil
	}
	sizes, err := g.head(what, len(x), working)
	if err != nil {
		return err
	}
	if sizes[root] != len(x) {
		return g.differ("%s is %d bytes of rank %d and %d of rank %d", what, sizes[root], root, len(x), g.Rank())
	}
	g.spent += int64(len(x))
	if err := g.world.Broadcast(context.WithoutCancel(g.outer), root, x); err != nil {
		g.broken = err
		return err
	}
	return nil
}
