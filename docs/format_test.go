package docs_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
)

// inputsInPython follows on what docs/format.md says of preprocessing and smoothing, for complete samples that are not equal to
// stored ones; the views come as CSV.
const inputsInPython = `
import sys
hood = config["Neighborhood"]
views = [np.loadtxt(name, delimiter=",", ndmin=2) for name in sys.argv[1:]]
def standardised(kind, v):
    x = views[v]
    if kind == "sample":
        return (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True)
    return (x - arrays[f"mean.{v}"]) * arrays[f"scale.{v}"]
def unit(x):
    return x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-300)
def squares(a, b): # squared distances
    return sum(((x[:, None] - y[None]) ** 2).sum(2) for x, y in zip(a, b))
def close(d, scale):
    return np.exp(-d / scale) if scale > 0 else 1
inputs, n, k = training["inputs"], training["samples"], hood["Neighbors"]
X = [standardised(i["preprocess"], i["view"]) for i in inputs]

def joined(D, E):
    return np.minimum(D, E) + (D + E) / 20
def exact(q, weight, members):
    index, square = arrays[f"neighbors.{q}"], arrays[f"neighbor_distances.{q}"]
    D = np.zeros((n, n))
    for i in range(n):
        has = index[i] >= 0
        for j, d in zip(index[i][has], square[i][has]):
            D[i, j] = close(d, square[i][has][-1])
    g = joined(D, D.T).sum(1)
    far = squares([long[m] for m in members], [arrays[f"samples.{m}"] for m in members])
    links = np.zeros(far.shape)
    for i, d in enumerate(far):
        D, E = np.zeros(n), np.zeros(n)
        near = np.argsort(d, kind="stable")[:k]
        for j in near:
            D[j] = close(d[j], d[near[-1]])
        for j in range(n):
            mine = square[j][index[j] >= 0]
            if len(mine) < k:
                E[j] = close(d[j], max(d[j], mine[-1]))
            elif d[j] < mine[-1]:
                E[j] = close(d[j], max(d[j], mine[-2] if k > 1 else 0))
        A = joined(D, E)
        links[i] = weight * A / np.sqrt(A.sum() * np.where(g > 0, g, A))
    return links
def landmarks(q, weight, members):
    far = squares([X[m] for m in members], [arrays[f"landmarks.{q}.{m}"] for m in members])
    links, s = np.zeros(far.shape), min(5, far.shape[1] - 1)
    for i, d in enumerate(far):
        near = np.argsort(d, kind="stable")[:s + 1]
        w = d[near[-1]] - d[near[:-1]]
        links[i, near[:-1]] = w / w.sum() * np.sqrt(weight)
    return links * arrays[f"landmark_scale.{q}"]

if k >= 0:
    X = [np.c_[x, np.full(len(x), i["length"])] if "length" in i else x for i, x in zip(inputs, X)]
    X = [unit(x) @ arrays[f"directions.{i}"].T if f"directions.{i}" in arrays else unit(x) for i, x in enumerate(X)]
    kinds = list(dict.fromkeys(i["preprocess"] for i in inputs))
    sides = []
    for kind in kinds:
        side = []
        for v in range(len(views)):
            own = [m for m, i in enumerate(inputs) if i["view"] == v]
            side += [m for m in own if inputs[m]["preprocess"] == kind] or own[:1]
        if sorted(side) not in sides:
            sides.append(sorted(side))
    members = [m for side in sides for m in side]
    spaces = [(0.5 / len(sides), side) for side in sides]
    spaces += [(0.5 * members.count(m) / len(members), [m]) for m in dict.fromkeys(members)]
    if n <= hood["Exact"]:
        long = [unit(x) * np.maximum(np.linalg.norm(x, axis=1, keepdims=True), l) for x, l in zip(X, arrays["lengths"])]
        links = sum(exact(q, *s) for q, s in enumerate(spaces))
    else:
        links = np.concatenate([landmarks(q, *s) for q, s in enumerate(spaces)], axis=1)
    X = [unit(0.5 ** max(hood["Steps"], 0) * x + links @ arrays[f"filter.{i}"]) for i, x in enumerate(X)]
`

// predictInPython follows on what docs/format.md says of prediction.
const predictInPython = `
soft, shrink = config["Represent"], config["Noise"]
assert soft["Type"] == "SoftThreshold" and soft["Settings"]["Activation"] == "relu" and not soft["Settings"]["OneSided"]
assert shrink["Type"] == "RowShrink" and shrink["Settings"]["Activation"] == "relu" and config["Anchor"]["Type"] == "Procrustes"
V, L = len(X), config["Layers"]
P = lambda l, v: arrays[f"anchors.{l}.{v}"]
relu = lambda a: np.maximum(a, 0)
R, U = arrays["R"], arrays["U"]
H = np.zeros((len(X[0]), config["Anchors"]))
Y, t = [X[v] @ P(0, v).T for v in range(V)], [None] * V
for l in range(1, L + 1):
    theta = arrays["theta"][l - 1]
    new = 0
    for v in range(V):
        Z = Y[v] if l == 1 else t[v] * Y[v] + (1 - t[v]) * (H @ P(l - 2, v) @ P(l - 1, v).T)
        A = H @ R + Z @ U
        new = new + (relu(A - theta) - relu(-A - theta)) / V
    H = new
    for v in range(V):
        r = np.linalg.norm(X[v] - H @ P(l - 1, v), axis=1, keepdims=True)
        rho = arrays["rho"][l - 1, v]
        t[v] = np.where(r > rho, 1 - relu(r - rho) / np.maximum(r, 1e-300), 1)
        Y[v] = X[v] @ P(l, v).T
if not config["PlainReadOut"]:
    H = H / np.maximum(np.linalg.norm(H, axis=1, keepdims=True), 1e-300)
if training.get("kept"):
    H = sum(x @ arrays[f"start_directions.{v}"].T for v, x in enumerate(X)) / np.sqrt(arrays["start_singular_values"])
    H = H / np.maximum(np.linalg.norm(H, axis=1, keepdims=True), 1e-300)
d = ((H[:, None, :] - arrays["centroids"][None]) ** 2).sum(2)
print(*d.argmin(1))
print(*np.round(np.sort(d, 1)[:, 0], 6))
`

