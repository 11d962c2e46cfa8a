package main

import (
	"context"
	"errors"
	"testing"
)

// A fit that is ended before its first epoch says what there is to go on from.
func TestEndedEarly(t *testing.T) {
	const none = "cancelled before the first epoch; there is no result"
	ended, end := context.WithCancel(context.Background())
	end()
	full := errors.New("disk full")
	for _, test := range []struct {
		ctx                context.Context
		checkpoint, resume string
		want               string
	}{
		{ended, "", "", none},
		{ended, "s", "", none + ", and nothing to resume: s is written in the training alone"},
		{ended, "s", "old", none + "; old is as it was"},
		{context.Background(), "s", "", "disk full"},
	} {
		o := &fitOptions{resume: test.resume}
		o.config.Checkpoint.Path = test.checkpoint
		if got := o.endedEarly(test.ctx, full).Error(); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}
