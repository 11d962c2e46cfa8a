package largemvc

import "fmt"

const (
	// Auto is the zero of the enumerations that Config has: what the preset says, or what Fit finds best.
	Auto = 0
	// None switches off what a field of Config counts, weighs or selects, where its zero stands for a default: Epochs: None
	// leaves the network at its start, Preprocess: None takes the views as they are.
	None = -1
)

// option has the names of the values of an enumeration, from first on.
type option struct {
	kind  string
	first int
	names []string
}

func (o *option) has(i int) bool { return i >= o.first && i < o.first+len(o.names) }

func (o *option) name(i int) string {
	if !o.has(i) {
		return fmt.Sprintf("unknown (%d)", i)
	}
	return o.names[i-o.first]
}

// check refuses a value that does not exist.
func (o *option) check(i int) error {
	if !o.has(i) {
		return fmt.Errorf("largemvc: unknown %s %d, want one of %q", o.kind, i, o.names)
	}
	return nil
}

// marshalOption writes a value of an enumeration as its name.
func marshalOption[E ~int](o *option, x E) ([]byte, error) {
	return []byte(o.name(int(x))), o.check(int(x))
}

// unmarshalOption reads a value of an enumeration by its name.
func unmarshalOption[E ~int](o *option, x *E, text []byte) error {
	for i, name := range o.names {
		if name == string(text) {
			*x = E(o.first + i)
			return nil
		}
	}
	return fmt.Errorf("largemvc: unknown %s %q, want one of %q", o.kind, text, o.names)
}
