package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/largemvc/largemvc/internal/lists"
)

const aboutCompletion = `Usage: largemvc completion bash|zsh|fish

Prints a script that completes commands, flags and their values in a shell:

  bash   largemvc completion bash > ~/.local/share/bash-completion/completions/largemvc
  zsh    largemvc completion zsh > "${fpath[1]}/_largemvc"
  fish   largemvc completion fish > ~/.config/fish/completions/largemvc.fish
`

// completedCommand is a command with what may follow it.
type completedCommand struct {
	name, summary string
	flags         []completedFlag
	words         []string // arguments that are not flags
	files         bool     // its arguments are files
}

// completedFlag is a flag; it takes no value, one of the words, a file, or something that nobody can guess.
type completedFlag struct {
	name, about string
	value       string
	words       []string
	file        bool
}

func runCompletion(_ context.Context, args []string, stdout, _ io.Writer) error {
	f := newFlags("completion")
	rest, err := f.parse(args)
	if done, err := f.asked(err, stdout, aboutCompletion, ""); done || err != nil {
		return err
	}
	if len(rest) != 1 {
		return usagef("completion: name one shell: bash, zsh or fish")
	}
	script := map[string]func([]completedCommand) string{
		"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion,
	}[rest[0]]
	if script == nil {
		return usagef("completion: unknown shell %q, want bash, zsh or fish", rest[0])
	}
	_, err = io.WriteString(stdout, script(completedCommands()))
	return err
}

func completedCommands() []completedCommand {
	var all []completedCommand
	var names []string
	for _, c := range commands() {
		names = append(names, c.name)
		done := completedCommand{name: c.name, summary: c.summary}
		switch c.name {
		case "fit":
			done.flags = completedFlags(fitFlags(&fitOptions{}))
		case "predict":
			done.flags = completedFlags(predictFlags(&predictOptions{}))
		case "choose":
			done.flags = completedFlags(chooseFlags(&chooseOptions{}))
		case "report":
			done.flags = completedFlags(reportFlags(&reportOptions{}))
		case "compare":
			done.flags, done.files = completedFlags(compareFlags(&compareOptions{})), true
		case "inspect":
			done.flags, done.files = completedFlags(inspectFlags(&inspectOptions{})), true
		case "device":
			done.flags = completedFlags(deviceFlags(&deviceOptions{}))
		case "completion":
			done.words = []string{"bash", "zsh", "fish"}
		}
		all = append(all, done)
	}
	return append(all, completedCommand{name: "help", summary: "explain a command", words: names})
}

// completedFlags reads the values of flags out of the names that their help gives them: FILE, or words with bars between.
func completedFlags(f *flags) []completedFlag {
	var all []completedFlag
	f.VisitAll(func(fl *flag.Flag) {
		value, about := flag.UnquoteUsage(fl)
		c := completedFlag{name: fl.Name, about: firstClause(about), value: value}
		for word := range strings.SplitSeq(value, "|") {
			switch {
			case word == "FILE":
				c.file = true
			case word != "" && word == strings.ToLower(word):
				c.words = append(c.words, word)
			}
		}
		all = append(all, c)
	})
	return append(all, completedFlag{name: "h", about: "explain the flags, with all every one"})
}

// firstClause shortens the explanation of a flag to what fits on a line beside it.
func firstClause(text string) string {
	text = strings.ReplaceAll(text, "\n", " ")
	for _, end := range []string{". ", "; ", ": "} {
		text, _, _ = strings.Cut(text, end)
	}
	return text
}

