// Package sets opens the data sets of the studies.
package sets

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/internal/textfile"
)

// Set is a data set with its classes, in the forms for the network and for other methods.
type Set struct {
	Name       string
	N, Classes int
	Labels     []int
	Views      []largemvc.View
	Values     []Matrix // of the views
}

// New makes a set of views with the classes of their samples.
func New(name string, views []Matrix, labels []int, classes int) *Set {
	d := &Set{Name: name, N: len(labels), Labels: labels, Classes: classes, Values: views}
	for _, m := range views {
		d.Views = append(d.Views, m.View())
	}
	return d
}

// Matrices returns the views for methods that take matrices.
func (d *Set) Matrices() []mat.Matrix {
	out := make([]mat.Matrix, len(d.Values))
	for v, m := range d.Values {
		out[v] = m
	}
	return out
}

// Masked returns the views without the rows that a mask takes away: present[i][v] is false if sample i lacks view v.
func (d *Set) Masked(present [][]bool) []largemvc.View {
	out := make([]largemvc.View, len(d.Views))
	for v := range out {
		has := make([]bool, d.N)
		for i := range has {
			has[i] = present[i][v]
		}
		out[v] = d.Views[v].WithPresent(has)
	}
	return out
}

// WriteNPZ writes the views X0, X1, … and the classes y.
func (d *Set) WriteNPZ(path string) error {
	arrays := []dataset.Array{{Name: "y", Data: d.Labels}}
	for v, m := range d.Values {
		arrays = append(arrays, dataset.Array{Name: fmt.Sprintf("X%d", v), Shape: []int{m.N, m.D}, Data: m.X})
	}
	return dataset.WriteNPZ(path, true, arrays...)
}

// Pick returns the set of some of the samples.
func (d *Set) Pick(rows []int) *Set {
	views, labels := make([]Matrix, len(d.Values)), make([]int, len(rows))
	for v, m := range d.Values {
		views[v] = m.Pick(rows)
	}
	for k, i := range rows {
		labels[k] = d.Labels[i]
	}
	return New(d.Name, views, labels, d.Classes)
}

// fewestOfClass is the number of samples that Uneven keeps of a class at least, if it has as many.
const fewestOfClass = 5

// Uneven returns a part of the set whose classes have different sizes: in a random order of the classes, the share of the
// samples that are kept falls evenly, by the same factor from class to class, from 1 to least.
func (d *Set) Uneven(least float64) *Set {
	rng := rand.New(rand.NewPCG(1, 2))
	of := make([][]int, d.Classes)
	for _, i := range rng.Perm(d.N) {
		of[d.Labels[i]] = append(of[d.Labels[i]], i)
	}
	var rows []int
	for place, class := range rng.Perm(d.Classes) {
		share := math.Pow(least, float64(place)/float64(max(d.Classes-1, 1)))
		n := max(int(math.Round(share*float64(len(of[class])))), min(fewestOfClass, len(of[class])))
		rows = append(rows, of[class][:n]...)
	}
	slices.Sort(rows)
	part := d.Pick(rows)
	part.Name = fmt.Sprintf("%s, uneven to %g", d.Name, least)
	return part
}

// Shape describes the set in captions.
func (d *Set) Shape() string {
	widths := make([]string, len(d.Values))
	for v, m := range d.Values {
		widths[v] = fmt.Sprint(m.D)
	}
	return fmt.Sprintf("%s, views of %s, %s", textfile.Count(d.N, "sample"), strings.Join(widths, "/"), textfile.Count(d.Classes, "class"))
}

// About is the part of a work's key that identifies the set: its name and shape.
func (d *Set) About() string { return fmt.Sprintf("%s %d %d", d.Name, d.N, len(d.Views)) }

// Names lists the names of sets.
func Names(sets []*Set) string {
	out := make([]string, len(sets))
	for i, d := range sets {
		out[i] = d.Name
	}
	return strings.Join(out, ", ")
}

// Choice selects the files to open.
type Choice struct {
	Path   string    // files and folders of them, separated by commas
	Digits int       // how many MNIST digits are the set if Path is empty; 0: that is an error
	Only   string    // names of sets, separated by commas; empty: all
	Limit  int       // largest number of samples of a set; 0: no limit
	Warn   io.Writer // receives the names of the sets of a folder that are left out
}

// openAt opens the sets of a file or folder that hold complete multi-view data with labels, in the order of their names.
func (c Choice) openAt(ctx context.Context, at string) ([]*Set, error) {
	info, err := os.Stat(at)
	if err != nil {
		return nil, err
	}
	paths := []string{at}
	if info.IsDir() {
		if paths, err = filesIn(at); err != nil {
			return nil, err
		}
	}
	var out []*Set
	for _, path := range paths {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
		d, err := open(path, name)
		if err != nil {
			if !info.IsDir() {
				return nil, err
			}
			fmt.Fprintf(c.Warn, "left out %s: %v\n", name, err)
			continue
		}
		if c.Limit > 0 && d.N > c.Limit {
			fmt.Fprintf(c.Warn, "left out %s: %d samples\n", name, d.N)
			continue
		}
		out = append(out, d)
	}
	return out, nil
}

// Find returns the file NAME.npz of one of the folders, which are separated by commas. If none has it, this is its place in the first.
func Find(folders, name string) string {
	all := strings.Split(folders, ",")
	for _, folder := range all {
		path := filepath.Join(folder, name+".npz")
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return filepath.Join(all[0], name+".npz")
}

// filesIn returns the files of data in a folder, in the order of their names.
func filesIn(folder string) ([]string, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.*"))
	slices.Sort(paths)
	return slices.DeleteFunc(paths, func(path string) bool {
		ext := filepath.Ext(path)
		return ext != ".npz" && ext != ".mat" && ext != ".h5"
	}), err
}

func open(path, name string) (*Set, error) {
	data, err := dataset.Open(context.Background(), []string{path}, dataset.Options{Float: 32, Storage: dataset.AllDense})
	if err != nil {
		return nil, err
	}
	switch {
	case data.Labels == nil:
		return nil, fmt.Errorf("no labels")
	case data.Present != nil:
		return nil, fmt.Errorf("the data are incomplete")
	}
	views := make([]Matrix, len(data.Views))
	for v, x := range data.Views {
		views[v] = Matrix{x.Rows, x.Cols, x.Float32}
	}
	return New(name, views, data.Labels, len(data.LabelNames)), nil
}
