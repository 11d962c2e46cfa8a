package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/largemvc/largemvc/comm"
	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/internal/progress"
	"github.com/largemvc/largemvc/internal/ranks"
	"github.com/largemvc/largemvc/machine"
)

// threads is a world of goroutines. It counts the bytes that a process receives of those that others have for it.
type threads struct {
	machine.Comm
	received int
}

func (*threads) String() string { return "" }
func (*threads) Close() error   { return nil }

func (l *threads) AllToAll(ctx context.Context, mine []byte, to []int, all []byte, from []int) error {
	l.received += len(all)
	return l.Comm.(ranks.Exchanger).AllToAll(ctx, mine, to, all, from)
}

// predictThreads runs predict in some processes that are goroutines, and returns the summary.
func predictThreads(t *testing.T, size int, line string) string {
	t.Helper()
	var stdout bytes.Buffer
	var all sync.WaitGroup
	for r, c := range comm.Local(size) {
		w := &threads{Comm: c}
		all.Go(func() {
			o := &predictOptions{}
			f := predictFlags(o)
			_, err := f.parse(strings.Fields(line))
			if err == nil {
				err = o.checkMPI(f)
			}
			if err == nil {
				files := &predictOutputs{labels: output{path: o.out}, embedding: output{path: o.embedding},
					memberships: output{path: o.members}, trust: output{path: o.trust}}
				err = o.predictRank(t.Context(), w, files, progress.New(io.Discard, ""), &stdout, io.Discard)
			}
			if err != nil || r > 0 && w.received > 0 {
				t.Errorf("process %d of %d received %d bytes of labels: %v", r, size, w.received, err)
				w.Abort(err)
			}
		})
	}
	all.Wait()
	return stdout.String()
}

// TestPredictRanks: several processes write the file and the summary of one, with all rows, with some, and with classes. Only
// process 0 receives labels.
func TestPredictRanks(t *testing.T) {
	t.Chdir(t.TempDir())
	writeHoles(t, ".", 0.1, 5000, 700, 1, 4200, 99)
	classes := "sample,label\n"
	for i := range 5000 {
		classes += fmt.Sprintf("%d,class %d\n", i, i%4)
	}
	if err := os.WriteFile("classes.csv", []byte(classes), 0o600); err != nil {
		t.Fatal(err)
	}
	if status, _, stderr := runLine(strings.Fields("fit x0.npy x1.npy -missing-rows -clusters 4 -epochs 2 -quiet -save model " +
		"-set FitSamples=400 -known classes.csv")...); status != exitOK {
		t.Fatal(stderr)
	}
	for flags, size := range map[string]int{
		"-out one.csv": 3, "-out one.csv -rows 300:4800": 2, "-out one.npy -rows 1:4000": 3, "-labels classes.csv": 2,
	} {
		flags = " -model model -missing-rows -json -quiet " + flags
		status, stdout, stderr := runLine(strings.Fields("predict x0.npy x1.npy -from-disk" + flags)...)
		if status != exitOK {
			t.Fatal(stderr)
		}
		want := object(t, stdout)
		got := object(t, predictThreads(t, size, "-mpi -data x0-%d.npy -data x1.npy"+strings.Replace(flags, "one", "many", 1)))
		for name := range want {
			const other = "reading read_seconds predict_seconds peak_rss_mb"
			if !strings.Contains(other, name) && !reflect.DeepEqual(got[name], want[name]) {
				t.Errorf("%s: %s is %v, want %v", flags, name, got[name], want[name])
			}
		}
		if _, out, _ := strings.Cut(flags, "-out one"); out != "" && contents(t, "many"+out[:4]) != contents(t, "one"+out[:4]) {
			t.Errorf("%s: another file", flags)
		}
	}
	_ = predictThreads(t, 3, "-mpi -model model -missing-rows -data x0.npy -data x1-%d.npy -out part-%d.csv")
	_ = predictThreads(t, 1, "-mpi -model model -missing-rows -data x0.npy -data x1.npy -out whole.csv")
	head, joined, _ := strings.Cut(contents(t, "part-0.csv"), "\n")
	for _, name := range []string{"part-1.csv", "part-2.csv"} {
		joined += strings.TrimPrefix(contents(t, name), head+"\n")
	}
	if contents(t, "whole.csv") != head+"\n"+joined {
		t.Error("other labels in a file each")
	}
}

