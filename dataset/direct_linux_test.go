package dataset

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// Reads past the cache give what others give, wherever they begin and end, and the same errors.
func TestReadsPastTheCache(t *testing.T) {
	content := make([]byte, 1<<20+777)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range content {
		content[i] = byte(rng.Uint32())
	}
	path := filepath.Join(t.TempDir(), "rows")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	memory := newPastMemory()
	past := openDirect(f, memory)
	if past == nil { // a file system in memory may refuse; what follows is then of usual reads
		past = &directFile{File: f, past: f, memory: memory}
	} else {
		defer past.close()
	}
	size := len(content)
	for _, part := range [][2]int{
		{0, 1}, {0, size}, {5, 4096}, {4095, 4098}, {8192, 12288}, {size - 1, size}, {size - 5000, size},
	} {
		got := make([]byte, part[1]-part[0])
		n, err := past.ReadAt(got, int64(part[0]))
		if n != len(got) || err != nil && !errors.Is(err, io.EOF) || !bytes.Equal(got, content[part[0]:part[1]]) {
			t.Errorf("bytes %v: %d are read, %v", part, n, err)
		}
	}
	for _, at := range []int{size - 3, size, size + 9000} {
		p, q := make([]byte, 20), make([]byte, 20)
		n, err := past.ReadAt(p, int64(at))
		m, want := f.ReadAt(q, int64(at))
		if n != m || !errors.Is(err, want) || !bytes.Equal(p, q) {
			t.Errorf("from byte %d: %d bytes, %v, want %d, %v", at, n, err, m, want)
		}
	}
	made := memory.made
	var wait sync.WaitGroup
	for k := range 3 * mostSlots { // more at once than there are slots
		wait.Go(func() {
			p := make([]byte, 70_000)
			for at := 1000 * k; at < size-len(p); at += 99_991 {
				if _, err := past.ReadAt(p, int64(at)); err != nil || !bytes.Equal(p, content[at:at+len(p)]) {
					t.Errorf("byte %d beside other reads: %v", at, err)
				}
			}
		})
	}
	wait.Wait()
	past.refused.Store(true)
	got := make([]byte, 100)
	if _, err := past.ReadAt(got, 1234); err != nil || !bytes.Equal(got, content[1234:1334]) {
		t.Error(err)
	}
	if err := memory.close(); err != nil || made != slotsInPage || memory.made > mostSlots || len(memory.free) != memory.made {
		t.Errorf("%v, %d slots for one reader, %d for many, %d of them free", err, made, memory.made, len(memory.free))
	}
}

// What the system may keep of files is what is available, within the limits of the process's control groups of either version.
func TestCacheRoom(t *testing.T) {
	proc, groups := t.TempDir(), t.TempDir()
	write := func(content string, at ...string) {
		t.Helper()
		path := filepath.Join(at...)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := func(most int64) {
		t.Helper()
		if room, ok := roomIn(proc, groups); !ok || room != most {
			t.Errorf("%d, %v; want %d", room, ok, most)
		}
	}
	if _, ok := roomIn(proc, groups); ok {
		t.Error("there is room nobody knows of")
	}
	write("MemTotal:       2000 kB\nMemAvailable:    1000 kB\n", proc, "meminfo")
	want(1000 << 10)
	write("7:cpu:/x\n3:memory:/a/b\n0::/s\n", proc, "self", "cgroup")
	want(1000 << 10)
	write("9223372036854771712\n", groups, "memory", "a", "b", "memory.limit_in_bytes")
	want(1000 << 10)
	write("70000\n", groups, "memory", "a", "memory.limit_in_bytes")
	want(70000)
	write("max\n", groups, "s", "memory.max")
	want(70000)
	write("50000\n", groups, "memory.max")
	want(50000)
}
