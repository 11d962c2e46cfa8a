package meter

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

// TestLeft follows a work of known costs at a pace of its own.
func TestLeft(t *testing.T) {
	begin := time.Unix(1000, 0)
	m := &Meter{o: Options{Restarts: 2}, begun: true, phase: Smoothing, began: begin}
	c := &m.o.Costs
	c[Smoothing], c[Anchors], c[Training], c[Clusters] = 10, 5, 20, 3
	if left := m.left(begin.Add(time.Second)); left != 0 {
		t.Errorf("%v left before anything is known", left)
	}
	m.share = 0.5 // five units in two seconds: five more, and two runs of 25, and three
	if left, want := m.left(begin.Add(2*time.Second)), 58*400*time.Millisecond; left != want {
		t.Errorf("%v left, want %v", left, want)
	}
	m.spent, m.spentFor, m.phase, m.run, m.began, m.share = 15, 6*time.Second, Training, 0, begin, 0.25
	// 20 units in 8 seconds; the epochs take 6 seconds more by their own pace; then 25 and 3 units.
	if left, want := m.left(begin.Add(2*time.Second)), 6*time.Second+28*400*time.Millisecond; left != want {
		t.Errorf("%v left in the training, want %v", left, want)
	}
}

// TestEnter wants a report at the start of each phase but the training, and the context to end with the callback's error, which
// Stopped finds again.
func TestEnter(t *testing.T) {
	enough := errors.New("enough")
	var got []Phase
	ctx, m := New(context.Background(), func(r Report) error {
		if got = append(got, r.Phase); r.Phase == Structure {
			return enough
		}
		return nil
	}, Options{Restarts: 1})
	for p := Checks; p < Structure; p++ {
		if err := m.Enter(p, 0); err != nil {
			t.Fatal(p, err)
		}
	}
	if m.Failure() != nil || ctx.Err() != nil {
		t.Fatal(m.Failure(), ctx.Err())
	}
	if err := m.Enter(Structure, 0); err != enough || context.Cause(ctx) != enough {
		t.Errorf("%v, cause %v", err, context.Cause(ctx))
	}
	if len(got) != Phases-1 {
		t.Errorf("reports of %v", got)
	}
	other := errors.New("other")
	for err, want := range map[error]error{
		nil: enough, ctx.Err(): enough, fmt.Errorf("largemvc: %w", enough): enough, other: other,
	} {
		if is := m.Stopped(err); is != want {
			t.Errorf("Stopped(%v) is %v", err, is)
		}
	}
}

// A meter that is nil reports nothing and changes no error.
func TestNil(t *testing.T) {
	var m *Meter
	other := errors.New("other")
	m.Stop()
	if m.Enter(Checks, 0) != nil || m.Failure() != nil || m.Epoch(1, 2) != 0 || m.Stopped(other) != other ||
		m.Within(t.Context()) != t.Context() {
		t.Error("a nil meter does something")
	}
}
