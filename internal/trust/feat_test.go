package trust

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"sort"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/smooth"
	"github.com/largemvc/largemvc/internal/view"
)

func aucOf(good, bad []float64) float64 {
	type e struct {
		x float64
		b bool
	}
	var all []e
	for _, x := range good {
		all = append(all, e{x, false})
	}
	for _, x := range bad {
		all = append(all, e{x, true})
	}
	sort.Slice(all, func(a, b int) bool { return all[a].x < all[b].x })
	sum, nb := 0.0, 0.0
	for _, a := range all {
		if a.b {
			nb++
		} else {
			sum += nb
		}
	}
	return sum / float64(len(good)) / float64(len(bad))
}

func TestFeat(t *testing.T) {
	for _, name := range strings.Split(os.Getenv("PROTO"), ",") {
		set, err := dataset.Open("/work/shared/data/"+name+".npz", dataset.Options{Float: 32, Storage: dataset.AllDense})
		if err != nil {
			t.Skip()
		}
		n := len(set.Labels)
		for target := range set.Views {
			rng := rand.New(rand.NewPCG(1, uint64(target)))
			bad := make([]bool, n)
			var views []view.View
			for v, w := range set.Views {
				x := append([]float32(nil), w.Float32...)
				if v == target {
					var s, q float64
					for _, e := range x {
						s += float64(e)
						q += float64(e) * float64(e)
					}
					m := s / float64(len(x))
					sd := math.Sqrt(q/float64(len(x)) - m*m)
					for _, i := range rng.Perm(n)[:n/5] {
						bad[i] = true
						for j := range w.Cols {
							x[i*w.Cols+j] = float32(m + sd*rng.NormFloat64())
						}
					}
				}
				views = append(views, view.View{Rows: n, Cols: w.Cols, F32: x})
			}
			o := smooth.Options{Kind: prepare.Both, Neighbors: 10, Directions: 200, Exact: 10000, Workers: 1}
			in, err := smooth.Find[float32](context.Background(), views, o)
			if err != nil {
				t.Fatal(err)
			}
			blocks, _ := in.Fill(context.Background(), views, o)
			feats := map[string][]float64{}
			var zall [][]float64
			for k, is := range in.Inputs {
				if is.View != target {
					continue
				}
				b := blocks[k]
				mean := make([]float64, b.Cols)
				z := make([][]float64, n)
				for i := range n {
					z[i] = make([]float64, b.Cols)
					for c := range mean {
						z[i][c] = float64(b.X[i*b.Ld+c])
						mean[c] += z[i][c] / float64(n)
					}
				}
				med := make([]float64, b.Cols)
				mad := make([]float64, b.Cols)
				for c := range med {
					col := make([]float64, n)
					for i := range n {
						col[i] = z[i][c]
					}
					sort.Float64s(col)
					med[c] = col[n/2]
					for i := range n {
						col[i] = math.Abs(z[i][c] - med[c])
					}
					sort.Float64s(col)
					mad[c] = col[n/2] + 1e-9
				}
				tag := fmt.Sprint(is.Kind)
				add := func(name string, f func(i int) float64) {
					for i := range n {
						feats[tag+name] = append(feats[tag+name], f(i))
					}
				}
				add("norm", func(i int) float64 { return sq(z[i]) })
				add("mean", func(i int) float64 { return dt(z[i], mean) })
				add("med", func(i int) float64 { return dt(z[i], med) })
				add("kurt", func(i int) float64 {
					s, q := 0., 0.
					for c := range z[i] {
						e := z[i][c] - mean[c]
						s += e * e
						q += e * e * e * e
					}
					return q / s / s
				})
				add("dist", func(i int) float64 {
					var d []float64
					for j := range n {
						if j != i {
							s := 0.
							for c := range z[i] {
								s += (z[i][c] - z[j][c]) * (z[i][c] - z[j][c])
							}
							d = append(d, s)
						}
					}
					sort.Float64s(d)
					return d[5]
				})
				add("indeg", func(i int) float64 { return 0 })
				_ = zall
				near := make([]float64, n)
				for j := range n {
					type p struct {
						i int
						s float64
					}
					var l []p
					for i := range n {
						if i != j {
							s := 0.
							for c := range z[i] {
								s += (z[i][c] - z[j][c]) * (z[i][c] - z[j][c])
							}
							l = append(l, p{i, s})
						}
					}
					sort.Slice(l, func(a, b int) bool { return l[a].s < l[b].s })
					for _, e := range l[:min(30, n-1)] {
						near[e.i]++
					}
				}
				add("indeg", func(i int) float64 { return 0 })
				feats[tag+"indeg"] = near
				add("tail", func(i int) float64 {
					s := 0.
					for c := len(z[i]) / 2; c < len(z[i]); c++ {
						s += z[i][c] * z[i][c]
					}
					return s / (sq(z[i]) + 1e-12)
				})
				add("mah", func(i int) float64 {
					s := 0.
					for c := range z[i] {
						s += math.Min(math.Abs(z[i][c]-med[c])/mad[c], 20)
					}
					return s
				})
			}
			var keys []string
			for k := range feats {
				keys = append(keys, k)
			}
			sort.Strings(keys)
			text := fmt.Sprintf("%s %d (d=%d):", name, target, set.Views[target].Cols)
			for _, k := range keys {
				var g, b []float64
				for i, x := range feats[k] {
					if bad[i] {
						b = append(b, x)
					} else {
						g = append(g, x)
					}
				}
				text += fmt.Sprintf(" %s %.2f", k, aucOf(g, b))
			}
			fmt.Println(text)
		}
	}
}

func sq(x []float64) float64 { return dt(x, x) }
func dt(x, y []float64) float64 {
	s := 0.
	for c, e := range x {
		s += e * y[c]
	}
	return s
}
