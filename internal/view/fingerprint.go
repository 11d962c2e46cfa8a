package view

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"

	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/ranks"
)

// fingerprintRows is the number of rows that are hashed together; it is part of what a fingerprint means.
const fingerprintRows = 1024

// Fingerprint is a SHA-256 of the views' sizes, presence and values, as 64-bit floats, whatever holds them (a sparse view
// differs from the same one held dense, whose training has other roundings). Blocks of rows
// are hashed side by side, and their sums again in order: those of the rows of all ranks of the group.
func Fingerprint(ctx context.Context, g *ranks.Group, views []View, workers int) (string, error) {
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
		total := uint64(g.Total(x.Rows))
		h.Write(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, total), uint64(x.Cols)))
	}
	for v := range views {
		var own []byte
		for _, s := range sums[v*blocks : (v+1)*blocks] {
			own = append(own, s[:]...)
		}
		all, err := g.Gather("the fingerprint of a view", own)
		if err != nil {
			return "", err
		}
		for _, b := range all {
			h.Write(b)
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
