// Command largemvc clusters multi-view data with LargeMvC-Net.
//
//	largemvc fit -data FILE [-clusters C] [-out labels.csv] [-save MODEL] [-json] …
//	largemvc choose -data FILE [-from 2] [-to 20] …
//	largemvc predict -model MODEL -data FILE [-out labels.csv] [-json] …
//	largemvc report -model MODEL -data FILE [-out report.html] …
//	largemvc compare A.csv B.csv
//	largemvc inspect FILE…
//	largemvc serve
//	largemvc device [-selftest]
//	largemvc version
//	largemvc completion bash|zsh|fish
//	largemvc help [COMMAND]
//
// 'largemvc fit -h' explains the main flags of fit, 'largemvc fit -h all' every flag. The exit status is 0 after success, 1 if
// a file or its data is broken or the training did not finish, 2 if the command was used wrongly, and 141 if the reader of its
// standard output is gone. Progress and errors go to standard error, the result alone to standard output.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/internal/lists"
	"github.com/largemvc/largemvc/internal/suspect"
	"github.com/largemvc/largemvc/internal/textfile"
)

// The exit statuses.
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
	exitPipe  = 141 // what shells say of a program that the signal of a broken pipe has ended
)

func main() {
	ctx, stop := interruptible()
	defer stop()
	outliveReaders()
	boundMemory()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// command is a subcommand. Its error decides the exit status; stdout is not touched where a command fails before it has a
// result.
type command struct {
	name, summary string
	run           func(ctx context.Context, args []string, stdout, stderr io.Writer) error
}

func commands() []command {
	return []command{
		{"fit", "cluster the samples of a data set", runFit},
		{"choose", "try numbers of clusters and suggest one", runChoose},
		{"predict", "label new samples with a saved model", runPredict},
		{"report", "label samples with a saved model and write an HTML report", runReport},
		{"compare", "score two files of labels against each other", runCompare},
		{"inspect", "show the contents of a file and how it is read, or describe a model", runInspect},
		{"serve", "run commands for another program, which sends them line by line", runServe},
		{"device", "list the GPUs that a fit can use, and test one", runDevice},
		{"version", "print the version, the kernels and the build", runVersion},
		{"completion", "print a script for completion in a shell", runCompletion},
	}
}

// run runs the command line without the program's name and returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	err := dispatch(ctx, args, stdout, stderr)
	status := exitStatus(err, stderr)
	if options := cureOf(err); options != nil {
		if line := curedLine(args, options); line != "" {
			fmt.Fprintln(stderr, textfile.Printable(line))
		}
	}
	return status
}

// cureOf returns the options with which the files of an error can be read; nil if it has none.
func cureOf(err error) [][2]string {
	var refused interface{ Cure() [][2]string }
	switch {
	case errors.As(err, &refused):
		return refused.Cure()
	case errors.Is(err, suspect.ErrNaN): // of rows that no reader has checked: parts, and rows on disk
		return [][2]string{{"Options.Impute", "mean"}}
	}
	return nil
}

// exitStatus prints the error of a command, with the stack of a panic, and returns the exit status.
func exitStatus(err error, stderr io.Writer) int {
	if err == nil {
		return exitOK
	}
	if unread(err) {
		return exitPipe
	}
	if text := oneLine(err); text != "" {
		fmt.Fprintln(stderr, "largemvc: "+text)
	}
	var panicked *largemvc.PanicError
	if errors.As(err, &panicked) {
		fmt.Fprintf(stderr, "%s\n", panicked.Stack)
	}
	var usage *usageError
	if errors.As(err, &usage) {
		return exitUsage
	}
	return exitError
}

// curing says what a command line with an option reads.
var curing = map[string]string{
	"Options.LeaveOut": "without these columns", "Options.Impute": "with means in place of NaN",
	"Options.MissingRows": "with rows of NaN as absent views", "Options.Header": "with the first lines as names",
}

// notCured says whether a command line must not be shown with an option: an address may hold a secret, and new samples and a
// resumed training have the fill values of the training.
func notCured(args []string, option string) bool {
	return slices.ContainsFunc(args, func(a string) bool {
		return hasSecret(a) ||
			option == "Options.Impute" && strings.HasPrefix(strings.TrimLeft(a, "-"), "resume")
	}) || option == "Options.Impute" && slices.Contains([]string{"predict", "report"}, args[0])
}

// curedLine is the command line with options with which the files can be read, and what it reads; empty without.
func curedLine(args []string, options [][2]string) string {
	var what, line, more []string
	flags := map[string]*string{}
	for i := range options {
		name := options[i][0]
		if notCured(args, name) {
			return ""
		}
		what, flags[strings.TrimPrefix(flagOf(name), "-")] = append(what, curing[name]), &options[i][1]
	}
	for i := 0; i < len(args); i++ {
		name, value, given := strings.Cut(strings.TrimLeft(args[i], "-"), "=")
		to := flags[name]
		if to == nil || args[i][0] != '-' {
			line = append(line, shellWord(args[i]))
			continue
		}
		if !given && *to != "" {
			i++
			value = args[i]
		}
		if name == "leave-out" {
			*to = value + "," + *to
		}
	}
	for _, o := range options {
		if more = append(more, flagOf(o[0])); o[1] != "" {
			more = append(more, shellWord(o[1]))
		}
	}
	if more == nil {
		return ""
	}
	return strings.Join(what, ", ") + ": " + strings.Join(slices.Concat([]string{"largemvc"}, line, more), " ")
}

// plainWord matches a word that no shell changes.
var plainWord = regexp.MustCompile(`^[\w./:=,@%+-]+$`)

// shellWord is a word as a shell needs it.
func shellWord(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

func dispatch(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) == 0 {
		return usagef("no command given ('largemvc -h' lists the commands)")
	}
	switch args[0] {
	case "-h", "-help", "--help", "help":
		if len(args) < 2 {
			return overview(stdout)
		}
		args = append([]string{args[1], "-h"}, args[2:]...)
	case "-version", "--version":
		args = append([]string{"version"}, args[1:]...)
	}
	for _, c := range commands() {
		if c.name == args[0] {
			return c.run(ctx, args[1:], stdout, stderr)
		}
	}
	names := lists.Texts(commands(), func(c command) string { return c.name })
	if meant := nearest(args[0], names); meant != "" {
		return usagef("there is no command %q: did you mean %s?", args[0], meant)
	}
	return usagef("unknown command %q ('largemvc -h' lists the commands)", args[0])
}

// overview lists the commands.
func overview(w io.Writer) error {
	var b strings.Builder
	b.WriteString("largemvc clusters samples that several views (matrices) describe, with LargeMvC-Net.\n\nCommands:\n")
	for _, c := range commands() {
		fmt.Fprintf(&b, "  largemvc %-10s  %s\n", c.name, c.summary)
	}
	b.WriteString("  largemvc help        explain a command ('largemvc help fit'), with all flags ('largemvc " +
		"help fit all')\n")
	b.WriteString("\nExit status: 0 success; 1 an error in a file, its data or the training; 2 wrong usage.\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// usageError is a wrong use of the command.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func usagef(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }
