package cuda

import (
	_ "embed" // of the PTX
	"regexp"

	"github.com/largemvc/largemvc/internal/driver"
)

var (
	//go:embed kernels/binary.ptx.gz
	binary []byte
	//go:embed kernels/unary.ptx.gz
	unary []byte
)

// library is a text of PTX under the name that Gorgonia looks its kernels up by.
type library struct{ name, text string }

// elementwise returns the kernels of Gorgonia's elementwise operations.
func elementwise() []library {
	return []library{{"elembinop", driver.Text(binary)}, {"elemunaryop", driver.Text(unary)}}
}

var entry = regexp.MustCompile(`\.entry (\w+)\(`)

// kernels returns the names of a text's kernels.
func (l library) kernels() []string {
	var names []string
	for _, m := range entry.FindAllStringSubmatch(l.text, -1) {
		names = append(names, m[1])
	}
	return names
}
