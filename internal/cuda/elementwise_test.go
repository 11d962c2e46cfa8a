package cuda

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/internal/testrig/ptx"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
)

// operands are values at which operations have their ends and their kinks, and ordinary ones.
var operands = []float64{0, 1, -1, 0.5, -0.5, 2, 3, -2, 1e-3, 0.7, 1.3, -1.7, 5.25, 20, -20, 1e-9, -1e-9, 33, -33, 1e-20,
	math.Inf(1), math.Inf(-1), math.NaN(), 700, -700, 1e10, 4, 1.4142135, 0.99999, 17}

func oneOrNone(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

var binaries = map[string]func(x, y float64) float64{
	"add": func(x, y float64) float64 { return x + y },
	"sub": func(x, y float64) float64 { return x - y },
	"mul": func(x, y float64) float64 { return x * y },
	"div": func(x, y float64) float64 { return x / y },
	"pow": math.Pow,
	"lt":  func(x, y float64) float64 { return oneOrNone(x < y) },
	"gt":  func(x, y float64) float64 { return oneOrNone(x > y) },
	"lte": func(x, y float64) float64 { return oneOrNone(x <= y) },
	"gte": func(x, y float64) float64 { return oneOrNone(x >= y) },
	"eq":  func(x, y float64) float64 { return oneOrNone(x == y) },
	"ne":  func(x, y float64) float64 { return oneOrNone(x != y) },
}

func sign(x float64) float64 {
	if x > 0 {
		return 1
	} else if x < 0 {
		return -1
	}
	return x
}

var unaries = map[string]func(x float64) float64{
	"abs": math.Abs, "sign": sign, "ceil": math.Ceil, "floor": math.Floor, "exp": math.Exp, "ln": math.Log, "log2": math.Log2,
	"neg":     func(x float64) float64 { return -x },
	"square":  func(x float64) float64 { return x * x },
	"sqrt":    math.Sqrt,
	"inv":     func(x float64) float64 { return 1 / x },
	"inverse": func(x float64) float64 { return 1 / x },
	"invSqrt": func(x float64) float64 { return 1 / math.Sqrt(x) },
	"cube":    func(x float64) float64 { return x * x * x },
	"tanh":    math.Tanh,
	"sigmoid": func(x float64) float64 { return 1 / (1 + math.Exp(-x)) },
	"log1p":   math.Log1p, "expm1": math.Expm1, "sin": math.Sin, "cos": math.Cos,
	"softplus": func(x float64) float64 { return math.Max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) },
}

// TestElementwise runs every kernel on the simulator and compares it with the function of its name.
func TestElementwise(t *testing.T) {
	for _, l := range elementwise() {
		module, err := ptx.Parse(l.text)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := strings.Join(l.kernels(), " "), strings.Join(module.Kernels(), " "); got != want {
			t.Errorf("%s: kernels %s, want %s", l.name, got, want)
		}
		for _, name := range module.Kernels() {
			k, err := module.Kernel(name)
			if err != nil {
				t.Fatal(err)
			}
			parts := strings.Split(name, "_")
			if parts[len(parts)-1] == "f32" {
				runElementwise[float32](t, k, parts)
			} else {
				runElementwise[float64](t, k, parts)
			}
		}
	}
}

func runElementwise[T float32 | float64](t *testing.T, k *ptx.Kernel, parts []string) {
	t.Helper()
	var x, y []T // every pair
	for _, a := range operands {
		for _, b := range operands {
			x, y = append(x, T(a)), append(y, T(b))
		}
	}
	n, waves := len(x), parts[0] == "sin" || parts[0] == "cos"
	var want []T
	form := "v"
	if len(parts) == 3 {
		form = parts[1]
		f := binaries[parts[0]]
		if form != "vv" {
			if form[0] == 's' {
				x = []T{T(1.7)}
			}
			if form[1] == 's' {
				y = []T{T(-2)}
			}
		}
		if form == "ss" {
			n = 1
		}
		for i := range n {
			want = append(want, T(f(float64(x[min(i, len(x)-1)]), float64(y[min(i, len(y)-1)]))))
		}
	} else {
		f := unaries[parts[0]]
		for i := range n {
			want = append(want, T(f(float64(x[i]))))
		}
	}
	mem := ptx.NewMemory(0)
	up := func(v []T) ptx.Ptr {
		p, err := mem.Alloc("operand", int64(len(v)*sizeOf(v[0])))
		if err == nil {
			err = ptx.Upload(mem, p, v)
		}
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	a := up(x)
	args, result := []any{a}, a
	if form != "v" {
		b := up(y)
		if args = append(args, b); form == "sv" {
			result = b
		}
	}
	// The grid has more threads than there are elements, in all of its dimensions.
	grid := [3]int{3, 2, (n + 3*2*64 - 1) / (3 * 2 * 64)}
	_, err := k.Launch(context.Background(), mem, ptx.Launch{Grid: grid, Block: [3]int{64, 1, 1}, Args: append(args, int32(n))})
	if err != nil {
		t.Errorf("%s: %v", k.Name(), err)
		return
	}
	got := make([]T, n)
	if err := ptx.Download(mem, got, result); err != nil {
		t.Fatal(err)
	}
	for i := range got {
		if x := math.Abs(float64(x[min(i, len(x)-1)])); waves && x > 1e6 && !math.IsInf(x, 1) {
			continue // the kernels have few digits there
		}
		if !near(got[i], want[i]) {
			t.Errorf("%s of %v and %v is %v, want %v", k.Name(), x[min(i, len(x)-1)], y[min(i, len(y)-1)], got[i], want[i])
			return
		}
	}
}

func sizeOf[T float32 | float64](x T) int {
	if _, ok := any(x).(float32); ok {
		return 4
	}
	return 8
}

func near[T float32 | float64](a, b T) bool {
	x, y := float64(a), float64(b)
	if math.IsNaN(x) || math.IsNaN(y) {
		return math.IsNaN(x) && math.IsNaN(y)
	}
	tolerance := 2e-14
	if sizeOf(a) == 4 {
		tolerance = 2e-7
	}
	// The error of a power grows with its logarithm.
	return x == y || math.Abs(x-y) <= tolerance*math.Abs(y)*max(1, math.Abs(math.Log(math.Abs(y))))
}

// TestGenerated: the committed PTX is what clang-19 makes of the sources.
func TestGenerated(t *testing.T) {
	testutil.Long(t, "it compiles the kernels")
	testutil.GeneratedPTX(t)
}
