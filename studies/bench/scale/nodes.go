package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/comm"
	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/internal/ranks"
	"github.com/largemvc/largemvc/machine"
	"github.com/largemvc/largemvc/studies/internal/presets"
)

// nodes is the number of ranks of the row nodes.
const nodes = 64

// ofNodes finds what a fit on many nodes costs: the time of a row on a core, and what the ranks receive of each other. A rank of the
// first fits on ranks has one branch of the tree of sums, a rank of the second two.
func (b *bench) ofNodes(folder string) error {
	fits := []struct {
		name   string
		config largemvc.Config
	}{
		{"10 epochs of the default", largemvc.Config{Clusters: 10, Epochs: 10}},
		{"100 epochs without neighbours", presets.Paper.Of(largemvc.Config{Clusters: 10, Epochs: 100})},
		{"a fit on 2,000 samples", largemvc.Config{Clusters: 10, FitSamples: 2_000, Epochs: 1}},
		{"a fit on 4,000 samples", largemvc.Config{Clusters: 10, FitSamples: 4_000, Epochs: 1}},
	}
	unit := comm.Unit(1 << 20)
	files, _, _, err := blobs(folder, 3*nodes*unit, 10, 256, 256)
	if err != nil {
		return err
	}
	const less, more = 65_536, 196_608
	for _, fit := range fits[:2] {
		var rows []rankTimes // µs
		for range b.rounds {
			var took [2]rankTimes
			for k, n := range []int{less, more} {
				j := job{Files: files, First: n, Fit: &fit.config, Model: filepath.Join(folder, "model")}
				trained, err := b.start(j, 0)
				if err != nil {
					return err
				}
				j.Fit = nil
				labelled, err := b.start(j, 0)
				if err != nil {
					return err
				}
				took[k] = rankTimes{trained.Epoch, trained.Seconds - float64(fit.config.Epochs)*trained.Epoch, labelled.Seconds}
			}
			for i, t := range took[0] {
				took[1][i] = 1e6 * (took[1][i] - t) / (more - less)
			}
			rows = append(rows, took[1])
		}
		for i, what := range []string{"an epoch", "the rest", "labels"} {
			fmt.Printf("nodes: %s, %s: %.3g µs a row\n", fit.name, what, middle(rows, i))
		}
	}
	set, err := dataset.Open(b.ctx, files, dataset.Options{NoLabels: true})
	if err != nil {
		return err
	}
	for k, n := range []int{nodes * unit, 3 * nodes * unit} {
		for _, fit := range fits[:len(fits)-2*k] {
			calls, bytes, err := onNodes(b.ctx, set, n, fit.config)
			if err != nil {
				return err
			}
			fmt.Printf("nodes: %s, %d samples: %d messages, %.3f GB received by each\n", fit.name, n, calls, float64(bytes)/1e9)
		}
	}
	return nil
}

// onNodes fits the first n samples on ranks of this process, and returns the messages and bytes of the rank that receives most.
func onNodes(ctx context.Context, set *dataset.Set, n int, config largemvc.Config) (calls, bytes int, err error) {
	var world [nodes]counted
	var errs [nodes]error
	var wait sync.WaitGroup
	for r, link := range comm.Local(nodes) {
		lo, hi, err := comm.Share(n, r, nodes)
		if err != nil {
			return 0, 0, err
		}
		own := make([]largemvc.View, len(set.Views))
		for v, x := range set.Views {
			own[v] = largemvc.DenseView(hi-lo, x.Cols, x.Float32[lo*x.Cols:hi*x.Cols])
		}
		world[r] = counted{Exchanger: link.(ranks.Exchanger)}
		at := config
		at.Machine = machine.Options{Workers: 1, Device: machine.CPU, Comm: &world[r]}
		wait.Go(func() { _, errs[r] = largemvc.Fit(ctx, own, at) })
	}
	wait.Wait()
	for r := range world {
		calls, bytes = max(calls, world[r].calls), max(bytes, world[r].bytes)
	}
	return calls, bytes, errors.Join(errs[:]...)
}

// counted counts the messages of a rank, and the bytes that it receives.
type counted struct {
	ranks.Exchanger
	calls, bytes int
}

func (c *counted) AllGather(ctx context.Context, mine []byte, sizes []int, all []byte) error {
	c.calls, c.bytes = c.calls+1, c.bytes+len(all)-len(mine)
	return c.Exchanger.AllGather(ctx, mine, sizes, all)
}

func (c *counted) Broadcast(ctx context.Context, root int, x []byte) error {
	if c.calls++; root != c.Rank() {
		c.bytes += len(x)
	}
	return c.Exchanger.Broadcast(ctx, root, x)
}

func (c *counted) AllToAll(ctx context.Context, mine []byte, to []int, all []byte, from []int) error {
	c.calls, c.bytes = c.calls+1, c.bytes+len(all)-from[c.Rank()]
	return c.Exchanger.AllToAll(ctx, mine, to, all, from)
}
