package lists

import (
	"slices"
	"strconv"
	"testing"
)

func TestLists(t *testing.T) {
	if got := Indices(3); !slices.Equal(got, []int{0, 1, 2}) || len(Indices(0)) != 0 {
		t.Errorf("the first three numbers are %v", got)
	}
	if got := Texts([]int{7, -1}, strconv.Itoa); !slices.Equal(got, []string{"7", "-1"}) || len(Texts(nil, strconv.Itoa)) != 0 {
		t.Errorf("7 and -1 are %q", got)
	}
}
