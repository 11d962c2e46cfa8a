// The program samebits shows whether two checkouts of the library compute the same bits, as they must after a change that
// only moves code.
//
//	cd tools && go run ./samebits -data FOLDER OLD NEW
//
// It builds the command of both and fits every data set with every seed and both presets; the label files must agree byte
// by byte, and so must every tensor of the saved models: parameters, anchors, the loss of every epoch. Then it builds a
// program in both that computes loss, H, P and all gradients of the golden models of OLD, in float64 and float32, by the
// fused graph and module by module, and compares their SHA-256. Nothing is written to the checkouts.
//
// It ends with status 1 if anything differs. The folder of data sets holds NAME.npz for every name of -sets.
package main

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/largemvc/largemvc/tools/internal/program"
)

//go:embed testdata/golden.go
var goldenProgram []byte

// options are the flags.
type options struct {
	data, golden      string
	sets, seeds, with []string
}

func main() {
	o := options{}
	flag.StringVar(&o.data, "data", os.Getenv("LARGEMVC_DATA"), "folder of the data sets; by default that of LARGEMVC_DATA")
	flag.StringVar(&o.golden, "golden", os.Getenv("LARGEMVC_GOLDEN"),
		"folder of the golden models; by default that of LARGEMVC_GOLDEN, or else testdata/golden of OLD")
	sets := flag.String("sets", "msrcv1,webkb,reuters600,20newsgroups,ucidigit",
		"names of the data sets; none: the golden models alone")
	seeds := flag.String("seeds", "0,1,2", "seeds")
	with := flag.String("with", "", "more flags of the command, for every fit, as in \"-sparse never -set Float64=true\"")
	states := program.Arguments("samebits [flags] OLD NEW", 2)
	if o.data == "" && *sets != "none" {
		program.End("samebits", program.Misuse, errors.New("no folder of data sets; give -data, or -sets none"))
	}
	o.golden = cmp.Or(o.golden, filepath.Join(states[0], "testdata", "golden"))
	o.seeds, o.with = strings.Split(*seeds, ","), strings.Fields(*with)
	if *sets != "" && *sets != "none" {
		o.sets = strings.Split(*sets, ",")
	}
	same, err := compare(os.Stdout, &o, states[0], states[1])
	program.End("samebits", program.Misuse, err) // status 1 says that something differs
	if !same {
		os.Exit(program.Failed)
	}
}

// compare reports whether the two checkouts compute the same bits.
func compare(w io.Writer, o *options, before, after string) (bool, error) {
	work, err := os.MkdirTemp("", "samebits")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(work)
	var states [2]*state
	if o.data, err = filepath.Abs(o.data); err != nil {
		return false, err
	}
	for i, checkout := range []string{before, after} {
		if states[i], err = build(checkout, filepath.Join(work, fmt.Sprint(i))); err != nil {
			return false, err
		}
	}
	same := true
	for _, set := range o.sets {
		for _, preset := range []string{"default", "paper"} {
			for _, seed := range o.seeds {
				equal, err := compareFits(w, o, states, set, preset, seed)
				if err != nil {
					return false, err
				}
				same = same && equal
			}
		}
	}
	equal, err := compareGolden(w, states, o.golden)
	if err != nil {
		return false, err
	}
	same = same && equal
	if same {
		fmt.Fprintln(w, "all the same bits")
	}
	return same, nil
}

// compareFits fits a set with a preset and a seed in both states, and reports whether labels and models are equal.
func compareFits(w io.Writer, o *options, states [2]*state, set, preset, seed string) (bool, error) {
	var results [2]*result
	for i, s := range states {
		flags := append([]string{"-preset", preset, "-seed", seed}, o.with...)
		var err error
		if results[i], err = s.fit(filepath.Join(o.data, set+".npz"), flags); err != nil {
			return false, err
		}
	}
	differ := results[0].differences(results[1])
	verdict := fmt.Sprintf("same %s, loss %s", results[0].size(), results[0].lastLoss())
	if len(differ) > 0 {
		verdict = "DIFFER: " + strings.Join(differ, "; ")
	}
	_, err := fmt.Fprintf(w, "%s preset %s seed %s: %s\n", set, preset, seed, verdict)
	return len(differ) == 0, err
}

// compareGolden reports whether the golden models have the same loss, H, P and gradients in both states.
func compareGolden(w io.Writer, states [2]*state, golden string) (bool, error) {
	var sums [2][]string
	for i, s := range states {
		var err error
		if sums[i], err = s.goldenSums(golden); err != nil {
			return false, err
		}
	}
	differ := 0
	for i := range max(len(sums[0]), len(sums[1])) {
		lines := [2]string{"nothing", "nothing"}
		for k := range lines {
			if i < len(sums[k]) {
				lines[k] = sums[k][i]
			}
		}
		if lines[0] != lines[1] {
			differ++
			fmt.Fprintf(w, "DIFFER: %s and %s\n", lines[0], lines[1])
		}
	}
	_, err := fmt.Fprintf(w, "golden models: %d of %d networks have the same loss, H, P and gradients\n",
		len(sums[0])-min(differ, len(sums[0])), len(sums[0]))
	return differ == 0, err
}

// state is one checkout, and the programs built from it.
type state struct {
	folder, command, golden string
}

// build builds the command and the golden program of a checkout in a new folder. The golden program is laid over the
// checkout, as a package that does not exist there.
func build(checkout, folder string) (*state, error) {
	if err := os.Mkdir(folder, 0o755); err != nil {
		return nil, err
	}
	absolute, err := filepath.Abs(checkout)
	if err != nil {
		return nil, err
	}
	source, overlay := filepath.Join(folder, "golden.go"), filepath.Join(folder, "overlay.json")
	text, err := json.Marshal(map[string]map[string]string{
		"Replace": {filepath.Join(absolute, "cmd", "samebitsgolden", "main.go"): source},
	})
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(source, goldenProgram, 0o644); err != nil {
		return nil, err
	}
	if err := os.WriteFile(overlay, text, 0o644); err != nil {
		return nil, err
	}
	s := &state{folder: folder, command: filepath.Join(folder, "largemvc"), golden: filepath.Join(folder, "golden")}
	if _, err := program.Run(absolute, "go", "build", "-o", s.command, "./cmd/largemvc"); err != nil {
		return nil, err
	}
	_, err = program.Run(absolute, "go", "build", "-overlay", overlay, "-o", s.golden, "./cmd/samebitsgolden")
	return s, err
}

// fit fits a data set and reads what came out.
func (s *state) fit(data string, flags []string) (*result, error) {
	labels, model := filepath.Join(s.folder, "labels.csv"), filepath.Join(s.folder, "model")
	for _, old := range []string{labels, model} {
		if err := os.RemoveAll(old); err != nil {
			return nil, err
		}
	}
	args := append([]string{"fit", "-data", data, "-quiet", "-out", labels, "-save", model}, flags...)
	if _, err := program.Run(s.folder, s.command, args...); err != nil {
		return nil, err
	}
	return readResult(labels, model)
}

// goldenSums returns a line with a hash for every network.
func (s *state) goldenSums(golden string) ([]string, error) {
	absolute, err := filepath.Abs(golden)
	if err != nil {
		return nil, err
	}
	out, err := program.Run(s.folder, s.golden, absolute)
	return strings.Split(strings.TrimSpace(string(out)), "\n"), err
}
