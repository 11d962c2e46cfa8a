// This program prints, for every golden model that it is given, the SHA-256 of the loss, of H and P of every layer and of
// all gradients. It is built within a checkout of the library; see the program samebits in tools/.
package main

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"log"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
)

type network interface {
	Build(e largemvc.Env, data *largemvc.Data, start largemvc.StartPoint) error
	Learnables() gorgonia.Nodes
	H(layer int) (*gorgonia.Node, error)
	P(layer, view int) (*gorgonia.Node, error)
	Loss() *gorgonia.Node
}

// fatal is the part of a test that testutil needs.
type fatal struct{ testing.TB }

func (fatal) Helper()                        {}
func (fatal) Fatal(args ...any)              { log.Fatal(args...) }
func (fatal) Fatalf(format string, a ...any) { log.Fatalf(format, a...) }

func must[T any](x T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return x
}

// reduction finds a reduction by its name, so that its name in Go may change.
func reduction(name string) largemvc.Reduction {
	for r := range largemvc.Reduction(10) {
		if strings.EqualFold(r.String(), name) {
			return r
		}
	}
	log.Fatalf("no reduction %s", name)
	return 0
}

type model struct {
	arrays  map[string]testutil.Array
	views   []mat.Matrix
	present [][]bool
	start   largemvc.StartPoint
}

func (m *model) matrix(name string) *mat.Dense {
	a := m.arrays[name]
	return mat.NewDense(a.Shape[0], a.Shape[1], a.Float64s())
}

func load(file string) *model {
	m := &model{arrays: testutil.LoadNPZ(fatal{}, file)}
	m.start.H = m.matrix("H0")
	for v := range m.arrays["V"].Ints()[0] {
		m.views = append(m.views, m.matrix(fmt.Sprintf("X_%d", v)))
		m.start.Anchors = append(m.start.Anchors, m.matrix(fmt.Sprintf("P0_%d", v)))
	}
	if mask, ok := m.arrays["mask"]; ok {
		for row := range slices.Chunk(mask.Float64s(), mask.Shape[1]) {
			has := make([]bool, len(row))
			for v, x := range row {
				has[v] = x != 0
			}
			m.present = append(m.present, has)
		}
	}
	return m
}

// parameter returns the golden value of the learnable node of that name.
func (m *model) parameter(node string, views int) []float64 {
	var l, v int
	name := strings.TrimPrefix(node, "largemvc.")
	if _, err := fmt.Sscanf(name, "theta_%d", &l); err == nil {
		return m.arrays["theta"].Float64s()[l-1 : l]
	}
	if _, err := fmt.Sscanf(name, "rho_%d_%d", &l, &v); err == nil {
		at := (l-1)*views + v
		return m.arrays["rho"].Float64s()[at : at+1]
	}
	if a, ok := m.arrays[name]; ok {
		return a.Float64s()
	}
	log.Fatalf("no golden value for the learnable node %s", node)
	return nil
}

func let(n *gorgonia.Node, x []float64) {
	single := make([]float32, len(x))
	for i, a := range x {
		single[i] = float32(a)
	}
	var value any
	switch {
	case n.IsScalar() && n.Dtype() == tensor.Float32:
		value = single[0]
	case n.IsScalar():
		value = x[0]
	case n.Dtype() == tensor.Float32:
		value = tensor.New(tensor.WithShape(n.Shape()...), tensor.WithBacking(single))
	default:
		value = tensor.New(tensor.WithShape(n.Shape()...), tensor.WithBacking(slices.Clone(x)))
	}
	if err := gorgonia.Let(n, value); err != nil {
		log.Fatal(err)
	}
}

// add hashes the bits of a value.
func add(h hash.Hash, v gorgonia.Value) {
	put := func(x any) {
		if err := binary.Write(h, binary.LittleEndian, x); err != nil {
			log.Fatal(err)
		}
	}
	switch x := v.Data().(type) {
	case float32:
		put(math.Float32bits(x))
	case float64:
		put(math.Float64bits(x))
	case []float32, []float64:
		put(x)
	default:
		log.Fatalf("a value of type %T", x)
	}
}

// sum builds a network and returns the hash of all that comes out of it.
func sum(m *model, net network, of tensor.Dtype, layers int) string {
	data := must(largemvc.NewData(of, m.views, m.present))
	g := gorgonia.NewGraph()
	if err := net.Build(largemvc.Env{G: g, Layers: layers}, data, m.start); err != nil {
		log.Fatal(err)
	}
	for _, n := range net.Learnables() {
		let(n, m.parameter(n.Name(), len(m.views)))
	}
	nodes := gorgonia.Nodes{net.Loss()}
	for l := 1; l <= layers; l++ {
		nodes = append(nodes, must(net.H(l)))
		for v := range m.views {
			nodes = append(nodes, must(net.P(l, v)))
		}
	}
	nodes = append(nodes, must(gorgonia.Grad(net.Loss(), net.Learnables()...))...)
	values := make([]gorgonia.Value, len(nodes))
	for i, n := range nodes {
		gorgonia.Read(n, &values[i])
	}
	machine := gorgonia.NewTapeMachine(g)
	defer machine.Close()
	if err := machine.RunAll(); err != nil {
		log.Fatal(err)
	}
	h := sha256.New()
	for _, v := range values {
		add(h, v)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// networks returns a new network of every variant; one is built once.
func networks(act largemvc.Activation, r largemvc.Reduction, perModule, detach bool) map[string]network {
	soft := func() *largemvc.SoftThreshold {
		return &largemvc.SoftThreshold{Activation: act, Unconstrained: true}
	}
	noise, anchor := &largemvc.RowShrink{Activation: act, Unconstrained: true}, &largemvc.Procrustes{Detach: detach}
	full := &largemvc.Model[*largemvc.SoftThreshold, *largemvc.RowShrink, *largemvc.Procrustes]{Represent: soft(), Noise: noise, Anchor: anchor, Reduction: r, PerModule: perModule}
	anchor = &largemvc.Procrustes{Detach: detach}
	return map[string]network{
		"full":      full,
		"nonoise":   &largemvc.Model[*largemvc.SoftThreshold, *largemvc.NoNoise, *largemvc.Procrustes]{Represent: soft(), Anchor: anchor, Reduction: r, PerModule: perModule},
		"represent": &largemvc.Model[*largemvc.SoftThreshold, *largemvc.NoNoise, *largemvc.FixedAnchors]{Represent: soft(), Reduction: r, PerModule: perModule},
	}
}

func main() {
	log.SetFlags(0)
	files := must(filepath.Glob(filepath.Join(os.Args[1], "model_*.npz")))
	if len(files) == 0 {
		log.Fatalf("no golden models in %s", os.Args[1])
	}
	for _, file := range files {
		m, name := load(file), strings.TrimSuffix(filepath.Base(file), ".npz")
		var act largemvc.Activation // ReLU
		if strings.Contains(name, "selu") {
			act = 1
		}
		layers := m.arrays["L"].Ints()[0]
		for _, of := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
			for _, r := range []string{"mean", "relative"} {
				for _, perModule := range []bool{false, true} {
					for _, detach := range []bool{false, true} {
						nets := networks(act, reduction(r), perModule, detach)
						for _, variant := range []string{"full", "nonoise", "represent"} {
							fmt.Printf("%s %s %v %s per-module=%v detach=%v %s\n", name, variant, of, r, perModule, detach,
								sum(m, nets[variant], of, layers))
						}
					}
				}
			}
		}
	}
}
