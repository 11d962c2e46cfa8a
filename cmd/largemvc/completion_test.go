package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Every command and every flag is in every script, and each shell that is here takes its script.
func TestCompletion(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		status, script, stderr := runLine("completion", shell)
		if status != exitOK || stderr != "" {
			t.Fatalf("%s: status %d, %q", shell, status, stderr)
		}
		for _, c := range commands() {
			if !strings.Contains(script, c.name) {
				t.Errorf("%s: no %s", shell, c.name)
			}
		}
		fitFlags(&fitOptions{}).VisitAll(func(f *flag.Flag) {
			want := "-" + f.Name
			if shell == "fish" {
				want = "-o " + f.Name + " "
			}
			if !strings.Contains(script, want) {
				t.Errorf("%s: no %s", shell, want)
			}
		})
		program, err := exec.LookPath(shell)
		if err != nil {
			t.Logf("no %s here, its script is not parsed", shell)
			continue
		}
		file := filepath.Join(t.TempDir(), "script")
		if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(program, "-n", file).CombinedOutput(); err != nil {
			t.Errorf("%s does not take its script: %v\n%s", shell, err, out)
		}
	}
	for _, args := range [][]string{{"completion"}, {"completion", "csh"}, {"completion", "bash", "zsh"}} {
		if status, stdout, _ := runLine(args...); status != exitUsage || stdout != "" {
			t.Errorf("%v: status %d", args, status)
		}
	}
}

// bash completes commands, flags and values.
func TestCompletionInBash(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash here")
	}
	_, script, _ := runLine("completion", "bash")
	for line, want := range map[string]string{
		"f":                   "fit",
		"fit -outl":           "-outliers",
		"fit -outliers ":      "keep mark",
		"fit -outliers k":     "keep",
		"completion f":        "fish",
		"help ins":            "inspect",
		"fit -epochs ":        "",
		"fit -data x -outlie": "-outliers",
	} {
		words := strings.Split(line, " ")
		call := "compopt() { :; }\n" + script + "COMP_WORDS=(largemvc"
		for _, w := range words {
			call += " '" + w + "'"
		}
		call += ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_largemvc\necho \"${COMPREPLY[*]}\"\n"
		out, err := exec.Command(bash, "-c", call).CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || got != want {
			t.Errorf("%q gives %q (%v), want %q", line, got, err, want)
		}
	}
}
