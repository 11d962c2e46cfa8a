package main

import (
	"cmp"
	"encoding"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/largemvc/largemvc"
)

// flags is a flag.FlagSet that remembers the order and the groups in which its flags were made, for the help.
type flags struct {
	*flag.FlagSet
	list []any // *flag.Flag, or string: the heading of a group

	example   string   // of the command
	important []string // the flags of the short help with values; nil: there is no short help
	all       bool     // the long help was asked for

	file   string            // of -config
	fields []assignment      // of -set
	stored []assignment      // of the file of -config
	filed  map[string]bool   // flags that the file of -config has
	data   *[]string         // files of data, which arguments that are not flags name too; nil: there are none
	short  map[string]string // short names of flags, and the flags
}

func newFlags(name string) *flags {
	f := &flags{FlagSet: flag.NewFlagSet(name, flag.ContinueOnError)}
	f.SetOutput(io.Discard) // errors are reported by run, help is printed by help
	return f
}

// alias gives a flag a short name too.
func (f *flags) alias(name, of string) {
	fl := f.Lookup(of)
	f.Var(fl.Value, name, fl.Usage)
	f.short = map[string]string{name: of}
}

// given returns the flags that the command line has, by their long names.
func (f *flags) given() map[string]bool {
	out := map[string]bool{}
	f.Visit(func(fl *flag.Flag) { out[cmp.Or(f.short[fl.Name], fl.Name)] = true })
	for _, a := range append(f.stored, f.fields...) {
		out[strings.TrimPrefix(cmp.Or(flagOf("Config."+a.name), "set "+a.name), "-")] = true
	}
	return out
}

func (f *flags) group(title string) { f.list = append(f.list, title) }

func (f *flags) added(name string) { f.list = append(f.list, f.Lookup(name)) }

func (f *flags) int(p *int, name string, value int, usage string) {
	f.IntVar(p, name, value, usage)
	f.added(name)
}

func (f *flags) string(p *string, name, usage string) {
	f.value(words{p}, name, usage)
}

// output makes a flag for a file to write.
func (f *flags) output(p *string, name, usage string) { f.value(outputPath{words{p}}, name, usage) }

func (f *flags) bool(p *bool, name, usage string) {
	f.BoolVar(p, name, false, usage)
	f.added(name)
}

func (f *flags) value(v flag.Value, name, usage string) {
	f.Var(v, name, usage)
	f.added(name)
}

// each makes a flag that calls set with each of its values.
func (f *flags) each(name, usage string, set func(value string) error) {
	f.Func(name, usage, set)
	f.added(name)
}

func (f *flags) text(p option, name, usage string) {
	f.TextVar(p, name, p, usage)
	f.added(name)
}

// parse reads the command line. It returns flag.ErrHelp where help was asked for; any other error is one of usage. Arguments
// that are not flags may stand between the flags. They are files of a command's data, and returned by a command without data.
func (f *flags) parse(args []string) (rest []string, err error) {
	for {
		if err := f.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				f.all = wantsAll(args)
				return nil, err
			}
			return nil, f.parseError(err)
		}
		if f.NArg() == 0 {
			if err := f.readFile(rest); err != nil {
				return nil, err
			}
			if f.data == nil {
				return rest, nil
			}
			*f.data, err = f.expanded(append(*f.data, rest...))
			return nil, err
		}
		if f.Arg(0) == "" {
			return nil, usagef("%s: argument %d that is not a flag %v", f.Name(), len(rest)+1, errEmpty)
		}
		rest, args = append(rest, f.Arg(0)), f.Args()[1:]
	}
}

// expanded replaces patterns by the files that match, in the order of their names, for shells that leave that to a program.
func (f *flags) expanded(paths []string) ([]string, error) {
	var out []string
	for _, path := range paths {
		if _, err := os.Lstat(path); err == nil || isAddress(path) || !strings.ContainsAny(path, "*?[") {
			out = append(out, path)
			continue
		}
		found, err := filepath.Glob(path)
		if err != nil || len(found) == 0 {
			return nil, usagef("%s: no file matches %q", f.Name(), path)
		}
		out = append(out, found...)
	}
	return out, nil
}

// noArguments refuses arguments that are not flags.
func (f *flags) noArguments(rest []string) error {
	if len(rest) > 0 {
		return usagef("%s: unexpected argument %q (a flag comes with a dash: -data FILE)", f.Name(), rest[0])
	}
	return nil
}

// help prints every flag with its default.
func (f *flags) help(w io.Writer, about string) error {
	var b strings.Builder
	b.WriteString(about)
	for _, x := range f.list {
		fl, ok := x.(*flag.Flag)
		if !ok {
			fmt.Fprintf(&b, "\n%s\n", x)
			continue
		}
		arg, text := flag.UnquoteUsage(fl)
		fmt.Fprintf(&b, "  -%s", fl.Name)
		if arg != "" {
			b.WriteString(" " + arg)
		}
		fmt.Fprintf(&b, "\n        %s", strings.ReplaceAll(text, "\n", "\n        "))
		if fl.DefValue != "" {
			fmt.Fprintf(&b, " (default %s)", defaultText(fl))
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// defaultText returns the default of a flag for its help. The value default is in quotes.
func defaultText(f *flag.Flag) string {
	if f.DefValue == "default" {
		return `"default"`
	}
	return f.DefValue
}

// choice is a flag.Value with one of a few named values.
type choice[T fmt.Stringer] struct {
	p      *T
	values []T
}

// oneOf makes p, whose present value is the default, a flag value.
func oneOf[T fmt.Stringer](p *T, values ...T) choice[T] { return choice[T]{p, values} }

func (c choice[T]) String() string {
	if c.p == nil {
		return ""
	}
	return (*c.p).String()
}

func (c choice[T]) Set(s string) error {
	var names []string
	for _, v := range c.values {
		if v.String() == s {
			*c.p = v
			return nil
		}
		names = append(names, v.String())
	}
	return fmt.Errorf("must be %s", strings.Join(names, ", "))
}

// word is a choice among words.
type word string

func (w word) String() string { return string(w) }

// among makes p, which becomes the first of some words, a flag value.
func among(p *word, words ...word) choice[word] {
	*p = words[0]
	return oneOf(p, words...)
}

// option is an enumeration of the library, which knows its names.
type option interface {
	encoding.TextMarshaler
	encoding.TextUnmarshaler
}

// seconds is a flag.Value for a number of seconds, or for auto, which is 0, or none, which is largemvc.None.
type seconds struct{ p *float64 }

func (v seconds) String() string {
	switch {
	case v.p == nil:
		return ""
	case *v.p == 0:
		return "auto"
	case *v.p < 0:
		return "none"
	}
	return fmt.Sprint(*v.p)
}

func (v seconds) Set(s string) error {
	x, err := strconv.ParseFloat(s, 64)
	switch {
	case s == "auto":
		x = 0
	case s == "none", err == nil && x == 0:
		x = largemvc.None
	case err != nil || !(x > 0) || x > math.MaxInt32:
		return errors.New("must be a number above 0, auto or none")
	}
	*v.p = x
	return nil
}

// errEmpty is the error of an empty file or name. Without a flag the command does less, or something else: a script whose
// variable is not set must not get that without a word.
var errEmpty = errors.New("must not be empty (a variable of a script may be unset); leave it out for the default")

// words is a flag.Value for a file, a name or a text.
type words struct{ p *string }

func (v words) String() string {
	if v.p == nil {
		return ""
	}
	return *v.p
}

func (v words) Set(s string) error {
	if s == "" {
		return errEmpty
	}
	*v.p = s
	return nil
}