// TestPredictBlocks: the embedding, the memberships and the trust of rows that are read in blocks, by one process and by three,
// have the bytes of rows that are in memory.
func TestPredictBlocks(t *testing.T) {
	t.Chdir(t.TempDir())
	const n = 20_000 // a block has 16,384
	writeHoles(t, ".", 0.1, n, 700, 1, 19_299)
	run := func(line string) {
		t.Helper()
		if status, _, stderr := runLine(strings.Fields(line)...); status != exitOK {
			t.Fatal(stderr)
		}
	}
	run("fit x0.npy x1.npy -missing-rows -clusters 4 -epochs 2 -quiet -save model -set FitSamples=150")
	const files = " -embedding W.h.csv -memberships W.m.npy -trust W.t.csv -out W.csv"
	const swapped = " -embedding W.h.npy -memberships W.m.csv -rows 0:20000"
	for _, flags := range []string{files, swapped} {
		of := func(who string) string {
			return " -model model -missing-rows -quiet" + strings.ReplaceAll(flags, "W", who)
		}
		run("predict x0.npy x1.npy" + strings.TrimSuffix(of("all"), " -rows 0:20000"))
		run("predict x0.npy x1.npy -from-disk" + of("disk"))
		_ = predictThreads(t, 3, "-mpi -data x0-%d.npy -data x1.npy"+of("ranks"))
		_ = predictThreads(t, 2, "-mpi -data x0-%d.npy -data x1.npy"+of("%d"))
		for word := range strings.FieldsSeq(flags) {
			name, ok := strings.CutPrefix(word, "W")
			if !ok {
				continue
			}
			want := contents(t, "all"+name)
			for _, who := range []string{"disk", "ranks"} {
				if contents(t, who+name) != want {
					t.Errorf("%s: %s%s is another file", flags, who, name)
				}
			}
			first, second := contents(t, "0"+name), contents(t, "1"+name)
			if strings.HasSuffix(name, ".csv") {
				head, rows, _ := strings.Cut(second, "\n")
				if first+rows != want || !strings.HasPrefix(want, head) {
					t.Errorf("%s: the two files are another one", name)
				}
				continue
			}
			const head = 128 // bytes
			if first[head:]+second[head:] != want[head:] {
				t.Errorf("%s: the two arrays are another one", name)
			}
			for _, part := range []string{first, second} {
				if shape := fmt.Sprintf("(%d, 4)", (len(part)-head)/8/4); !strings.Contains(part[:head], shape) {
					t.Errorf("%s: the head is %q, want the shape %s", name, part[:head], shape)
				}
			}
		}
	}
	for flags, want := range map[string]string{
		"-from-disk -embedding h.npz": "name a file .csv or .npy", "-from-disk -trust t.parquet": "name a file .csv\n",
		"-from-disk -out l.parquet": "name a file .csv or .npy", "-mpi -trust -": "give -out and -trust a file",
	} {
		status, _, stderr := runLine(strings.Fields("predict x0.npy x1.npy -model model -missing-rows " + flags)...)
		if status != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("%s: %d, %s", flags, status, stderr)
		}
	}
	for flags, want := range map[string]string{"": "(the default", "-device cpu": "(as was asked for)"} {
		_, stdout, _ := runLine(strings.Fields("predict x0.npy x1.npy -model model -missing-rows -from-disk " + flags)...)
		if !strings.Contains(stdout, want) {
			t.Errorf("%q: %s", flags, stdout)
		}
	}
}

// TestPredictRanksWithIDs: the files of samples with ids are the same from memory, from disk and by three processes.
func TestPredictRanksWithIDs(t *testing.T) {
	const n = 3500 // processes share pieces of 1,024
	set, err := dataset.Open(t.Context(), []string{writeSet(t, n, false)}, dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		set.IDs = append(set.IDs, fmt.Sprint("s", i*7%n, "x"))
		if i%500 == 0 {
			set.IDs[i] += ", \"quoted\""
		}
		set.IDs[i] += fmt.Sprint(i)
	}
	t.Chdir(t.TempDir())
	if err := set.WriteNPZ("ids.npz", false); err != nil {
		t.Fatal(err)
	}
	const files = " -out W.l.csv -embedding W.h.csv -memberships W.m.csv -trust W.t.csv"
	line := func(who string) string {
		return " -data ids.npz -model model -quiet" + strings.ReplaceAll(files, "W", who)
	}
	for _, command := range []string{"fit ids.npz -clusters 3 -epochs 1 -quiet -save model -set FitSamples=150",
		"predict" + line("all"), "predict -from-disk" + line("disk")} {
		if status, _, stderr := runLine(strings.Fields(command)...); status != exitOK {
			t.Fatal(stderr)
		}
	}
	_ = predictThreads(t, 3, "-mpi"+line("ranks"))
	_ = predictThreads(t, 3, "-mpi"+line("part%d"))
	for _, name := range []string{".l.csv", ".h.csv", ".m.csv", ".t.csv"} {
		want := contents(t, "all"+name)
		head, _, _ := strings.Cut(want, "\n")
		if !strings.HasPrefix(head, "id,sample,") || strings.Count(want, "\n") != n+1 {
			t.Errorf("%s begins with %s", name, head)
		}
		parts := contents(t, "part0"+name)
		for _, part := range []string{"part1", "part2"} {
			parts += strings.TrimPrefix(contents(t, part+name), head+"\n")
		}
		for who, got := range map[string]string{
			"disk": contents(t, "disk"+name), "three processes": contents(t, "ranks"+name), "three files": parts,
		} {
			if got != want {
				t.Errorf("%s: another file from %s", name, who)
			}
		}
	}
}
