package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// limits are the ceilings of the rules. Counts may only fall: check fails for a count above its ceiling, and for a count below it
// until the ceiling is lowered. Lines of code have some tolerance below.
type limits struct {
	// Layers are the files of the root, the lowest layer first. A file uses files of its own layer and of lower ones. Without
	// layers only circles are checked.
	Layers []layer

	RootCircle int // files of the root in the largest circle of them; 0: there is none

	RootFiles     int // files of the root, tests aside
	RootTests     int // its test files
	RootNames     int // exported names of the root
	RootFileLines int // of the longest of those files
	ConfigMethods int // of the type Config
	ConfigFiles   int // files with these methods
	TypesSpread   int // types whose methods lie in more than 3 files

	FunctionLines   int            // of the longest function
	Complexity      int            // of the most complex function
	Stages          map[string]int // lines of Fit and of its stages
	Tables          map[string]int // lines of functions that only list something; they are no offenders
	ComplexityAbove int            // functions of a complexity over 15
	ParametersAbove int            // functions of more than 6 parameters
	FieldsAbove     int            // structs of more than 25 fields
	TestFilesAbove  int            // test files of more than 600 lines

	ContextValues map[string]int // calls of context.WithValue, by package
	Comments      int            // exported names of public packages without a comment that begins with the name
	Phrases       map[string]int // occurrences in comments of a phrase that is hard to read

	HandWritten int // lines of Go, generated files, tests and their rigs aside
	Core        int // of these, lines of the library and its command
}

// layer is a group of files of the root.
type layer struct {
	Name  string
	Files []string
}

// What the rules count as too much where a limit is a number of offenders.
const (
	complexityBound = 15
	parameterBound  = 6
	fieldBound      = 25
	typeFileBound   = 3
	testLineBound   = 600
	lineRoom        = 1000 // lines of code below their ceiling that need no new ceiling
)

// limitsPath is the file of the limits within a checkout.
const limitsPath = "tools/house/limits.json"

// readLimits reads the limits of a checkout.
func readLimits(checkout string) (*limits, error) {
	text, err := os.ReadFile(filepath.Join(checkout, filepath.FromSlash(limitsPath)))
	if err != nil {
		return nil, err
	}
	in := json.NewDecoder(bytes.NewReader(text))
	in.DisallowUnknownFields()
	l := &limits{}
	if err := in.Decode(l); err != nil {
		return nil, fmt.Errorf("%s: %w", limitsPath, err)
	}
	return l, nil
}

// writeLimits writes the limits of a checkout.
func writeLimits(checkout string, l *limits) error {
	var b bytes.Buffer
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	if err := out.Encode(l); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(checkout, filepath.FromSlash(limitsPath)), b.Bytes(), 0o666)
}
