package structure

import (
	"context"
	"slices"

	"github.com/largemvc/largemvc/internal/parallel"
)

// Up to fewRows rows, where the figures vary most, a judgement that is near its bounds is repeated with moreSplits splits of each
// null data, and with moreGroups times that number of the rows.
const fewRows, moreSplits, moreGroups = 200, 6, 3

// repeat measures the rows and null data of some kinds again, with more splits.
func (r *Result) repeat(
	ctx context.Context, all *data, null *null, agreement float64, kinds []int, o Options, workers int,
) error {
	more := make([]trial, moreGroups*moreSplits)
	err := parallel.For(ctx, workers, len(more)+len(kinds)*draws, func(_, t int) (err error) {
		if t < len(more) {
			more[t], err = measure(ctx, all, o, splitNumber(0, t), false)
			more[t].Agreement = agreement
			return err
		}
		kind, draw := kinds[(t-len(more))%len(kinds)], (t-len(more))/len(kinds)
		r.nulls[kind][draw], err = null.measure(ctx, kind, draw, moreSplits, o)
		return err
	})
	r.group(more, moreSplits)
	r.repeated = true
	r.summarise()
	return err
}

// splitNumber returns the number that seeds split s of the rows, for which draw is 0, or of a draw of null data.
func splitNumber(draw, s int) uint64 {
	switch {
	case draw == 0 && s < splits:
		return uint64(s)
	case draw > 0 && s < drawSplits:
		return uint64(splits + draw*drawSplits + s)
	}
	return uint64(1000 + draw*moreGroups*moreSplits + s)
}

// group sets the means of size trials each.
func (r *Result) group(trials []trial, size int) {
	r.groups = nil
	for some := range slices.Chunk(trials, size) {
		var of []Figures
		for _, t := range some {
			of = append(of, t.Figures)
		}
		r.groups = append(r.groups, average(of))
	}
}
