package safetensors

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/internal/testrig/testutil"
)

// TestReadHostileHeaders reads headers that are as long as may be, of many small parts or of one large one. What is allocated
// on the way stays in proportion to the header.
func TestReadHostileHeaders(t *testing.T) {
	many := func(n int, member func(k int) string) string {
		all := make([]string, n)
		for k := range all {
			all[k] = member(k)
		}
		return "{" + strings.Join(all, ",") + "}"
	}
	mega := 1 << 17 // the smallest sizes that are refused, or nearly so
	if testutil.Slow {
		mega = 1 << 20
	}
	for _, c := range []struct{ name, header, want string }{
		{"tensors", many(70_000, func(k int) string {
			return fmt.Sprintf(`"%d":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}`, k)
		}), "more than 65536"},
		{"metadata", `{"__metadata__":` + many(mega, func(k int) string { return fmt.Sprintf(`"%d":""`, k) }) + "}",
			"more than 65536"},
		{"a long text", `{"__metadata__":{"a":"` + strings.Repeat("x", 15*mega) + `"}}`, ""},
		{"an escaped text", `{"__metadata__":{"a":"` + strings.Repeat(`\u0001`, 15*mega/6) + `"}}`, ""},
		{"a deep value", strings.Repeat(`{"a":`, 3*mega), "max depth"},
		{"a long shape", `{"a":{"dtype":"U8","shape":[` + strings.Repeat("1,", 7*mega) + `1],"data_offsets":[0,1]}}`,
			"for one tensor"},
		{"a longer header", strings.Repeat(" ", 16<<20+1), "claims a header"},
	} {
		data := raw(c.header, "")
		var err error
		if got := testutil.Allocated(func() { _, err = Read(bytes.NewReader(data)) }); got > 160<<20 && !testutil.UnderRace {
			t.Errorf("%s: %d MiB are allocated for a header of %d", c.name, got>>20, len(c.header)>>20)
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %.200v, want %q", c.name, err, c.want)
		}
	}
}