// tables are the views of some samples, a table each.
type tables struct {
	dims []int
	x    [][]float64
}

func newTables(n int, seed uint64, dims ...int) tables {
	x, _ := testutil.Blobs(n, 3, 1, seed, dims...)
	return tables{dims, x}
}

// rows are those of the samples from lo to hi.
func (t tables) rows(lo, hi int) tables {
	out := tables{dims: t.dims}
	for v, d := range t.dims {
		out.x = append(out.x, t.x[v][lo*d:hi*d])
	}
	return out
}

func (t tables) views() []largemvc.View {
	var out []largemvc.View
	for v, d := range t.dims {
		out = append(out, largemvc.DenseView(len(t.x[v])/d, d, t.x[v]))
	}
	return out
}

// The description of the model file, put to use: Python with NumPy reads a model with the program that docs/format.md shows,
// and predicts what the library predicts.
func TestFormatInPython(t *testing.T) {
	t.Parallel()
	python := testutil.Python(t)
	text, err := os.ReadFile("docs/format.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```python\n(.*?)```").FindSubmatch(text)
	if block == nil {
		t.Fatal("docs/format.md has no program")
	}
	all := newTables(60, 60, 20, 5, 3)
	known, fresh := all.rows(0, 40), all.rows(40, 60)
	linear := newTables(40, 20, 9, 5, 2)
	for i := range 40 { // of rank 4 in the first view
		for j := 4; j < 9; j++ {
			linear.x[0][9*i+j] = linear.x[0][9*i+j%4] - 0.5*linear.x[0][9*i+(j+1)%4]
		}
	}
	none := largemvc.Neighborhood{Neighbors: largemvc.None}
	for name, x := range map[string]struct {
		known, views tables // of the training, and those that are predicted
		c            largemvc.Config
	}{
		"three layers": {known, all, largemvc.Config{Layers: 3, Anchors: 4, Neighborhood: none}},
		"rotated": {
			linear, linear,
			largemvc.Config{Preprocess: largemvc.PreprocessBalanced, Neighborhood: none},
		},
		"exact neighbours": {known, fresh, largemvc.Config{}},
		"all are neighbours": {
			known, fresh,
			largemvc.Config{
				Neighborhood: largemvc.Neighborhood{Neighbors: 100, Directions: 3}, Preprocess: largemvc.PreprocessZScore,
				PlainReadOut: true,
			},
		},
		"balanced":      {known, fresh, largemvc.Config{Preprocess: largemvc.PreprocessBalanced}},
		"one neighbour": {known, fresh, largemvc.Config{Neighborhood: largemvc.Neighborhood{Neighbors: 1, Steps: largemvc.None}}},
		"landmarks":     {known, all, largemvc.Config{Neighborhood: largemvc.Neighborhood{Exact: largemvc.None}}},
		"landmarks, directions": {
			known, all,
			largemvc.Config{
				Neighborhood: largemvc.Neighborhood{Exact: largemvc.None, Landmarks: 4, Directions: 4},
				Preprocess:   largemvc.PreprocessSample,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "balanced" || name == "one neighbour" || name == "all are neighbours" {
				testutil.Long(t, "other cases run the same lines")
			}
			folder := t.TempDir()
			x.c.Clusters, x.c.Epochs, x.c.Float64 = 3, 5, true
			model, err := largemvc.Fit(t.Context(), x.known.views(), x.c)
			if err != nil {
				t.Fatal(err)
			}
			if err := model.Save(filepath.Join(folder, "model.safetensors")); err != nil {
				t.Fatal(err)
			}
			args := []string{"-c", string(block[1]) + inputsInPython + predictInPython}
			for v, d := range x.views.dims {
				var csv strings.Builder
				for row := range slices.Chunk(x.views.x[v], d) {
					csv.WriteString(strings.Trim(strings.ReplaceAll(fmt.Sprint(row), " ", ","), "[]") + "\n")
				}
				args = append(args, filepath.Join(folder, fmt.Sprintf("%d.csv", v)))
				if err := os.WriteFile(args[len(args)-1], []byte(csv.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.Command(python, args...)
			cmd.Dir = folder
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			a, err := model.Assign(t.Context(), x.views.views())
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(string(out), "\n")
			if want := strings.Trim(fmt.Sprint(a.Labels), "[]"); lines[0] != want {
				t.Errorf("Python predicts %s\nwant           %s", lines[0], want)
			}
			for i, text := range strings.Fields(lines[1]) {
				var near float64
				if _, err := fmt.Sscan(text, &near); err != nil || near < a.Near[i]-1e-5 || near > a.Near[i]+1e-5 {
					t.Errorf("sample %d: Python's distance is %s, want %v", i, text, a.Near[i])
				}
			}
		})
	}
}
