package dataset

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/largemvc/largemvc/internal/testrig/hostile"
)

// TestNotReadSaysWhatToDo reads views of kinds that are not read: the error says what it is and how to convert it.
func TestNotReadSaysWhatToDo(t *testing.T) {
	npz := func(descr, shape string, n int) []byte {
		return zipBytes(t, false, map[string][]byte{"X0.npy": npyBytes(descr, false, shape, make([]byte, n))})
	}
	h5 := func(messages ...[]byte) []byte {
		h := hostile.NewHDF5()
		at := h.Add(make([]byte, 256))
		h.Link("X0", h.Object(append(messages, hostile.Contiguous(at, 256))...))
		return h.Bytes()
	}
	huge := func(x int64) []byte { return binary.LittleEndian.AppendUint64(make([]byte, 8), uint64(x)) }
	square := hostile.Dataspace(4, 4)
	for _, c := range []struct {
		name  string
		data  []byte
		words []string
	}{
		{"complex.npz", npz("'<c16'", "(2, 2)", 64), []string{"X0", "complex numbers (<c16)", "np.abs(X)"}},
		{"longdouble.npz", npz("'<f16'", "(2, 2)", 64), []string{"X0", "long double", "astype('float64')"}},
		{"object.npz", npz("'|O'", "(2, 2)", 64), []string{"X0", "Python objects", "dtype=float"}},
		{"dates.npz", npz("'<M8[ns]'", "(2, 2)", 32), []string{"X0"}},
		{"texts.npz", npz("'<U2'", "(2, 2)", 32), []string{"X0", "a matrix of texts", "astype('float64')"}},
		{"cube.npz", npz("'<f4'", "(2, 2, 3)", 48), []string{"X0", "2×2×3", "reshape"}},
		{"huge.npz", npzBytes(t, false, Array{"X0", []int{2, 1}, []int64{0, 1<<53 + 1}}),
			[]string{"X0", "9007199254740993", "2^53", "float64 before saving"}},
		{"hugeunsigned.npz", zipBytes(t, false, map[string][]byte{"X0.npy": npyBytes("'<u8'", false, "(2, 1)", huge(-1))}),
			[]string{"X0", "18446744073709551615", "2^53"}},
		{"negative.npz", zipBytes(t, false, map[string][]byte{"X0.npy": npyBytes("'<i8'", false, "(2, 1)", huge(math.MinInt64))}),
			[]string{"X0", "-9223372036854775808", "2^53"}},
		{"compound.h5", h5(square, hostile.Compound), []string{"X0", "compound", "complex numbers, or records", "abs(X)"}},
		{"longdouble.h5", h5(square, hostile.Float128),
			[]string{"X0", "floats of 16 bytes of another form", "long double", "float64"}},
		{"string.h5", h5(square, hostile.Text), []string{"X0", "string", "save numbers"}},
		{"szip.h5", h5(square, hostile.Float64, hostile.Filters(4)), []string{"X0", "szip", "h5repack"}},
		{"cube.h5", h5(hostile.Dataspace(2, 2, 4), hostile.Float64), []string{"X0", "2×2×4", "reshape"}},
		{"huge.h5", func() []byte {
			h := hostile.NewHDF5()
			h.Link("X0", h.Object(hostile.Dataspace(2, 1), hostile.Int64, hostile.Contiguous(h.Add(huge(-1<<53-1)), 16)))
			return h.Bytes()
		}(), []string{"X0", "-9007199254740993", "2^53"}},
		{"complex.mat", complexMAT5(), []string{"X", "complex numbers", "abs(X)"}},
		{"struct.mat", structMAT5(), []string{"X", "struct", "-struct"}},
		{"huge.mat", int64MAT5(1<<53 + 1), []string{"X", "9007199254740993", "2^53"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := read(c.name, c.data, Options{})
			wantError(t, err, c.words...)
		})
	}
	// Whole numbers that fit are read.
	s := mustRead(t, "a.npz", npzBytes(t, false, Array{"X0", []int{2, 1}, []int64{-1 << 53, 1 << 53}}), Options{Float: 64})
	checkView(t, &s.Views[0], 2, 1, func(i, _ int) float64 { return float64((2*i - 1)) * (1 << 53) })
}
