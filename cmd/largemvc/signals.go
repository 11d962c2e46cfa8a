package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// interruptible returns a context that ends with the first of the signals that ask a process to end: an interrupt from the
// keyboard, the request of a batch system, or the end of the terminal, unless the process was told to outlive it (nohup). The
// second one ends the process at once.
func interruptible() (context.Context, context.CancelFunc) {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// mpiGrace is the grace of several processes (seconds), whose launcher may not end while one of them hangs.
const mpiGrace = 8

// endInTime ends the process once the grace has passed after the end of ctx, unless the function that it returns is called
// before. who begins what it says.
func (o *fitOptions) endInTime(ctx context.Context, stderr io.Writer, who string) (stop func()) {
	seconds := o.grace
	if seconds == 0 && o.mpi {
		seconds = mpiGrace
	}
	if seconds <= 0 {
		return func() {}
	}
	grace := time.Duration(seconds * float64(time.Second))
	ended := make(chan struct{})
	unwatch := context.AfterFunc(ctx, func() {
		select {
		case <-ended:
		case <-time.After(grace):
			fmt.Fprintf(stderr, "%s: %v after the signal the fit has not ended%s\n", who, grace, o.goOn())
			os.Exit(exitError)
		}
	})
	return func() {
		unwatch()
		close(ended)
	}
}

// outliveReaders has a write to standard output or error that nobody reads any more fail, where it would end the process at once:
// a reader of the progress that is gone, as of 'largemvc fit … 2>&1 | tee log' after an interrupt, must not take the labels,
// the model and the checkpoint with it.
func outliveReaders() { signal.Ignore(syscall.SIGPIPE) }

// unread says whether all that has gone wrong is that nobody reads standard output any more, as of '… | head'.
func unread(err error) bool {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range several.Unwrap() {
			if !unread(e) {
				return false
			}
		}
		return true
	}
	var p *fs.PathError
	return errors.As(err, &p) && p.Path == os.Stdout.Name() && errors.Is(p.Err, syscall.EPIPE)
}
