package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/machine"
	"github.com/largemvc/largemvc/studies/internal/presets"
	"github.com/largemvc/largemvc/studies/internal/work"
)

// runChild is this library's side: Fit with a progress callback that waits for orders between epochs.
func runChild(args []string) error {
	f := flag.NewFlagSet("child", flag.ExitOnError)
	data := f.String("data", "", "data set (.npz)")
	anchors := f.Int("m", 10, "anchors")
	if err := f.Parse(args); err != nil {
		return err
	}
	// The data are most of the memory: with the collector's default the heap may grow by the same size before a collection.
	debug.SetGCPercent(20)
	set, err := dataset.Open(context.Background(), []string{*data}, dataset.Options{Float: 32, NoLabels: true,
		MaxBytes: 16 << 30})
	if err != nil {
		return err
	}
	views := viewsOf(set)
	set = nil
	config := presets.Paper.Of(largemvc.Config{Clusters: *anchors})
	config.Machine.Overwrite = true
	config.Machine.Device = machine.CPU
	o := &orders{in: bufio.NewScanner(os.Stdin)}
	config.Epochs = 1e9 // more than any request
	config.Progress = func(e largemvc.Progress) error {
		if !e.Training() {
			return nil
		}
		return o.epochDone()
	}
	if _, err := largemvc.Fit(context.Background(), views, config); err != nil {
		return err
	}
	if o.quit {
		fmt.Println(peakMiB())
	}
	return nil
}

// orders takes requests between the epochs of a running fit: "epochs N" is answered with the seconds of N epochs, "quit"
// ends the fit.
type orders struct {
	in      *bufio.Scanner
	started bool
	wanted  int
	began   time.Time
	times   []float64
	quit    bool
}

func (o *orders) epochDone() error {
	if !o.started { // the first epoch warms up
		o.started = true
		fmt.Println("ready")
	} else if o.times = append(o.times, time.Since(o.began).Seconds()); len(o.times) == o.wanted {
		fmt.Println(strings.Trim(fmt.Sprint(o.times), "[]"))
		o.times = o.times[:0]
	} else {
		o.began = time.Now()
		return nil
	}
	if !o.in.Scan() {
		return largemvc.ErrStop
	}
	word := strings.Fields(o.in.Text())
	if word[0] == "quit" {
		o.quit = true
		return largemvc.ErrStop
	}
	var err error
	if o.wanted, err = strconv.Atoi(word[1]); err != nil {
		return err
	}
	o.began = time.Now()
	return nil
}

// peakMiB returns the largest memory of the process, if the system reports it.
func peakMiB() float64 { return float64(work.PeakMemory()) / (1 << 20) }
