package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/largemvc/largemvc/internal/kernel"
)

// runVersion prints what a report of a problem should say: the version, the kernels in use, the processor and the build.
func runVersion(_ context.Context, args []string, stdout, _ io.Writer) error {
	f := newFlags("version")
	rest, err := f.parse(args)
	if done, err := f.asked(err, stdout, aboutVersion, ""); done || err != nil {
		return err
	}
	if err := f.noArguments(rest); err != nil {
		return err
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	kernels, device := kernel.Path(), fmt.Sprintf("%d cores", runtime.NumCPU())
	if others := kernel.Paths(); len(others) > 1 {
		kernels += " (LARGEMVC_KERNEL chooses among " + strings.Join(others, ", ") + ")"
	}
	if name := processor(); name != "" {
		device = name + ", " + device
	}
	_, err = fmt.Fprintf(stdout, "largemvc %s (%s, %s/%s)\nkernels  %s\ndevice   %s\nbuild    %s\n",
		versionOf(info), runtime.Version(), runtime.GOOS, runtime.GOARCH, kernels, device, buildOf(info))
	return err
}

const aboutVersion = `Usage: largemvc version

Prints the versions of the command and of Go, the platform, the kernels in use, the processor and the build settings.
`

// buildOf describes the build: the commit and its time, where they are known, and the settings that change the program.
func buildOf(info *debug.BuildInfo) string {
	setting := map[string]string{}
	for _, s := range info.Settings {
		setting[s.Key] = s.Value
	}
	parts := []string{"of unknown source"}
	if revision := setting["vcs.revision"]; revision != "" {
		parts[0] = "commit " + revision[:min(len(revision), 12)]
		if when := setting["vcs.time"]; when != "" {
			parts[0] += " of " + when
		}
		if setting["vcs.modified"] == "true" {
			parts[0] += ", modified"
		}
	} else if sum := info.Main.Sum; sum != "" {
		parts[0] = "module " + sum
	}
	for _, s := range []struct{ key, plain, text string }{
		{"CGO_ENABLED", "1", "without cgo"}, {"-tags", "", "tags " + setting["-tags"]}, {"-race", "", "race detector"},
		{"GOAMD64", "v1", "GOAMD64=" + setting["GOAMD64"]}, {"GOARM64", "v8.0", "GOARM64=" + setting["GOARM64"]},
	} {
		if v := setting[s.key]; v != "" && v != s.plain {
			parts = append(parts, s.text)
		}
	}
	return strings.Join(parts, ", ")
}

// versionOf is the module's version, or the revision of a build in a working copy.
func versionOf(info *debug.BuildInfo) string {
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	revision, modified := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = ", modified"
		}
	}
	if revision == "" {
		return "(devel)"
	}
	return fmt.Sprintf("(devel) %.12s%s", revision, modified)
}