func bashCompletion(commands []completedCommand) string {
	var b strings.Builder
	names := lists.Texts(commands, func(c completedCommand) string { return c.name })
	b.WriteString(`# bash completion for largemvc

_largemvc() {
	local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words=
	COMPREPLY=()
	if [ "$COMP_CWORD" -eq 1 ]; then
`)
	fmt.Fprintf(&b, "\t\twords='%s'\n\telse\n\t\tcase \"${COMP_WORDS[1]} $before\" in\n", strings.Join(names, " "))
	for _, c := range commands {
		for _, f := range c.flags {
			switch {
			case f.value == "":
				continue
			case f.file:
				fmt.Fprintf(&b, "\t\t'%s -%s')\n\t\t\tcompopt -o default\n", c.name, f.name)
				fmt.Fprintf(&b, "\t\t\twords='%s'\n\t\t\t;;\n", strings.Join(f.words, " "))
			default:
				fmt.Fprintf(&b, "\t\t'%s -%s') words='%s' ;;\n", c.name, f.name, strings.Join(f.words, " "))
			}
		}
	}
	b.WriteString("\t\t*)\n\t\t\tcase \"${COMP_WORDS[1]}\" in\n")
	for _, c := range commands {
		if len(c.flags) == 0 && len(c.words) == 0 {
			continue
		}
		words := c.words
		for _, f := range c.flags {
			words = append(words, "-"+f.name)
		}
		fmt.Fprintf(&b, "\t\t\t%s)\n\t\t\t\twords='%s'\n", c.name, strings.Join(words, " "))
		if c.files {
			b.WriteString("\t\t\t\tcompopt -o default\n")
		}
		b.WriteString("\t\t\t\t;;\n")
	}
	b.WriteString(`			esac
			;;
		esac
	fi
	COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F _largemvc largemvc
`)
	return b.String()
}

func zshCompletion(commands []completedCommand) string {
	quote := strings.NewReplacer("'", `'\''`, "[", `\[`, "]", `\]`, ":", `\:`, `\`, `\\`)
	var b strings.Builder
	b.WriteString("#compdef largemvc\n\n_largemvc() {\n\tlocal -a commands=(\n")
	for _, c := range commands {
		fmt.Fprintf(&b, "\t\t'%s:%s'\n", c.name, quote.Replace(c.summary))
	}
	b.WriteString("\t)\n\tif (( CURRENT == 2 )); then\n\t\t_describe command commands\n\t\treturn\n\tfi\n")
	b.WriteString("\tlocal command=$words[2]\n\tshift words\n\t(( CURRENT-- ))\n\tcase $command in\n")
	for _, c := range commands {
		if len(c.flags) == 0 && len(c.words) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\t%s)\n\t\t_arguments", c.name)
		for _, f := range c.flags {
			fmt.Fprintf(&b, " \\\n\t\t\t'*-%s[%s]", f.name, quote.Replace(f.about))
			if f.value != "" {
				fmt.Fprintf(&b, ":%s:", quote.Replace(f.value))
			}
			switch {
			case f.file:
				b.WriteString("_files")
			case len(f.words) > 0:
				fmt.Fprintf(&b, "(%s)", strings.Join(f.words, " "))
			}
			b.WriteString("'")
		}
		if c.files {
			b.WriteString(" \\\n\t\t\t'*:FILE:_files'")
		}
		if len(c.words) > 0 {
			fmt.Fprintf(&b, " \\\n\t\t\t'1:word:(%s)'", strings.Join(c.words, " "))
		}
		b.WriteString("\n\t\t;;\n")
	}
	// Autoloaded, the file is the body of the function; sourced, it only defines it.
	b.WriteString("\tesac\n}\n\nif [ \"$funcstack[1]\" = _largemvc ]; then\n\t_largemvc \"$@\"\n")
	b.WriteString("else\n\tcompdef _largemvc largemvc\nfi\n")
	return b.String()
}

func fishCompletion(commands []completedCommand) string {
	quote := strings.NewReplacer(`\`, `\\`, "'", `\'`)
	var b strings.Builder
	b.WriteString("# fish completion for largemvc\n\ncomplete -c largemvc -f\n")
	for _, c := range commands {
		fmt.Fprintf(&b, "complete -c largemvc -n __fish_use_subcommand -a %s -d '%s'\n", c.name, quote.Replace(c.summary))
	}
	for _, c := range commands {
		in := fmt.Sprintf("complete -c largemvc -n '__fish_seen_subcommand_from %s'", c.name)
		for _, f := range c.flags {
			fmt.Fprintf(&b, "%s -o %s -d '%s'", in, f.name, quote.Replace(f.about))
			switch {
			case f.value == "":
			case f.file:
				b.WriteString(" -r -F")
			default:
				b.WriteString(" -x")
			}
			if len(f.words) > 0 {
				fmt.Fprintf(&b, " -a '%s'", strings.Join(f.words, " "))
			}
			b.WriteString("\n")
		}
		if c.files {
			fmt.Fprintf(&b, "%s -F\n", in)
		}
		if len(c.words) > 0 {
			fmt.Fprintf(&b, "%s -a '%s'\n", in, strings.Join(c.words, " "))
		}
	}
	return b.String()
}
