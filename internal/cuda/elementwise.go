package cuda

import (
	_ "embed" // of the PTX
	"regexp"
)

var (
	//go:embed kernels/binary.ptx
	binary string
	//go:embed kernels/unary.ptx
	unary string
)

// library is a text of PTX under the name that Gorgonia looks its kernels up by.
type library struct{ name, text string }

// elementwise returns the kernels of Gorgonia's elementwise operations.
func elementwise() []library { return []library{{"elembinop", binary}, {"elemunaryop", unary}} }

var entry = regexp.MustCompile(`\.entry (\w+)\(`)

// kernels returns the names of a text's kernels.
func (l library) kernels() []string {
	var names []string
	for _, m := range entry.FindAllStringSubmatch(l.text, -1) {
		names = append(names, m[1])
	}
	return names
}
