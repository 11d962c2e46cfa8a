package largemvc

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/internal/testutil"
)

// predictWithPython follows on what FORMAT.md says of prediction; the views come as CSV.
const predictWithPython = `
import sys
assert config["activation"] == "relu" and config["variant"] == "large" and not config["one_sided"]
X = [np.loadtxt(name, delimiter=",", ndmin=2) for name in sys.argv[1:]]
V, L = len(X), config["layers"]
for v in range(V):
    if config["preprocess"] == "sample":
        X[v] = (X[v] - X[v].mean(1, keepdims=True)) / X[v].std(1, keepdims=True)
    else:
        X[v] = (X[v] - arrays[f"mean.{v}"]) * arrays[f"scale.{v}"]
P = lambda l, v: arrays[f"anchors.{l}.{v}"]
relu = lambda a: np.maximum(a, 0)
R, U = arrays["R"], arrays["U"]
H = np.zeros((len(X[0]), config["anchors"]))
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
d = ((H[:, None, :] - arrays["centroids"][None]) ** 2).sum(2)
print(*d.argmin(1))
print(*np.round(np.sort(d, 1)[:, 0], 6))
`

// The description of the model file, put to use: Python with NumPy reads a model with the program that FORMAT.md shows,
// and predicts what the library predicts.
func TestFormatInPython(t *testing.T) {
	python := testutil.Python(t)
	text, err := os.ReadFile("FORMAT.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```python\n(.*?)```").FindSubmatch(text)
	if block == nil {
		t.Fatal("FORMAT.md has no program")
	}
	for name, x := range map[string]struct {
		views []View
		c     Config
	}{
		"three layers": {func() []View { v, _ := blobViews(40, 3, 1, 60, 9, 5, 2); return v }(), Config{Layers: 3, Anchors: 4, Rotate: RotateNever}},
		"rotated":      {lowRankViews(40), Config{Rotate: RotateAlways, Preprocess: Balanced}},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			x.c.Clusters, x.c.Epochs, x.c.Float = 3, 5, Float64
			model := mustFit(t, x.views, x.c)
			if err := model.Save(filepath.Join(folder, "model.safetensors")); err != nil {
				t.Fatal(err)
			}
			args := []string{"-c", string(block[1]) + predictWithPython}
			for v, view := range x.views {
				var csv strings.Builder
				for i := range view.rows {
					row := view.f64[i*view.cols : (i+1)*view.cols]
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
			a, err := model.Assign(context.Background(), x.views)
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
