// The program plant plants one fault after the other, those of faults.txt, runs the tests of the package that it is in and
// prints which faults no test finds. It changes no file: the compiler sees a fault by an overlay.
//
//	cd tools && go run ./plant ..
//	cd tools && go run ./plant -run '^internal/train' ..
//
// The tests that a fault of the list names in brackets run first, and the others of its package if they pass. A fault that no test
// finds, that does not compile, or whose place is gone makes plant fail.
package main

import (
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/largemvc/largemvc/tools/internal/program"
)

//go:embed faults.txt
var list string

// fault is one change of a file that makes it wrong.
type fault struct {
	file, what string
	first      string // regular expression of the tests that run first; empty: all at once
	old, new   string // parts of the file; old occurs once
}

func main() {
	only := flag.String("run", "", "regular expression of the files whose faults are planted")
	tags := flag.String("tags", "", "build tags of the tests")
	folder := program.Arguments("plant [flags] CHECKOUT", 1)[0]
	pattern, err := regexp.Compile(*only)
	program.End("plant", program.Misuse, err)
	faults, err := parse(list)
	program.End("plant", program.Failed, err)
	program.End("plant", program.Failed, plant(os.Stdout, faults, folder, *tags, pattern))
}

// parse reads faults: a line with the file, what is wrong and in brackets the tests that run first, then lines that begin with -
// and lines that begin with +.
func parse(text string) (out []fault, err error) {
	for at, block := range strings.Split(strings.TrimSpace(text), "\n\n") {
		var f fault
		for i, line := range strings.Split(block, "\n") {
			switch {
			case i == 0:
				f.file, f.what, _ = strings.Cut(line, ": ")
				if what, first, ok := strings.Cut(strings.TrimSuffix(f.what, "]"), " ["); ok {
					f.what, f.first = what, first
				}
			case strings.HasPrefix(line, "-"):
				f.old += strings.TrimPrefix(line, "-") + "\n"
			case strings.HasPrefix(line, "+"):
				f.new += strings.TrimPrefix(line, "+") + "\n"
			default:
				return nil, fmt.Errorf("fault %d: %q begins neither with - nor with +", at+1, line)
			}
		}
		f.old, f.new = strings.TrimSuffix(f.old, "\n"), strings.TrimSuffix(f.new, "\n")
		if f.what == "" || f.old == "" {
			return nil, fmt.Errorf("fault %d has no file, no description or no old text", at+1)
		}
		out = append(out, f)
	}
	return out, nil
}

// plant plants the faults of the files that match, one at a time.
func plant(w io.Writer, faults []fault, folder, tags string, only *regexp.Regexp) error {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "plant")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	found, missed := 0, 0
	for _, f := range faults {
		if !only.MatchString(f.file) {
			continue
		}
		began := time.Now()
		says, err := f.try(folder, work, tags)
		if err != nil {
			says = err.Error()
			missed++
		} else {
			found++
		}
		fmt.Fprintf(w, "%4.0f s  %s: %s: %s\n", time.Since(began).Seconds(), f.file, f.what, says)
	}
	fmt.Fprintf(w, "%d of %d faults found\n", found, found+missed)
	if missed > 0 {
		return fmt.Errorf("%d faults are not found", missed)
	}
	return nil
}

// try plants a fault and runs the tests of its package. It returns the test that fails, or an error if all pass or the fault
// cannot be planted.
func (f *fault) try(folder, work, tags string) (string, error) {
	from := filepath.Join(folder, filepath.FromSlash(f.file))
	text, err := os.ReadFile(from)
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(text), f.old); n != 1 {
		return "", fmt.Errorf("%d places", n)
	}
	to, overlay := filepath.Join(work, "planted.go"), filepath.Join(work, "overlay.json")
	if err := os.WriteFile(to, []byte(strings.Replace(string(text), f.old, f.new, 1)), 0o600); err != nil {
		return "", err
	}
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {from: to}})
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(overlay, replace, 0o600); err != nil {
		return "", err
	}
	args := []string{"test", "-vet=off", "-failfast", "-count=1", "-overlay", overlay, "-tags", tags, "./" + path.Dir(f.file)}
	if f.first != "" {
		if name, err := failing(folder, append(args, "-run", f.first)); name != "" || err != nil {
			return name, err
		}
	}
	name, err := failing(folder, args)
	if name == "" && err == nil {
		err = errors.New("NOT FOUND")
	}
	return name, err
}

var failed = regexp.MustCompile(`(?m)^--- FAIL: (\w+)`)

// failing runs go with args and returns the name of the test that fails, "the program ends" for a panic or a timeout outside a test,
// and "" if all pass. Its error says that the tests cannot be built.
func failing(folder string, args []string) (string, error) {
	c := exec.Command("go", args...)
	c.Dir = folder
	out, err := c.CombinedOutput()
	if err == nil {
		return "", nil
	}
	if m := failed.FindSubmatch(out); m != nil {
		return string(m[1]), nil
	}
	if text := string(out); strings.Contains(text, "[build failed]") || !strings.Contains(text, "FAIL") {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return "the program ends", nil
}
