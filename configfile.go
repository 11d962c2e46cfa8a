package largemvc

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/machine"
)

// plainConfig is a Config without its methods: what embeds it would have its MarshalJSON, and write nothing else.
type plainConfig Config

// savedConfig is a Config in the JSON of files: its fields by their names, options by theirs, modules by their type.
type savedConfig struct {
	plainConfig
	Represent savedModule
	Noise     savedModule
	Anchor    savedModule

	LearningRate float64 `json:",omitempty"` // of files that lack Optimizer
}

// savedModule is a module in files. A custom module has no settings there: its learnable nodes are its state.
type savedModule struct {
	Type     string
	Settings json.RawMessage `json:",omitempty"`
}

// modules returns the modules of a configuration in the order of a network.
func (c *Config) modules() [3]Module { return [3]Module{c.Represent, c.Noise, c.Anchor} }

// foreign are the types of the modules of a file that are not from this package, "" for those that are.
type foreign [3]string

// moduleType returns the name of the type of a module in files: without a package for those of this one.
func moduleType(m Module) string {
	if m == nil {
		return ""
	}
	t := reflect.TypeOf(m)
	star := ""
	if t.Kind() == reflect.Pointer && t.Name() == "" {
		star, t = "*", t.Elem()
	}
	if stock(m) {
		return t.Name()
	}
	return star + t.PkgPath() + "." + t.Name()
}

// withoutData returns the configuration without functions, without what is as large as the training samples and without what
// is the caller's own: the other ranks, and paths of the machine that trains, which say nothing to who gets the model.
func withoutData(c *Config) Config {
	out := *c
	out.StartLabels, out.Start, out.Progress, out.ExtraLoss, out.Machine.Comm = nil, StartPoint{}, nil, nil, nil
	out.Known, out.Checkpoint.Path, out.Optimizer.Solver = nil, "", nil
	return out
}

