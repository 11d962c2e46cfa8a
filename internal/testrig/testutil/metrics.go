package testutil

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// MetricCase is one golden case of the scores: labels, and the scores that scikit-learn and SciPy give them. A score that
// is undefined is nil.
type MetricCase struct {
	Name          string
	Y, P          []int // classes and clusters
	ACC           float64
	Purity        float64
	ARI           float64
	NMIArithmetic float64  `json:"nmi_arithmetic"`
	NMIGeometric  float64  `json:"nmi_geometric"`
	NMIMax        float64  `json:"nmi_max"`
	NMIMin        float64  `json:"nmi_min"`
	TP            int64    `json:"pair_tp"`
	FP            int64    `json:"pair_fp"`
	FN            int64    `json:"pair_fn"`
	TN            int64    `json:"pair_tn"`
	Precision     *float64 `json:"pair_precision"`
	Recall        *float64 `json:"pair_recall"`
	F             *float64 `json:"pair_f"`
	B3Precision   float64  `json:"b3_precision"`
	B3Recall      float64  `json:"b3_recall"`
	B3F           float64  `json:"b3_f"`
	Homogeneity   float64
	Completeness  float64
	VMeasure      float64 `json:"v_measure"`
}

// LoadMetrics reads the golden cases of the scores from the folder of golden files, and ends the test if it cannot or if
// the labels in its two files differ.
func LoadMetrics(t testing.TB, folder string) []MetricCase {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, "metrics.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []MetricCase
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) != 29 {
		t.Fatalf("%d golden cases, want 29", len(cases))
	}
	labels := LoadNPZ(t, filepath.Join(folder, "metrics.npz"))
	for i, c := range cases {
		y, p := labels[fmt.Sprintf("y_%02d", i)].Ints(), labels[fmt.Sprintf("p_%02d", i)].Ints()
		if !slices.Equal(y, c.Y) || !slices.Equal(p, c.P) {
			t.Fatalf("%s: the labels in the two golden files differ", c.Name)
		}
	}
	return cases
}
