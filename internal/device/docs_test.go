package device

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/internal/engine"
)

var update = flag.Bool("update", false, "write the tables of README.md")

// tables returns the tables of README.md, kernels of less than 0.05 ms in one row.
func tables(t *testing.T) string {
	var out strings.Builder
	for _, c := range []struct {
		name    string
		spec    engine.Spec
		tensors bool
	}{
		{"195,537 × 2,672 in four views, m = 100, tensor cores", shape(195537, 100, 2, 944, 576, 512, 640), true},
		{"The same by fused multiply-add", shape(195537, 100, 2, 944, 576, 512, 640), false},
		{"60,000 × 1,336 in three views, m = 10, tensor cores", shape(60000, 10, 2, 784, 392, 160), true},
		{"The same by fused multiply-add", shape(60000, 10, 2, 784, 392, 160), false},
	} {
		e, err := CountEpoch[float32](&c.spec, c.tensors)
		if err != nil {
			t.Fatal(err)
		}
		launches := 0
		for _, k := range e.Kernels {
			launches += k.Launches
		}
		fmt.Fprintf(&out, "\n### %s\n\n", c.name)
		fmt.Fprintf(&out, "Memory %.2f GiB. X is %.2f GB and read %d times in %d passes. Floor %.2f ms, expected **%.1f ms**: "+
			"%.1f ms for %d launches, %.1f ms for %d transfers of %.1f MB, %.1f ms for waits for eigenvectors, and the "+
			"kernels.\n\n",
			gib(e.Memory), float64(e.X)/1e9,
			e.ReadsOfX, e.Passes,
			1e3*e.Floor(&H100), 1e3*e.Seconds(&H100), 1e3*H100.Launch*float64(launches), launches,
			1e3*(float64(e.Moved)/H100.Bus+H100.Transfer*float64(e.Transfers)), e.Transfers, float64(e.Moved)/1e6,
			1e3*e.Host)
		fmt.Fprintln(&out,
			"| kernel | launches | blocks | read, MB | written, MB | algebra, GFLOP | executed, GFLOP | ms |")
		fmt.Fprintln(&out, "|---|---|---|---|---|---|---|---|")
		others, small, rest := 0, 0, 0.0
		for _, k := range e.Kernels {
			if ms := 1e3 * H100.Seconds(k); ms < 0.05 {
				others, small, rest = others+1, small+k.Launches, rest+ms
				continue
			}
			fmt.Fprintf(&out, "| `%s` | %d | %d | %.1f | %.1f | %.2f | %.2f | %.3f |\n",
				k.Kernel, k.Launches, k.Blocks, float64(k.Read)/1e6, float64(k.Written)/1e6,
				float64(k.Useful)/1e9, float64(k.Executed)/1e9, 1e3*H100.Seconds(k))
		}
		fmt.Fprintf(&out, "| %d others | %d | | | | | | %.3f |\n", others, small, rest)
	}
	return out.String()
}

// TestTablesAreInTheDocument compares the tables of README.md with CountEpoch; -update writes them.
func TestTablesAreInTheDocument(t *testing.T) {
	const path, begin, end = "README.md", "<!-- tables -->\n", "<!-- end of tables -->\n"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	was, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatal("README.md has no place for the tables")
	}
	made := tables(t) + "\n"
	if *update {
		if err := os.WriteFile(path, []byte(before+begin+made+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if was != made {
		t.Error("README.md has other tables than CountEpoch: go test ./internal/device -run Document -update")
	}
}
