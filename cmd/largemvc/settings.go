package main

import (
	"cmp"
	"encoding"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/largemvc/largemvc"
)

// settingFlags adds the flags that set fields by name.
func (o *fitOptions) settingFlags(f *flags) {
	f.group("Settings by name")
	f.each("set", "`FIELD=VALUE` sets a field of Config by its name; VALUE may be none. Repeat it for more fields. "+
		"It wins over\nother flags. For example Layers=3, Optimizer.LearningRate=0.02, Preprocess=zscore, Noise=NoNoise, "+
		"Anchor.Detach=true.\n'go doc largemvc.Config' explains the fields and gives their defaults:\n"+
		strings.TrimSpace(regexp.MustCompile("(.{1,110})( |$)").ReplaceAllString(strings.Join(settings(), " "), "$1\n")),
		f.addSetting)
	f.string(&f.file, "config", "`FILE` of JSON: an object with fields of Config, and flags by their names. Flags on the "+
		"command line win\n(examples/recipes/README.md). None by default")
	f.output(&o.writeTo, "write-config", "`FILE` for all settings of this fit, also the defaults, and how the data are read; "+
		"-config reads it. None by default")
}

// assignment is a value for a field of Config.
type assignment struct{ name, value string }

// addSetting takes a value of -set.
func (f *flags) addSetting(text string) error {
	name, value, ok := strings.Cut(text, "=")
	if !ok || name == "" || value == "" {
		return errors.New("must be FIELD=VALUE, for example Neighborhood.Steps=8")
	}
	if !slices.Contains(settings(), name) {
		return f.unknown(name)
	}
	f.fields = append(f.fields, assignment{name, value})
	return nil
}

// ownFlags are the flags for fields whose values are in files or in other processes.
var ownFlags = map[string]string{"StartLabels": "-start FILE", "Known": "-known", "Machine.Comm": "-mpi"}

// forPrograms are the fields that have no value in a text, or that the command sets itself.
var forPrograms = []string{
	"Start.Anchors", "Start.H", "Start.E", "Progress", "ExtraLoss", "Optimizer.Solver", "Machine.Overwrite",
}

// settings returns the names of the fields that have a value in a text.
func settings() []string {
	c := largemvc.Config{Represent: &largemvc.SoftThreshold{}, Noise: &largemvc.RowShrink{}, Anchor: &largemvc.Procrustes{}}
	var names []string
	addSettings("", reflect.ValueOf(c), &names)
	return slices.DeleteFunc(names, func(name string) bool {
		return ownFlags[name] != "" || slices.Contains(forPrograms, name)
	})
}

// addSettings adds the names of the fields within a value, which has a name itself.
func addSettings(name string, v reflect.Value, to *[]string) {
	if v.Kind() == reflect.Interface && !v.IsNil() {
		*to = append(*to, name)
		v = v.Elem().Elem() // a module is a pointer
	}
	if v.Kind() != reflect.Struct {
		*to = append(*to, name)
		return
	}
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.IsExported() {
			addSettings(strings.TrimPrefix(name+"."+f.Name, "."), v.Field(i), to)
		}
	}
}

// fieldNamed returns the setting whose name ends like a flag that does not exist: Layers for layers; empty: there is none.
func fieldNamed(flag string) string {
	for _, name := range settings() {
		if strings.EqualFold(name[strings.LastIndex(name, ".")+1:], strings.ReplaceAll(flag, "-", "")) {
			return name
		}
	}
	return ""
}

// setField gives a field of a configuration a value, in JSON or as its text. none is largemvc.None.
func setField(c *largemvc.Config, name, value string) error {
	if at, ok := reflect.TypeFor[largemvc.Config]().FieldByName(name); ok && at.Type.Kind() == reflect.Interface {
		return c.UnmarshalJSON(fmt.Appendf(nil, `{%q: {"Type": %q}}`, name, strings.Trim(value, `"`)))
	}
	at := reflect.ValueOf(c).Elem()
	for part := range strings.SplitSeq(name, ".") {
		if at.Kind() == reflect.Interface {
			at = at.Elem().Elem()
		}
		if at = at.FieldByName(part); !at.IsValid() {
			module, _, _ := strings.Cut(name, ".")
			is := reflect.ValueOf(c).Elem().FieldByName(module).Elem().Type()
			return fmt.Errorf("the module %s has no %s: it is a %v", module, part, is)
		}
	}
	to, want := at.Addr().Interface(), "a number"
	switch at.Kind() {
	case reflect.Slice:
		want = "numbers, as [1,2]"
	case reflect.Bool:
		want = "true or false"
	case reflect.String:
		if json.Unmarshal([]byte(value), to) != nil {
			at.SetString(value)
		}
		return nil
	default:
		if text, ok := to.(encoding.TextUnmarshaler); ok {
			return text.UnmarshalText([]byte(strings.Trim(value, `"`)))
		}
		if at.CanInt() || at.CanUint() {
			want = "a whole number"
		}
		if at.CanInt() || at.CanFloat() {
			want += ", or none"
			if strings.EqualFold(value, "none") {
				value = fmt.Sprint(largemvc.None)
			}
		}
	}
	if json.Unmarshal([]byte(value), to) != nil {
		return fmt.Errorf("must be %s", want)
	}
	return nil
}

