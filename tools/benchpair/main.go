// The program benchpair compares the benchmarks of two checkouts on a shared machine. It runs old and new in turn, one benchmark
// at a time, so that other work slows both. It prints the medians and the ratio of every benchmark.
//
//	cd tools && go run ./benchpair -packages ./internal/engine -bench Step -rounds 10 OLD NEW
//
// The ratio is the median, over the rounds, of the new time over the old time of the same round: below 1 the new checkout is
// faster. The table also has the quartiles of the rounds' ratios, and the ratio of the shortest times, which other work on the
// machine disturbs least. Compare a checkout with itself to measure the noise. Write a package that has moved as OLD=NEW, as in
// ./tsne=./internal/tsne.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/largemvc/largemvc/tools/internal/program"
)

type options struct {
	packages, bench, benchtime, cpu string
	rounds                          int
}

func main() {
	var o options
	flag.StringVar(&o.packages, "packages", ".,./internal/engine,./internal/kernel,./internal/kmeans",
		"packages, with commas between them; OLD=NEW for one that has moved")
	flag.StringVar(&o.bench, "bench", ".", "regular expression of the benchmarks")
	flag.StringVar(&o.benchtime, "benchtime", "200ms", "time or count of each benchmark in each round, as go test has it")
	flag.StringVar(&o.cpu, "cpu", "", "GOMAXPROCS of the benchmarks; by default all cores")
	flag.IntVar(&o.rounds, "rounds", 10, "runs of each state")
	states := program.Arguments("benchpair [flags] OLD NEW", 2)
	if o.rounds < 1 {
		program.End("benchpair", program.Misuse, fmt.Errorf("%d rounds", o.rounds))
	}
	program.End("benchpair", program.Failed, compare(os.Stdout, &o, states[0], states[1]))
}

// compare builds the tests of every package of both checkouts, runs them in turn and prints a table.
func compare(w io.Writer, o *options, before, after string) error {
	work, err := os.MkdirTemp("", "benchpair")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	fmt.Fprintf(w, "%-60s %14s %14s %7s  %-15s %7s\n", "benchmark", "old ns/op", "new ns/op", "ratio",
		"quartiles", "minima")
	for i, name := range strings.Split(o.packages, ",") {
		oldName, newName, moved := strings.Cut(name, "=")
		if !moved {
			newName = oldName
		}
		var tests [2]string
		folders := [2]string{filepath.Join(before, oldName), filepath.Join(after, newName)}
		for k, folder := range folders {
			tests[k] = filepath.Join(work, fmt.Sprintf("%d-%d.test", i, k))
			if _, err := program.Run(folder, "go", "test", "-c", "-o", tests[k], "."); err != nil {
				return err
			}
		}
		var names [2][]string
		for k := range tests {
			out, err := program.Run(folders[k], tests[k], o.flags(o.bench, "1x")...)
			if err != nil {
				return err
			}
			names[k] = patterns(parse(out))
		}
		var times pairs
		for _, pattern := range names[1] {
			if !slices.Contains(names[0], pattern) {
				continue
			}
			for round := range o.rounds {
				for turn := range 2 {
					k := (round + turn) % 2 // the order changes from round to round
					out, err := program.Run(folders[k], tests[k], o.flags(pattern, o.benchtime)...)
					if err != nil {
						return err
					}
					times.add(k, round, parse(out))
				}
			}
		}
		if err := times.print(w, newName); err != nil {
			return err
		}
	}
	return nil
}

// flags returns the flags of the test program.
func (o *options) flags(pattern, benchtime string) []string {
	flags := []string{"-test.run=^$", "-test.bench=" + pattern, "-test.benchtime=" + benchtime, "-test.count=1"}
	if o.cpu != "" {
		flags = append(flags, "-test.cpu="+o.cpu)
	}
	return flags
}
