package score

import (
	"fmt"
	"testing"
)

// What is printed says what its numbers are.
func TestStrings(t *testing.T) {
	table, err := NewContingency([]int{0, 0, 1, 1}, []int{5, 5, 5, 7})
	if err != nil {
		t.Fatal(err)
	}
	for want, got := range map[string]any{
		"4 samples of 2 classes in 2 clusters":                                                      table,
		"pairs in one cluster: 1 of one class, 2 of two; in two clusters: 1 of one class, 2 of two": table.Pairs(),
		"B-cubed precision 66.7 %, recall 75.0 %, F 70.6 %":                                         table.BCubed(),
	} {
		if text := fmt.Sprint(got); text != want {
			t.Errorf("%q, want %q", text, want)
		}
	}
}
