package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"

	"github.com/largemvc/largemvc/dataset"
)

// writeNpy writes an n×d matrix of float32 whose rows fill sets, one after another; by columns if turned is set.
func writeNpy(path string, n, d int, turned bool, fill func(i int, row []float32)) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	order := "False"
	if turned {
		order = "True"
	}
	head := fmt.Sprintf("{'descr': '<f4', 'fortran_order': %s, 'shape': (%d, %d), }", order, n, d)
	for (10+len(head)+1)%64 != 0 {
		head += " "
	}
	head += "\n"
	w := bufio.NewWriterSize(f, 1<<20)
	defer func() { err = errors.Join(err, w.Flush()) }()
	_, err = w.Write(append([]byte{0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, byte(len(head)), byte(len(head) >> 8)}, head...))
	row, bytes := make([]float32, d), make([]byte, 4*d)
	var all []float32
	for i := 0; i < n && err == nil; i++ {
		fill(i, row)
		if turned {
			all = append(all, row...)
			continue
		}
		for j, x := range row {
			binary.LittleEndian.PutUint32(bytes[4*j:], math.Float32bits(x))
		}
		_, err = w.Write(bytes)
	}
	for j := 0; turned && j < d && err == nil; j++ {
		for i := range n {
			binary.LittleEndian.PutUint32(bytes[:4], math.Float32bits(all[i*d+j]))
			if _, err = w.Write(bytes[:4]); err != nil {
				return err
			}
		}
	}
	return err
}

// blobs writes n rows around k normal centres, in views of the given numbers of features. It returns the files, their
// bytes and the centre of each row.
func blobs(folder string, n, k int, dims ...int) (files []string, bytes int64, truth []int, err error) {
	truth = make([]int, n)
	for v, d := range dims {
		rng, class := rand.New(rand.NewPCG(1, uint64(v))), rand.New(rand.NewPCG(2, 2))
		centres := make([]float32, k*d)
		for i := range centres {
			centres[i] = float32(rng.NormFloat64())
		}
		path := filepath.Join(folder, "x"+strconv.Itoa(v)+".npy")
		err := writeNpy(path, n, d, false, func(i int, row []float32) {
			c := class.IntN(k)
			truth[i] = c
			for j := range row {
				row[j] = centres[c*d+j] + 1.5*(rng.Float32()-0.5)
			}
		})
		if err != nil {
			return nil, 0, nil, err
		}
		files, bytes = append(files, path), bytes+int64(n)*int64(d)*4
	}
	return files, bytes, truth, nil
}

// shuffled is a data set in random order.
type shuffled struct {
	set    *dataset.Set
	turned bool // files by columns, which cannot be read in place
	times  int  // how often the rows are written, with noise from the second time on; 0: once
}

func (c *shuffled) samples() int { return max(1, c.times) * c.set.Samples() }

// write writes the views as files of a folder and returns these files and the file of the labels.
func (c *shuffled) write(ctx context.Context, folder, path string) (files []string, labels string, err error) {
	if c.set, err = dataset.Open(ctx, []string{path}, dataset.Options{Storage: dataset.AllDense}); err != nil {
		return nil, "", err
	}
	if c.set.Labels == nil {
		return nil, "", errors.New("the data set has no labels")
	}
	order := rand.New(rand.NewPCG(1, 1)).Perm(c.set.Samples())
	noise := rand.New(rand.NewPCG(1, 5))
	for v, x := range c.set.Views {
		path := filepath.Join(folder, "x"+strconv.Itoa(v)+".npy")
		err := writeNpy(path, c.samples(), x.Cols, c.turned, func(i int, row []float32) {
			copy(row, x.Float32[order[i%len(order)]*x.Cols:])
			for j := 0; i >= len(order) && j < len(row); j++ {
				row[j] += 0.1 * noise.Float32()
			}
		})
		if err != nil {
			return nil, "", err
		}
		files = append(files, path)
	}
	truth := make([]int, c.samples())
	for i := range truth {
		truth[i] = c.set.Labels[order[i%len(order)]]
	}
	labels, err = writeTruth(folder, truth)
	return files, labels, err
}

// writeTruth writes the classes of the samples to a file and returns its path.
func writeTruth(folder string, truth []int) (path string, err error) {
	text, err := json.Marshal(truth)
	path = filepath.Join(folder, "labels.json")
	return path, errors.Join(err, os.WriteFile(path, text, 0o666))
}
