package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// parse reads the ns/op of every benchmark from the output of go test. It keeps the number of cores at the end of a name.
func parse(out []byte) map[string]float64 {
	times := map[string]float64{}
	s := bufio.NewScanner(bytes.NewReader(out))
	for s.Scan() {
		f := strings.Fields(s.Text())
		if len(f) < 4 || !strings.HasPrefix(f[0], "Benchmark") {
			continue
		}
		for i := 3; i < len(f); i += 2 {
			if f[i] != "ns/op" {
				continue
			}
			if x, err := strconv.ParseFloat(f[i-1], 64); err == nil {
				times[strings.TrimPrefix(f[0], "Benchmark")] = x
			}
		}
	}
	return times
}

// cores is the number of cores at the end of a benchmark's name.
var cores = regexp.MustCompile(`-[0-9]+$`)

// patterns returns a regular expression for each benchmark, which matches only this benchmark.
func patterns(times map[string]float64) []string {
	var out []string
	for name := range times {
		parts := strings.Split("Benchmark"+cores.ReplaceAllString(name, ""), "/")
		for i, p := range parts {
			parts[i] = "^" + regexp.QuoteMeta(p) + "$"
		}
		out = append(out, strings.Join(parts, "/"))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// pairs holds the times of benchmarks, by round, of the old (0) and the new checkout (1).
type pairs struct {
	names []string // in the order in which they came
	times map[string]*[2]map[int]float64
}

func (p *pairs) add(state, round int, times map[string]float64) {
	if p.times == nil {
		p.times = map[string]*[2]map[int]float64{}
	}
	var names []string
	for name := range times {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if p.times[name] == nil {
			p.names = append(p.names, name)
			p.times[name] = &[2]map[int]float64{{}, {}}
		}
		p.times[name][state][round] = times[name]
	}
}

// print prints a line for every benchmark; it returns an error if the checkouts have none in common.
func (p *pairs) print(w io.Writer, pkg string) error {
	both := 0
	for _, name := range p.names {
		var old, changed, ratios []float64
		for round, a := range p.times[name][0] {
			if b, ok := p.times[name][1][round]; ok {
				old, changed, ratios = append(old, a), append(changed, b), append(ratios, b/a)
			}
		}
		title := pkg + " " + name
		if len(ratios) == 0 {
			fmt.Fprintf(w, "%-60s only one state has it\n", title)
			continue
		}
		both++
		fmt.Fprintf(w, "%-60s %14.0f %14.0f %7.3f  %.3f … %.3f   %7.3f\n", title, quantile(old, 0.5), quantile(changed, 0.5),
			quantile(ratios, 0.5), quantile(ratios, 0.25), quantile(ratios, 0.75), slices.Min(changed)/slices.Min(old))
	}
	if both == 0 {
		return fmt.Errorf("%s has no benchmark of that name in both states", pkg)
	}
	return nil
}

// quantile returns the q-quantile of x, interpolated between its neighbours.
func quantile(x []float64, q float64) float64 {
	slices.Sort(x)
	at := q * float64(len(x)-1)
	i := int(at)
	if i+1 == len(x) {
		return x[i]
	}
	return x[i] + (at-float64(i))*(x[i+1]-x[i])
}