// setFields sets the fields of -config, then those of -set.
func (f *flags) setFields(c *largemvc.Config) error {
	for from, list := range [][]assignment{f.stored, f.fields} {
		for _, a := range list {
			err := setField(c, a.name, a.value)
			switch {
			case err == nil:
			case from == 0:
				return usagef("%s: -config %s: %s is %s: %v", f.Name(), f.file, a.name, a.value, oneLine(err))
			default:
				return usagef("%s: -set %s is %s: %v", f.Name(), a.name, a.value, oneLine(err))
			}
		}
	}
	return nil
}

// unknown is the error for a name that is no setting.
func (f *flags) unknown(name string) error {
	if own := ownFlags[name]; own != "" {
		return fmt.Errorf("%s has no value here: give %s", name, own)
	}
	if slices.Contains(forPrograms, name) {
		return fmt.Errorf("%s can be set only in a Go program", name)
	}
	words := map[string]string{}
	f.VisitAll(func(fl *flag.Flag) { words[fl.Name] = fl.Name })
	for _, x := range settings() {
		words[strings.ToLower(x)] = x
	}
	if meant := nearest(name, slices.Sorted(maps.Keys(words))); meant != "" {
		return fmt.Errorf("there is no setting %s: did you mean %s?", name, words[meant])
	}
	return fmt.Errorf("there is no setting %s: give a flag, or one of %s", name, strings.Join(settings(), ", "))
}

// readFile reads the file of -config: fields, and flags that the command line does not have; rest are its other arguments.
func (f *flags) readFile(rest []string) error {
	if f.file == "" {
		return nil
	}
	text, err := os.ReadFile(f.file)
	if err != nil {
		return fmt.Errorf("-config %s: %w", f.file, reason(err))
	}
	var values map[string]any
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	if err := d.Decode(&values); err != nil || d.More() {
		return usagef("%s: -config %s: no JSON object: %v", f.Name(), f.file, err)
	}
	if twice := f.keyTwice(json.NewDecoder(strings.NewReader(string(text))), "", map[string]string{}); twice != "" {
		return usagef("%s: -config %s: %s", f.Name(), f.file, twice)
	}
	given := f.given()
	given["data"] = given["data"] || len(rest) > 0
	if err := f.assignAll("", values, given); err != nil {
		return usagef("%s: -config %s: %v", f.Name(), f.file, err)
	}
	return nil
}

// keyTwice reads a value of valid JSON, whose names begin with prefix. It returns what an object in it says twice, or "" without.
// seen has the names so far, by the flag that they stand for.
func (f *flags) keyTwice(d *json.Decoder, prefix string, seen map[string]string) string {
	t, _ := d.Token()
	open, nested := t.(json.Delim)
	if !nested {
		return ""
	}
	for i := 0; d.More(); i++ {
		name := fmt.Sprint(prefix, i)
		if open == '{' {
			key, _ := d.Token()
			name = fmt.Sprint(prefix, key)
			flag := cmp.Or(f.short[name], strings.TrimPrefix(flagOf("Config."+name), "-"), name)
			switch other, twice := seen[flag]; {
			case twice && other == name:
				return name + " is there twice"
			case twice:
				return fmt.Sprintf("%s and %s are one setting: give one of them", other, name)
			}
			seen[flag] = name
		}
		if twice := f.keyTwice(d, name+".", seen); twice != "" {
			return twice
		}
	}
	_, _ = d.Token() // the end
	return ""
}

// assignAll takes the values of an object of JSON, whose names begin with prefix, but for flags that are given.
func (f *flags) assignAll(prefix string, values map[string]any, given map[string]bool) error {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		name, value := prefix+key, values[key]
		if within, ok := value.(map[string]any); ok {
			if module, ok := within["Type"].(string); ok { // as Config.MarshalJSON writes it
				f.stored = append(f.stored, assignment{name, module})
				within, _ = within["Settings"].(map[string]any)
			}
			if err := f.assignAll(name+".", within, given); err != nil {
				return err
			}
			continue
		}
		flag := strings.TrimPrefix(flagOf("Config."+name), "-")
		switch {
		case value == nil || given[flag] && ownFlags[name] == "":
		case slices.Contains(settings(), name):
			text, err := json.Marshal(value)
			if err != nil {
				return err
			}
			f.stored = append(f.stored, assignment{name, string(text)})
		case f.Lookup(name) == nil || name == "set" || name == "config":
			return f.unknown(name)
		case given[name]:
		default:
			if err := f.setFlag(name, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// setFlag sets a flag by a value of JSON. A list is several values of -data and -view, and one with commas of other flags.
func (f *flags) setFlag(name string, value any) error {
	if f.filed == nil {
		f.filed = map[string]bool{}
	}
	f.filed[name] = true
	each := []string{fmt.Sprint(value)}
	if list, ok := value.([]any); ok {
		each = nil
		for _, x := range list {
			each = append(each, fmt.Sprint(x))
		}
		if name != "data" && name != "view" {
			each = []string{strings.Join(each, ",")}
		}
	}
	for _, text := range each {
		if err := f.Set(name, text); err != nil {
			return fmt.Errorf("%s is %q: %w", name, text, err)
		}
	}
	return nil
}
