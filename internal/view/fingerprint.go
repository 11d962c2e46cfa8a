package view

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"

	"github.com/largemvc/largemvc/internal/parallel"
)

// fingerprintRows is the number of rows that are hashed together; it is part of what a fingerprint means.
const fingerprintRows = 1024

// Fingerprint is a SHA-256 of the views' sizes, presence and values, as 64-bit floats, whatever holds them (a sparse view
// differs from the same one held dense, whose training has other roundings). Blocks of rows
// are hashed side by side, and their sums again in order.
func Fingerprint(ctx context.Context, views []View, workers int) (string, error) {
	n := views[0].Rows
	blocks := (n + fingerprintRows - 1) / fingerprintRows
	sums := make([][sha256.Size]byte, blocks*len(views))
	err := parallel.For(ctx, workers, len(sums), func(_, k int) error {
		x, lo := views[k/blocks], k%blocks*fingerprintRows
		h := sha256.New()
		row, raw := make([]float64, x.Cols), make([]byte, 8*x.Cols+1)
		for i := lo; i < min(lo+fingerprintRows, n); i++ {
			if !x.Has(i) {
				h.Write([]byte{0})
				continue
			}
			if x.Sparse != nil {
				h.Write(x.Sparse.appendRow(raw[:0], i))
				continue
			}
			raw[0] = 1
			x.Row(i, row)
			for j, value := range row {
				binary.LittleEndian.PutUint64(raw[1+8*j:], math.Float64bits(value))
			}
			h.Write(raw)
		}
		h.Sum(sums[k][:0])
		return nil
	})
	if err != nil {
		return "", err
	}
	h := sha256.New()
	for _, x := range views {
		h.Write(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, uint64(x.Rows)), uint64(x.Cols)))
	}
	for _, s := range sums {
		h.Write(s[:])
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
