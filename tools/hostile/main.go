// Command hostile runs 'largemvc inspect' on files that are made to cost much, each in a process of its own with little
// address space and a time limit, and prints what became of each. It fails where the command panics, takes more memory than
// it may or takes longer than the bytes of the file explain.
//
//	go run ./hostile [-command FILE] [-keep FOLDER] [-run PATTERN] [FILE…]
//
// It runs on Linux: the limits are those of sh's ulimit.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/largemvc/largemvc/internal/hostile"
	"github.com/largemvc/largemvc/tools/internal/program"
)

// bounds are what a run may take.
type bounds struct {
	command   string
	args      []string
	maxMemory int           // MiB that the command is told to take at most
	rss       int64         // bytes that it may take in fact
	space     int           // MiB of address space
	limit     time.Duration // the process is ended after that
	seconds   float64       // more than that is an error, unless the bytes read explain it
}

// bytesPerSecond is the speed at which a plain file is read at least; a file may take its share of time beyond bounds.seconds.
const bytesPerSecond = 20e6

// run is what became of one file.
type run struct {
	name    string
	bytes   int64
	status  string
	message string
	rss     int64
	wall    float64 // seconds
	seconds float64 // of the processor, which a busy machine does not lengthen
	fault   string
}

func main() {
	b := bounds{}
	pattern := flag.String("run", "", "`PATTERN` of the names of the files to make")
	keep := flag.String("keep", "", "`FOLDER` to keep the files in; by default they are removed")
	flag.StringVar(&b.command, "command", "", "the `FILE` of the command; by default it is built")
	flag.IntVar(&b.maxMemory, "max-memory", 16, "`MIB` that the command is told to take at most; 0: no flag")
	flag.IntVar(&b.space, "space", 4096, "`MIB` of address space")
	rss := flag.Int64("rss", 200, "`MIB` of memory that a run may take")
	flag.DurationVar(&b.limit, "limit", 2*time.Minute, "end a process after this time")
	flag.Float64Var(&b.seconds, "seconds", 5, "processor time that a run may take beside its share for the bytes of the file")
	write := flag.String("write", "", "write the file of this `NAME` to the first argument, and nothing else")
	flag.Parse()
	if *write != "" {
		program.End("hostile", program.Failed, makeFile(*write, flag.Arg(0)))
		return
	}
	b.rss = *rss << 20
	b.args = flag.Args()
	program.End("hostile", program.Failed, try(b, *pattern, *keep))
}

// build builds the command in its own module.
func build(path string) error {
	root, err := program.Run("", "go", "list", "-m", "-f", "{{.Dir}}", "github.com/largemvc/largemvc")
	if err != nil {
		return err
	}
	_, err = program.Run(strings.TrimSpace(string(root)), "go", "build", "-o", path, "./cmd/largemvc")
	return err
}

// makeFile writes one of the files.
func makeFile(name, path string) error {
	for _, f := range hostile.Files() {
		if f.Name == name {
			return os.WriteFile(path, f.Make(), 0o600)
		}
	}
	return fmt.Errorf("there is no file %s", name)
}

// try makes the files, runs the command on each and prints the table.
func try(b bounds, pattern, keep string) error {
	wanted, err := regexp.Compile(pattern)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "hostile")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	if b.command == "" {
		b.command = filepath.Join(folder, "largemvc")
		if err := build(b.command); err != nil {
			return err
		}
	}
	if keep == "" {
		keep = folder
	}
	paths := b.args
	fmt.Printf("%s/%s, -max-memory %d\n\n", runtime.GOOS, runtime.GOARCH, b.maxMemory)
	fmt.Print("| file | bytes | exit | message | peak MiB | s | CPU s |\n|---|--:|---|---|--:|--:|--:|\n")
	// A process begins with the peak memory of the one that started it, so that the files are made by another one.
	self, err := os.Executable()
	if err != nil {
		return err
	}
	faults := 0
	one := func(path string) error {
		r, err := b.inspect(path)
		if err != nil {
			return err
		}
		mark := ""
		if r.fault != "" {
			faults++
			mark = " **" + r.fault + "**"
		}
		fmt.Printf("| %s | %d | %s%s | %s | %d | %.1f | %.1f |\n",
			r.name, r.bytes, r.status, mark, r.message, r.rss>>20, r.wall, r.seconds)
		return nil
	}
	for _, f := range hostile.Files() {
		if !wanted.MatchString(f.Name) {
			continue
		}
		path := filepath.Join(keep, f.Name)
		if _, err := os.Stat(path); err != nil {
			if _, err := program.Run("", self, "-write", f.Name, path); err != nil {
				return err
			}
		}
		if err := one(path); err != nil {
			return err
		}
		if keep == folder {
			if err := os.Remove(path); err != nil {
				return err
			}
		}
	}
	for _, path := range paths {
		if err := one(path); err != nil {
			return err
		}
	}
	if faults > 0 {
		return fmt.Errorf("%d files are faults", faults)
	}
	return nil
}

// inspect runs the command on one file.
func (b *bounds) inspect(path string) (*run, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithTimeout(context.Background(), b.limit)
	defer stop()
	args := []string{"-c", fmt.Sprintf(`ulimit -v %d; exec "$@"`, b.space<<10), "sh", b.command, "inspect"}
	if b.maxMemory > 0 {
		args = append(args, "-max-memory", strconv.Itoa(b.maxMemory))
	}
	cmd := exec.CommandContext(ctx, "sh", append(args, path)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	began := time.Now()
	err = cmd.Run()
	r := &run{name: filepath.Base(path), bytes: info.Size(), wall: time.Since(began).Seconds()}
	if cmd.ProcessState == nil {
		return nil, err
	}
	r.seconds = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	r.rss = cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
	r.status = strings.TrimPrefix(cmd.ProcessState.String(), "exit status ")
	r.message = firstLine(stderr.String(), path)
	switch {
	case ctx.Err() != nil:
		r.fault = "too slow"
	case strings.Contains(stderr.String(), "goroutine ") || cmd.ProcessState.ExitCode() > 2 || cmd.ProcessState.ExitCode() < 0:
		r.fault = "crash"
	case r.rss > b.rss:
		r.fault = "memory"
	case r.seconds > b.seconds+float64(r.bytes)/bytesPerSecond:
		r.fault = "time"
	}
	return r, nil
}

// firstLine is the beginning of a message, without what is of no interest in a table.
func firstLine(text, path string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	line = strings.ReplaceAll(line, filepath.Dir(path)+string(filepath.Separator), "")
	line = strings.ReplaceAll(line, "|", "¦")
	if r := []rune(line); len(r) > 160 {
		line = string(r[:160]) + "…"
	}
	return line
}
