package smooth

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/trust"
)

// Who asks for the trust in views while it is learned waits for that no longer than the context says, and what is learned is
// there for the next one. The learning is held up here in the first of its loops, which tells of itself as in a fit.
func TestTrustIsLearnedForAll(t *testing.T) {
	const n = 30
	rng := rand.New(rand.NewPCG(5, 6))
	known := &trust.Rows[float64]{Views: make([][]float64, 2), Dims: []int{4, 3}, Present: make([][]bool, 2)}
	for v, d := range known.Dims {
		for range n * d {
			known.Views[v] = append(known.Views[v], rng.NormFloat64())
		}
	}
	s := &Transform[float64]{judging: &judging[float64]{seed: 7, known: known, look: make([]appearance, 2)}}
	var held atomic.Bool
	begun, release := make(chan struct{}), make(chan struct{})
	watched := parallel.WithWatch(t.Context(), func(int, int, bool) {
		if held.Swap(true) {
			return
		}
		close(begun)
		select {
		case <-release:
		case <-time.After(time.Minute): // in place of a test that never ends
			t.Error("who asks is not let go while the trust is learned")
		}
	})
	for call := range 2 {
		ctx, cancel := context.WithCancel(watched)
		go func() {
			<-begun
			cancel()
		}()
		if err := s.learn(ctx, 1); !errors.Is(err, context.Canceled) {
			t.Errorf("call %d: %v", call, err)
		}
		cancel()
		select {
		case <-s.judging.ready:
			t.Errorf("call %d: the learning is over", call)
		default:
		}
	}
	close(release)
	if err := s.learn(t.Context(), 1); err != nil || s.judging.judge == nil {
		t.Fatalf("nothing is learned after two calls that did not wait: %v", err)
	}
	judge := s.judging.judge
	if err := s.learn(t.Context(), 1); err != nil || s.judging.judge != judge {
		t.Errorf("it is learned again: %v", err)
	}
}
