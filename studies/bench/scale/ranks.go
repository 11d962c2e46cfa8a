package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/largemvc/largemvc/studies/internal/presets"
	"github.com/largemvc/largemvc/studies/internal/sets"
)

// rankTimes holds the times of the parts of a fit.
type rankTimes [4]float64

// partsOfRanks names these parts (seconds). The first is from the start of the launcher to its end.
var partsOfRanks = [4]string{"whole", "reading", "preparation and first anchors", "an epoch"}

// ofRanks is fits of one process and of two, of a thread each, in turns, on mnist3v four times over.
func (b *bench) ofRanks(folder string) error {
	program, err := filepath.Abs(filepath.Join(folder, "largemvc"))
	if err != nil {
		return err
	}
	build := exec.CommandContext(b.ctx, "go", "build", "-tags", "mpi", "-o", program, "./cmd/largemvc")
	build.Dir = ".." // the module of the command
	if text, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, text)
	}
	data := shuffled{times: 4}
	files, _, err := data.write(b.ctx, folder, sets.Find(b.data, "mnist3v"))
	if err != nil {
		return err
	}
	for _, preset := range []presets.Preset{presets.Default, presets.Paper} {
		args := append([]string{program, "fit", "-mpi", "-workers", "1", "-clusters", strconv.Itoa(len(data.set.LabelNames)),
			"-preset", string(preset), "-quiet", "-json"}, files...)
		var took [2][]rankTimes // of one process, and of two
		for range b.rounds {
			for k := range took {
				one, err := b.timedRanks(append([]string{"--allow-run-as-root", "--bind-to", "core", "-n", strconv.Itoa(k + 1)}, args...))
				if err != nil {
					return err
				}
				took[k] = append(took[k], one)
			}
		}
		for i, part := range partsOfRanks {
			one, two := middle(took[0], i), middle(took[1], i)
			fmt.Printf("ranks: %d samples, preset %v, %s: %.3g and %.3g s, efficiency %.0f %%\n", data.samples(), preset, part,
				one, two, 100*one/(2*two))
		}
	}
	return nil
}

// timedRanks runs mpirun and returns the times of the fit.
func (b *bench) timedRanks(args []string) (t rankTimes, err error) {
	c := exec.CommandContext(b.ctx, "mpirun.openmpi", args...)
	c.Stderr = os.Stderr
	began := time.Now()
	text, err := c.Output()
	if err != nil {
		return t, err
	}
	whole := time.Since(began).Seconds()
	var of struct {
		Read    float64 `json:"read_seconds"`
		Prepare float64 `json:"init_seconds"`
		Epoch   float64 `json:"seconds_per_epoch"`
	}
	err = json.Unmarshal(text, &of)
	return rankTimes{whole, of.Read, of.Prepare, of.Epoch}, err
}

// middle is the median of a part.
func middle(all []rankTimes, part int) float64 {
	var times []float64
	for _, t := range all {
		times = append(times, t[part])
	}
	slices.Sort(times)
	return times[len(times)/2]
}
