package main

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// group is a memory control group of Linux, version 1 or 2; nil: none.
type group struct{ folder, limit, peak string }

// newGroup makes a control group with a limit in MiB; 0: none.
func newGroup(limit int) (*group, error) {
	if limit == 0 {
		return nil, nil
	}
	g := &group{folder: "/sys/fs/cgroup", limit: "memory.max", peak: "memory.peak"}
	if _, err := os.Stat(g.folder + "/cgroup.controllers"); err != nil {
		g = &group{folder: g.folder + "/memory", limit: "memory.limit_in_bytes", peak: "memory.max_usage_in_bytes"}
	}
	g.folder = filepath.Join(g.folder, "largemvc-scale-"+strconv.Itoa(os.Getpid()))
	if err := os.Mkdir(g.folder, 0o755); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(g.folder, g.limit), []byte(strconv.Itoa(limit*mib)), 0); err != nil {
		return nil, errors.Join(err, os.Remove(g.folder))
	}
	return g, nil
}

// processes is the file that takes the numbers of processes.
func (g *group) processes() string {
	if g == nil {
		return ""
	}
	return filepath.Join(g.folder, "cgroup.procs")
}

// most returns the largest memory of the group (bytes); 0: unknown.
func (g *group) most() int64 {
	if g == nil {
		return 0
	}
	text, err := os.ReadFile(filepath.Join(g.folder, g.peak))
	if err != nil {
		return 0
	}
	bytes, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64) // 0 for any other text
	return bytes
}

// remove removes the group, after the end of its last process.
func (g *group) remove() {
	for range 50 {
		if g == nil || os.Remove(g.folder) == nil {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}
