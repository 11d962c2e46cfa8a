package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
)

// runVersion prints the version that the build knows of.
func runVersion(_ context.Context, args []string, stdout, _ io.Writer) error {
	f := newFlags("version")
	rest, err := f.parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return f.help(stdout, "Usage: largemvc version\n\nPrints the version of the command, of Go, and the platform.\n")
	}
	if err != nil {
		return err
	}
	if err := f.noArguments(rest); err != nil {
		return err
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	_, err = fmt.Fprintf(stdout, "largemvc %s (%s, %s/%s)\n", versionOf(info), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
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
