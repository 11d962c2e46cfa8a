package largemvc

import (
	"bytes"
	"context"
	"math"
	"slices"
	"testing"

	"github.com/largemvc/largemvc/internal/testrig/testutil"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// linear is a Represent module with an encoder before it: a square matrix a view, the identity at first.
type linear struct {
	SoftThreshold
	Columns int // of the code; 0: as many as the view
	Random  bool
	w       gorgonia.Nodes
}

func (m *linear) Init(e Env) error {
	if err := m.SoftThreshold.Init(e); err != nil {
		return err
	}
	m.w = nil
	for v, d := range e.Dims {
		k := d
		if m.Columns > 0 {
			k = m.Columns
		}
		first := mat.NewDense(d, k, nil)
		for j := range min(d, k) {
			first.Set(j, j, 1)
		}
		if m.Random {
			for i := range d {
				for j := range k {
					first.Set(i, j, math.Sin(float64(e.Seed)+float64(1+i*k+j)*float64(v+1)))
				}
			}
		}
		var backing any = first.RawMatrix().Data
		if e.Of == tensor.Float32 {
			x := make([]float32, d*k)
			for i, y := range first.RawMatrix().Data {
				x[i] = float32(y)
			}
			backing = x
		}
		m.w = append(m.w, gorgonia.NewMatrix(e.G, e.Of, gorgonia.WithName(e.Name("w_%d", v)), gorgonia.WithShape(d, k),
			gorgonia.WithValue(tensor.New(tensor.WithShape(d, k), tensor.WithBacking(backing)))))
	}
	return nil
}
func (m *linear) Learnables() gorgonia.Nodes { return append(m.SoftThreshold.Learnables(), m.w...) }
func (m *linear) Encode(v int, x *gorgonia.Node) (*gorgonia.Node, error) {
	return gorgonia.Mul(x, m.w[v])
}

// An encoder that begins as the identity has the first loss of the network without it, and then trains on.
func TestEncoder(t *testing.T) {
	t.Parallel()
	plain, _ := blobViews(50, 3, 0.7, 307, 7, 5)
	masked, err := testutil.Masked(plain, absent(50, 2, 0.2, 308))
	if err != nil {
		t.Fatal(err)
	}
	for name, views := range map[string][]View{"plain": plain, "masked": masked} {
		for _, preset := range []defaults{byDefault, asPaper} {
			c := preset.of(Config{Clusters: 3, Epochs: 6, Float64: true})
			want := mustFit(t, views, c)
			c.Represent = &linear{}
			got := mustFit(t, views, c)
			end, without := got.Loss[len(got.Loss)-1], want.Loss[len(want.Loss)-1]
			if math.Abs(got.Loss[0]-want.Loss[0]) > 1e-9 || end == without || end >= got.Loss[0] {
				t.Errorf("%s, %v: losses %v and %v, without encoder %v and %v", name, preset, got.Loss[0], end,
					want.Loss[0], without)
			}
			checkPredict(t, views, got)
			c.Represent = &linear{Columns: 4, Random: true}
			c.Restarts = 2
			got = mustFit(t, views, c)
			if _, d := got.P[0].Dims(); d != 4 {
				t.Errorf("anchors of %d columns, want 4", d)
			}
			checkPredict(t, views, got)
			p, err := ReadPredictor(bytes.NewReader(encode(t, got.Predictor)), &linear{Columns: 4})
			if err != nil {
				t.Fatal(err)
			}
			if labels, err := p.Predict(context.Background(), views); err != nil || !slices.Equal(labels, got.Labels) {
				t.Errorf("%s, %v: the loaded model predicts %v, %v", name, preset, labels, err)
			}
			c.Checkpoint.Every = 2
			path := killed(t, views, c, 1, 5)
			sameResult(t, mustResume(t, views, path, func(c *Config) { c.Represent = &linear{Columns: 4, Random: true} }), got)
		}
	}
}
