// Package program holds what the programs of this module have in common: how they are called, how they end and how they run
// other programs.
package program

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Statuses with which a program ends.
const (
	Failed = 1
	Misuse = 2
)

// Arguments parses the flags and returns what stands behind them: n arguments, or else it prints the usage and ends the
// program.
func Arguments(usage string, n int) []string {
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage:", usage)
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != n {
		flag.Usage()
		os.Exit(Misuse)
	}
	return flag.Args()
}

// End ends the program of that name with a status where there is an error, which it prints.
func End(name string, status int, err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(status)
	}
}

// Run runs a program in a folder and returns what it writes to standard output.
func Run(folder, name string, args ...string) ([]byte, error) {
	c := exec.Command(name, args...)
	c.Dir = folder
	return Output(c)
}

// Output runs a command and returns what it writes to standard output. Its error holds everything that it wrote.
func Output(c *exec.Cmd) ([]byte, error) {
	var out, complaint bytes.Buffer
	c.Stdout, c.Stderr = &out, &complaint
	if err := c.Run(); err != nil {
		where := ""
		if c.Dir != "" {
			where = " in " + c.Dir
		}
		return nil, fmt.Errorf("%s%s: %w\n%s%s", strings.Join(c.Args, " "), where, err, &out, &complaint)
	}
	return out.Bytes(), nil
}