// saveConfig returns what files hold of a configuration with its defaults: all but functions, values as large as the data,
// and what is the caller's own (Machine but its Workers, Checkpoint.Path).
func saveConfig(c *Config) (*savedConfig, error) {
	s := &savedConfig{plainConfig: plainConfig(withoutData(c))}
	s.plainConfig.Represent, s.plainConfig.Noise, s.plainConfig.Anchor = nil, nil, nil
	for i, to := range []*savedModule{&s.Represent, &s.Noise, &s.Anchor} {
		var err error
		if *to, err = saveModule(i, c.modules()[i]); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// saveModule returns what files hold of the module of a place.
func saveModule(i int, m Module) (out savedModule, err error) {
	if out.Type = moduleType(m); !stock(m) {
		return out, nil
	}
	if out.Settings, err = json.Marshal(m); err != nil {
		err = fmt.Errorf("largemvc: the settings of %s: %w", moduleNames[i], err)
	}
	return out, err
}

// configText is a Config in JSON: its fields by their names, and modules as in files; null, or not there, where they are nil.
type configText struct {
	plainConfig
	Represent, Noise, Anchor json.RawMessage
	Start, StartAnchors      json.RawMessage `json:",omitempty"` // have no form
}

// MarshalJSON writes the fields by name, options by name and modules with their type. UnmarshalJSON reads the result.
// Progress and Machine, except Machine.Workers, are omitted. A custom module, Start, ExtraLoss or
// Optimizer.Solver is an error that names the field.
func (c Config) MarshalJSON() ([]byte, error) {
	var errs []error
	if c.Start.free() || c.Start.Anchors != nil {
		errs = append(errs, errors.New("largemvc: Start cannot be written to JSON: leave it out, and set it again after reading"))
	}
	if c.ExtraLoss != nil {
		errs = append(errs, errors.New("largemvc: ExtraLoss cannot be written to JSON: leave it out, and set it again after "+
			"reading"))
	}
	if c.Optimizer.Solver != nil {
		errs = append(errs, errors.New("largemvc: Optimizer.Solver cannot be written to JSON: leave it out, and set it again "+
			"after reading"))
	}
	out := configText{plainConfig: plainConfig(c)}
	for i, to := range []*json.RawMessage{&out.Represent, &out.Noise, &out.Anchor} {
		m := c.modules()[i]
		switch {
		case m == nil:
			continue
		case parallel.Nil(m):
			errs = append(errs, fmt.Errorf("largemvc: %s is a nil %T", moduleNames[i], m))
			continue
		case !stock(m):
			errs = append(errs, fmt.Errorf("largemvc: %s is a %T, which is not from this package and cannot be written to "+
				"JSON: leave it out, and set it again after reading", moduleNames[i], m))
			continue
		}
		saved, err := saveModule(i, m)
		if err == nil {
			*to, err = json.Marshal(saved)
		}
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads the JSON of MarshalJSON. Fields that it lacks stay unchanged. A custom module is an error that names
// the field.
func (c *Config) UnmarshalJSON(text []byte) error {
	in := configText{plainConfig: plainConfig(*c)}
	// A copy of this Config shares the memory of its lists, and package json would write into it.
	in.Known, in.StartLabels = slices.Clone(in.Known), slices.Clone(in.StartLabels)
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	for _, given := range []json.RawMessage{in.Start, in.StartAnchors} {
		if given != nil && string(given) != "null" {
			return errors.New("largemvc: Start (before: StartAnchors) cannot be read from JSON: leave it out, and set it after " +
				"reading")
		}
	}
	out := Config(in.plainConfig)
	for i, from := range []json.RawMessage{in.Represent, in.Noise, in.Anchor} {
		if from == nil {
			continue
		}
		var saved *savedModule
		if err := json.Unmarshal(from, &saved); err != nil {
			return fmt.Errorf("largemvc: %s: %w", moduleNames[i], err)
		}
		if saved == nil {
			out.setModule(i, nil)
			continue
		}
		if stockModules[saved.Type] == nil {
			return fmt.Errorf("largemvc: %s is of type %q, which is not from this package: leave it out, and set it after "+
				"reading", moduleNames[i], saved.Type)
		}
		m, err := saved.stock(i)
		if err != nil {
			return fmt.Errorf("largemvc: %w", err)
		}
		if !out.setModule(i, m) {
			return fmt.Errorf("largemvc: %s cannot be a %s", moduleNames[i], saved.Type)
		}
	}
	*c = out
	return nil
}

// stockModules are the types of this package, by their names in files.
var stockModules = map[string]func() Module{
	"SoftThreshold": func() Module { return new(SoftThreshold) }, "RowShrink": func() Module { return new(RowShrink) },
	"NoNoise": func() Module { return new(NoNoise) }, "Procrustes": func() Module { return new(Procrustes) },
	"FixedAnchors": func() Module { return new(FixedAnchors) },
}

// restore is the inverse of saveConfig. Modules that are not from this package are nil, and their types are returned.
func (s *savedConfig) restore() (*Config, foreign, error) {
	c := Config(s.plainConfig)
	c.Optimizer.LearningRate = cmp.Or(c.Optimizer.LearningRate, s.LearningRate)
	if c.Optimizer.LearningRate > 0 { // 0 is of a fit with a Solver, which no file has
		c.Optimizer = c.Optimizer.WithDefaults()
	}
	var types foreign
	var errs []error
	for i, saved := range []savedModule{s.Represent, s.Noise, s.Anchor} {
		if stockModules[saved.Type] == nil {
			if types[i] = saved.Type; saved.Type == "" {
				errs = append(errs, fmt.Errorf("its %s module has no type", moduleNames[i]))
			}
			continue
		}
		m, err := saved.stock(i)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if !c.setModule(i, m) {
			errs = append(errs, fmt.Errorf("%s cannot be a %s", moduleNames[i], saved.Type))
		}
	}
	return &c, types, errors.Join(errs...)
}

// stock returns the module of a place, of a type of this package, that a file holds.
func (s *savedModule) stock(i int) (Module, error) {
	m := stockModules[s.Type]()
	if s.Settings == nil {
		return m, nil
	}
	if err := json.Unmarshal(s.Settings, m); err != nil {
		return nil, fmt.Errorf("the settings of %s: %w", moduleNames[i], err)
	}
	return m, nil
}

// setModule sets the module of a place, if it is of its kind.
func (c *Config) setModule(i int, m Module) (ok bool) {
	switch i {
	case 0:
		c.Represent, ok = m.(Represent)
	case 1:
		c.Noise, ok = m.(Noise)
	default:
		c.Anchor, ok = m.(Anchor)
	}
	return ok
}

// readConfig reads the configuration of a file.
func readConfig(text []byte) (*Config, foreign, error) {
	var saved savedConfig
	if err := json.Unmarshal(text, &saved); err != nil {
		return nil, foreign{}, fmt.Errorf("its configuration: %w", err)
	}
	return saved.restore()
}

// errNoModule says that a module is missing which a file needs.
var errNoModule = errors.New("give Load a pointer to one")

// take puts the modules that are given to Load, or to Resume, in their places of a configuration that was read: each must be
// of a type that the file names.
func (t foreign) take(c *Config, given []Module) error {
	used := make([]bool, len(given))
	for i, want := range t {
		if want == "" {
			continue
		}
		found := false
		for k, m := range given {
			if used[k] || m == nil || moduleType(m) != want {
				continue
			}
			if !c.setModule(i, m) {
				return fmt.Errorf("%s cannot be a %T", moduleNames[i], m)
			}
			used[k], found = true, true
			break
		}
		if !found {
			return fmt.Errorf("its module %s is a %s: %w", moduleNames[i], want, errNoModule)
		}
	}
	for k, m := range given {
		if !used[k] {
			return fmt.Errorf("a module of type %T is given, which it does not have", m)
		}
	}
	return nil
}

// given refuses a configuration that lacks a module of a type that a file names, or has another.
func (t foreign) given(c *Config) error {
	for i, want := range t {
		if want == "" {
			continue
		}
		switch m := c.modules()[i]; {
		case m == nil:
			return fmt.Errorf("its %s is a %s, which is not from this package: set it in the function that "+
				"changes the configuration",
				moduleNames[i], want)
		case moduleType(m) != want:
			return fmt.Errorf("%s was %s and is %s now", moduleNames[i], want, moduleType(m))
		}
	}
	return nil
}

// sameSettings says which setting differs that must not change in a training.
func sameSettings(was, is *Config) error {
	var flat [2]map[string]string
	for i, c := range []*Config{was, is} {
		x, err := saveConfig(c)
		if err != nil {
			return err
		}
		for k, m := range was.modules() {
			if m == nil { // not from this package: its type was compared
				*[]*savedModule{&x.Represent, &x.Noise, &x.Anchor}[k] = savedModule{}
			}
		}
		x.Epochs, x.Machine, x.Checkpoint, x.Tolerance, x.Patience = 0, machine.Options{}, Checkpoint{}, 0, 0
		if flat[i], err = flatSettings(x); err != nil {
			return err
		}
	}
	for i, name := range moduleNames {
		if a, b := was.modules()[i], is.modules()[i]; a != nil && moduleType(a) != moduleType(b) {
			return fmt.Errorf("%s was %s and is %s now", name, moduleType(a), moduleType(b))
		}
	}
	var changed []string
	for _, name := range slices.Sorted(maps.Keys(flat[0])) {
		if a, b := flat[0][name], flat[1][name]; a != b {
			changed = append(changed, fmt.Sprintf("%s was %v and is %v now", name, a, cmp.Or(b, "gone")))
		}
	}
	if changed != nil {
		return errors.New(strings.Join(changed, ", "))
	}
	return nil
}

// flatSettings returns the settings by their paths. Numbers keep all their digits.
func flatSettings(c *savedConfig) (map[string]string, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var tree map[string]any
	if err := d.Decode(&tree); err != nil {
		return nil, err
	}
	out := map[string]string{}
	flatten("", tree, out)
	return out, nil
}

// flatten adds the leaves of a JSON object to a map, by their paths.
func flatten(prefix string, x any, to map[string]string) {
	if tree, ok := x.(map[string]any); ok {
		for name, y := range tree {
			flatten(strings.TrimPrefix(prefix+"."+name, "."), y, to)
		}
		return
	}
	to[prefix] = fmt.Sprint(x)
}
