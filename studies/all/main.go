// Command all runs the studies behind the tables and figures of the documents, in one state of the code. It keeps the output of each
// below a line with the commit and the command, and the files that it writes in a folder of its name. After a stop it leaves out the
// studies whose output has the commit.
//
//	go run -C studies ./all -data FOLDER,FOLDER          # -only NAMES runs some
//	go run -C studies ./all -data FOLDER -spot           # half a minute; fails if a digit differs from results/spot
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "all:", err)
		os.Exit(1)
	}
}

type options struct {
	data, out    string
	names        []string
	spot, update bool
}

func parse(args []string) (*options, error) {
	o := &options{}
	only := ""
	f := flag.NewFlagSet("all", flag.ContinueOnError)
	f.StringVar(&o.data, "data", "", "folders of sets with labels, separated by commas")
	f.StringVar(&o.out, "out", "results/all", "folder for the output of each study, from the folder of studies")
	f.StringVar(&only, "only", "", "names of the studies to run, separated by commas; a wrong name lists them; empty: all")
	f.BoolVar(&o.spot, "spot", false, "run small studies, and compare their output with results/spot")
	f.BoolVar(&o.update, "update", false, "with -spot: write the output to results/spot in place of comparing it")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if f.NArg() > 0 || o.data == "" || o.update && !o.spot {
		return nil, errors.New("give -data, no other arguments, and -update with -spot alone")
	}
	if only != "" {
		o.names = strings.Split(only, ",")
	}
	return o, nil
}

// run runs the studies of a command line.
func run(ctx context.Context, args []string, stdout io.Writer) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	todo, folder := studies, o.out
	if o.spot {
		todo, folder = spots, filepath.Join("results", "spot")
	}
	for _, name := range o.names {
		if !slices.ContainsFunc(todo, func(s study) bool { return s.name == name }) {
			return fmt.Errorf("no study %s: there are %s", name, names(todo))
		}
	}
	commit := ""
	if !o.spot {
		if commit, err = state(ctx); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, s := range todo {
		if o.names != nil && !slices.Contains(o.names, s.name) {
			continue
		}
		if err := s.remake(ctx, o, folder, commit, stdout); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// names lists the names of studies.
func names(of []study) string {
	var all []string
	for _, s := range of {
		all = append(all, s.name)
	}
	return strings.Join(all, ", ")
}

// state is the commit of the code. Code that is not committed is an error.
func state(ctx context.Context) (string, error) {
	changed, err := exec.CommandContext(ctx, "git", "status", "--porcelain", "--untracked-files=no", "--", "..", ":!results").Output()
	if err != nil {
		return "", fmt.Errorf("git status: %w", err)
	}
	if len(changed) > 0 {
		return "", fmt.Errorf("files are changed and not committed, so no commit has these figures:\n%s", changed)
	}
	commit, err := exec.CommandContext(ctx, "git", "rev-parse", "--short=12", "HEAD").Output()
	return strings.TrimSpace(string(commit)), err
}

// remake runs a study unless its output has the commit already.
func (s study) remake(ctx context.Context, o *options, folder, commit string, stdout io.Writer) error {
	path := filepath.Join(folder, s.name+".txt")
	head := s.line() + "\n"
	if !o.spot {
		head = "commit " + commit + ": " + head
	}
	kept, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if !o.spot && bytes.HasPrefix(kept, []byte(head)) {
		fmt.Fprintf(stdout, "%s: done\n", s.name)
		return nil
	}
	out := filepath.Join(folder, "work-"+s.name+"-"+commit) // some studies go on from what they have finished there
	if err = os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	text, err := s.run(ctx, o, out)
	if err == nil || o.spot {
		err = errors.Join(err, s.tidy(o, out, folder))
	}
	if err != nil {
		return err
	}
	if o.spot && !o.update {
		_, want, _ := bytes.Cut(kept, []byte("\n"))
		if !bytes.Equal(text, want) {
			return fmt.Errorf("prints\n%s\nand %s has\n%s", text, path, want)
		}
		fmt.Fprintf(stdout, "%s: as committed\n", s.name)
		return nil
	}
	fmt.Fprintf(stdout, "%s: %s\n", s.name, path)
	partial := path + ".part" // a run that is stopped leaves no half of an output
	if err := os.WriteFile(partial, append([]byte(head), text...), 0o644); err != nil {
		return err
	}
	return os.Rename(partial, path)
}

// tidy removes the work of a study, but for the files that are kept.
func (s study) tidy(o *options, out, folder string) error {
	if !o.spot {
		if err := keepFiles(out, filepath.Join(folder, s.name)); err != nil {
			return err
		}
	}
	return os.RemoveAll(out)
}

// keepFiles moves the pages, tables and figures of a study out of the folder of its work.
func keepFiles(from, to string) error {
	for _, pattern := range []string{"*.md", "*.csv", "*.svg"} {
		found, err := filepath.Glob(filepath.Join(from, pattern))
		if err != nil {
			return err
		}
		for _, path := range found {
			if err := errors.Join(os.MkdirAll(to, 0o755), os.Rename(path, filepath.Join(to, filepath.Base(path)))); err != nil {
				return err
			}
		}
	}
	return nil
}

// run returns what a study prints, or its files that are kept.
func (s study) run(ctx context.Context, o *options, out string) ([]byte, error) {
	w, program := s.with(o.data, out), filepath.Join(out, "program")
	// A study goes on with its work if the program is the same: files that are written here must not change it.
	made := []string{"build", "-buildvcs=false", "-o", program, w.what}
	if w.test {
		made = []string{"test", "-buildvcs=false", "-c", "-o", program, w.what}
		for i, flag := range w.flags {
			if name, found := strings.CutPrefix(flag, "-"); found {
				w.flags[i] = "-test." + name // as the program calls the flags of go test
			}
		}
	}
	build := exec.CommandContext(ctx, "go", made...)
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return nil, err
	}
	c := exec.CommandContext(ctx, program, w.flags...) // and not go run, whose end does not end the program
	c.Stderr, c.WaitDelay = os.Stderr, 10*time.Second
	if o.spot {
		w.environment = append(w.environment, "LARGEMVC_KERNEL=avx2") // other kernels have other last bits
	}
	c.Env = append(os.Environ(), w.environment...)
	text, err := c.Output()
	if err != nil || s.keeps == nil {
		return text, err
	}
	text = nil
	for _, name := range s.keeps {
		part, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			return nil, err
		}
		text = fmt.Appendf(text, "%s\n%s", name, part)
	}
	return text, nil
}
