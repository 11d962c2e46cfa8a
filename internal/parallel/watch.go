package parallel

import (
	"context"
	"sync/atomic"
)

// Watch is told how far the work of a goroutine is: it is called on that goroutine with a number of done and of all steps.
type Watch struct {
	f    func(done, total int, told bool)
	busy atomic.Bool // a loop reports: loops inside of it, perhaps on other goroutines, do not
}

type watchKey struct{}

// WithWatch returns a context whose loops (For) tell f after every item of the goroutine that called them. told is true where
// Tell has said it.
func WithWatch(ctx context.Context, f func(done, total int, told bool)) context.Context {
	return context.WithValue(ctx, watchKey{}, &Watch{f: f})
}

// watchOf returns who is to be told, nil if nobody is.
func watchOf(ctx context.Context) *Watch {
	w, _ := ctx.Value(watchKey{}).(*Watch)
	return w
}

// Tell reports that some steps of a longer work are done. Steps may have loops; Tell is called outside of them.
func Tell(ctx context.Context, done, total int) {
	if w := watchOf(ctx); w != nil && !w.busy.Load() {
		w.f(done, total, true)
	}
}
