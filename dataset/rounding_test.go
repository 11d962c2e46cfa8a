package dataset

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/largemvc/largemvc/dataset/internal/elem"
)

// TestRoundedColumns: what float32 rounds away is said, by whatever way the values come.
func TestRoundedColumns(t *testing.T) {
	const n = 40
	far := map[string]func(i int) float64{
		"seconds": func(i int) float64 { return 1.7e9 + float64(7*i%n) },
		"minutes": func(i int) float64 { return 202405011200 + float64(7*i%n) },
		"cents":   func(i int) float64 { return 123456700 + float64(7*i%n)/100 },
		"tiny":    func(i int) float64 { return 1e-47 * float64(1+7*i%n) },
	}
	fine := map[string]func(i int) float64{
		"constant": func(int) float64 { return 0.1 },
		"one":      func(int) float64 { return 1 },
		"zero":     func(int) float64 { return 0 },
		"decimals": func(i int) float64 { return 0.1 * float64(7*i%n) },
		"hours":    func(i int) float64 { return 1.7e9 + 3600*float64(i) },
		"exact":    func(i int) float64 { return 1 << 24 * float64(1+i%2) },
		"spike":    func(i int) float64 { return float64(max(0, i-n+2)) },
	}
	names := []string{}
	for name := range fine {
		names = append(names, name)
	}
	slices.Sort(names)
	for name, f := range far {
		columns := append([]string{}, names[:3]...)
		columns = append(append(columns, name), names[3:]...)
		var text strings.Builder
		text.WriteString(strings.Join(columns, ",") + "\n")
		x := make([]float64, 0, n*len(columns))
		for i := range n {
			for j, c := range columns {
				value := f(i)
				if c != name {
					value = fine[c](i)
				}
				x = append(x, value)
				text.WriteString(map[bool]string{true: ",", false: ""}[j > 0] + fmt.Sprintf("%.17g", value))
			}
			text.WriteByte('\n')
		}
		byColumns := make([]float64, len(x))
		for i := range n {
			for j := range columns {
				byColumns[j*n+i] = x[i*len(columns)+j]
			}
		}
		shape := fmt.Sprintf("(%d, %d)", n, len(columns))
		for file, data := range map[string][]byte{
			"t.csv": []byte(text.String()),
			"t.npz": npzBytes(t, true, Array{"t", []int{n, len(columns)}, x}),
			"f.npy": npyBytes("'<f8'", true, shape, floatBytes(byColumns, false)),
			"b.npy": npyBytes("'>f8'", false, shape, floatBytes(x, true)),
		} {
			for _, storage := range []Storage{AsStored, AllSparse} {
				warnings := mustRead(t, file, data, Options{Storage: storage, NoIDs: true}).Reading.Warnings
				want := "column 3 (from 0)"
				if file == "t.csv" {
					want = "column " + name
				}
				if len(warnings) != 1 || !strings.Contains(warnings[0], want+" has values from ") ||
					strings.Contains(warnings[0], "columns are so") || !strings.Contains(warnings[0], "Options.Float 64") {
					t.Errorf("%s in %s: warnings %q", name, file, warnings)
				}
			}
			if w := mustRead(t, file, data, Options{Float: 64, NoIDs: true}).Reading.Warnings; len(w) > 0 {
				t.Errorf("%s in %s as float64: warnings %q", name, file, w)
			}
		}
	}
	// In views of some columns they are those of the view; whole numbers of 64 bits are rounded too.
	x := make([]int64, 0, 30)
	for i := range 10 {
		x = append(x, int64(i), 1_700_000_000+int64(3*i%10), 1_700_000_000_000+int64(3*i%10))
	}
	s := mustRead(t, "t.npz", npzBytes(t, true, Array{"t", []int{10, 3}, x}), Options{Table: []TableView{
		{"u", []string{"0"}}, {"w", []string{"2", "1"}}}})
	if w := s.Reading.Warnings; len(w) != 1 || !strings.Contains(w[0], "view w: column 0 (from 0) has values from 1700000000001 "+
		"to 1700000000009, which float32 rounds by up to") || !strings.Contains(w[0], "(2 columns are so)") {
		t.Errorf("%q", w)
	}
}

// TestRoundingMissesNothing compares what is found in one pass with what all values say.
func TestRoundingMissesNothing(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		base := rapid.Float64Range(-1e12, 1e12).Draw(r, "base")
		step := math.Pow(10, rapid.Float64Range(-6, 12).Draw(r, "step"))
		x := rapid.SliceOfN(rapid.Map(rapid.IntRange(0, 50), func(k int) float64 { return base + step*float64(k) }), 2, 30).
			Draw(r, "x")
		round := &rounding{first: make([]float32, 1), state: make([]columnState, 1), open: 1, near: map[int]*nearColumn{}}
		worst := 0.0
		for _, v := range x[1:] {
			worst = max(worst, math.Abs(v-float64(float32(v))))
		}
		round.rows(0, floatBytes(x, false), elem.Float64)
		span := slices.Max(x[1:]) - slices.Min(x[1:])
		// The first value is known as it is held alone: a column is found by the others.
		whole := slices.Max(x) - slices.Min(x)
		if got := len(round.lossy()) > 0; got && worst <= lossyShare*span || !got && span > 0 && worst > 2*lossyShare*whole {
			r.Fatalf("found %t: rounded by %g in a range of %g: %v", got, worst, span, x)
		}
	})
}

// TestWholeNumbersOfTables: a whole number that float64 rounds is an error in a table, as it is in arrays.
func TestWholeNumbersOfTables(t *testing.T) {
	_, err := read("t.csv", []byte("a,b\n1,9007199254740993\n2,9007199254740995\n"), Options{})
	wantError(t, err, "9007199254740993 in line 2, column b", "2^53", "Options.LeaveOut b")
	_, err = read("t.csv", []byte("a,b\n1,-123456789012345678901\n2,5\n"), Options{})
	wantError(t, err, "-123456789012345678901 in line 2")
	s := mustRead(t, "t.csv", []byte("a,b\n1,9007199254740992\n2,+100000000000000000000\n3,1.5e300\n4,-0\n"), Options{Float: 64})
	if s.Views[0].At(1, 1) != 1e20 {
		t.Error(s.Views[0].At(1, 1))
	}
}

// floatBytes are numbers of 64 bits as they lie in files.
func floatBytes(x []float64, big bool) []byte {
	var b []byte
	for _, v := range x {
		if big {
			b = binary.BigEndian.AppendUint64(b, math.Float64bits(v))
		} else {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
		}
	}
	return b
}
