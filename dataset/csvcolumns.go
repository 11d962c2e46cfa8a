package dataset

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
)

// csvRoles says what the columns of a CSV file are.
type csvRoles struct {
	label, id int // −1 without
	features  []csvFeature
	texts     []int // columns of texts without a role
}

// csvFeature is one feature: a column of numbers, or whether a column has a text.
type csvFeature struct {
	column int
	text   string
	onehot bool
}

func (c *csvFile) featureName(f csvFeature) string {
	if f.onehot {
		return c.columnName(f.column) + "=" + f.text
	}
	return c.columnName(f.column)
}

// value is the value of a feature of 0 and 1 for a field of its column.
func (f csvFeature) value(field []byte) float64 {
	switch {
	case isMissing(field):
		return math.NaN()
	case string(field) == f.text:
		return 1
	}
	return 0
}

// maxCategories is the number of different texts up to which a column becomes features of 0 and 1.
const maxCategories = 1000

// assign decides what each column is: labels, ids, left out, or a feature. A column of texts without a role is an error in a
// file of data.
func (c *csvFile) assign() error {
	c.roles = csvRoles{label: -1, id: -1}
	if err := c.lim.Take("what is noted of its columns", 2*int64(c.fields)); err != nil {
		return err
	}
	taken := make([]bool, c.fields) // columns that are no features
	if i, err := c.askedID(); err == nil && i >= 0 && !c.holdsTriplets() {
		taken[i] = true // it gives no classes
	}
	if err := c.assignResult(taken); err != nil {
		return err
	}
	for i := range taken {
		if c.leftOut(i) {
			taken[i] = true
			c.s.left = append(c.s.left, Omission{c.s.path, c.title(i), "by option"})
		}
	}
	for _, step := range []func(taken []bool) error{c.chooseLabel, c.chooseID, c.checkOtherIDs, c.chooseFeatures,
		c.checkThousands} {
		if err := step(taken); err != nil {
			return err
		}
	}
	return nil
}

// leavesOut reports whether a name is one of those that the options leave out.
func (o *Options) leavesOut(name string) bool {
	return matches(o.LeaveOut, name) || matches(o.LeftOut, name)
}

// leftOut reports whether the options leave out a column, by its name or a pattern of that, or by its number.
func (c *csvFile) leftOut(i int) bool {
	name := c.nameOf(i)
	given := func(names []string) bool {
		if slices.Contains(names, c.columnName(i)) || slices.Contains(names, c.optionName(i)) {
			return true
		}
		return name != "" && matches(names, name) // a pattern fits no column without a name
	}
	return given(c.o.LeaveOut) || given(c.o.LeftOut)
}

// matches reports whether a name is one of some, or fits a pattern of them (*, ?, [a-z]).
func matches(patterns []string, name string) bool {
	for _, p := range patterns {
		if p == name || strings.EqualFold(p, name) {
			return true
		}
		if ok, err := path.Match(p, name); ok && err == nil {
			return true
		}
	}
	return false
}

// chooseLabel finds the column of the labels: the one named by option, or one of a usual name. Other columns of such names are
// no features: with them the clusters would be given away.
func (c *csvFile) chooseLabel(taken []bool) (wrong error) {
	if c.s.role == roleMask || c.holdsTriplets() {
		return nil
	}
	if c.o.Labels != "" {
		if err := c.takeGivenLabel(c.o.Labels, taken); err != nil {
			return err
		}
	}
	point := slices.ContainsFunc(c.header, func(h string) bool { return strings.EqualFold(h, "x") })
	names := labelNames
	if c.s.role == roleLabels {
		names = append(slices.Clip(names), "cluster", "clusters")
	}
	for _, name := range names {
		for i, h := range c.header {
			switch {
			case !strings.EqualFold(h, name) || taken[i]:
				continue
			case name == "y" && point:
				c.s.notes = append(c.s.notes, fmt.Sprintf("%s: column %s is read as a feature, as column x is; if it holds the "+
					"classes, give Options.Labels %[2]s", c.s.path, h))
				continue
			}
			taken[i] = true
			if c.o.NoLabels || c.o.Labels != "" || c.roles.label >= 0 {
				c.s.left = append(c.s.left, Omission{c.s.path, "column " + h, "classes that are not used"})
				continue
			}
			wrong = c.takeLabel(i)
		}
	}
	return wrong
}

// takeLabel takes a column as the labels, in a file of labels only if no other has its name.
func (c *csvFile) takeLabel(i int) error {
	if c.roles.label = i; c.s.role != roleLabels {
		return nil
	}
	return c.once(c.header[i])
}

// takeGivenLabel takes the column that the options name, if this file has it.
func (c *csvFile) takeGivenLabel(name string, taken []bool) error {
	if err := c.once(name); err != nil {
		return err
	}
	if c.roles.label = c.find(name); c.roles.label >= 0 {
		taken[c.roles.label] = true
	} else if i, err := strconv.Atoi(name); err == nil {
		return fmt.Errorf("has columns 0 to %d; Options.Labels is %d", c.fields-1, i)
	}
	return nil
}

// holdsTriplets reports whether a file is one of (row, column, value): its rows are no samples, and none of its columns names or
// labels any.
func (c *csvFile) holdsTriplets() bool {
	return c.o.Triplets && c.s.role == roleData && c.fields == 3
}

// chooseFeatures takes the columns of numbers that are left, and the columns of texts that options make features of.
func (c *csvFile) chooseFeatures(taken []bool) error {
	for i := range c.fields {
		switch {
		case taken[i]:
		case c.wantsOneHot(i):
			if err := c.addOneHot(i); err != nil {
				return err
			}
		case c.isEmpty(i):
			c.s.left = append(c.s.left, Omission{c.s.path, c.title(i), "it is empty and has no name"})
		case c.holdsText(i):
			c.roles.texts = append(c.roles.texts, i)
		default:
			if err := c.lim.Take("the list of its columns", 32); err != nil {
				return err
			}
			c.roles.features = append(c.roles.features, csvFeature{column: i})
		}
	}
	if c.s.refused = nil; c.s.role == roleData {
		c.refuse()
	}
	return nil
}

// checkFeature refuses a column of numbers that its name or its values show to be something else.
func (c *csvFile) checkFeature(i int) error {
	option := c.optionName(i)
	switch {
	case c.header == nil && i == 0 && c.fields > 1 && c.countsSamples(i):
		return fmt.Errorf("has the numbers of its rows in %s: give Options.IDs %s if they name the samples, or "+
			"Options.LeaveOut %[2]s", c.title(i), option)
	case i == 0 && !c.o.NoIDs && c.mayBeginWithIDs() && c.checkID(i, false) == nil:
		return fmt.Errorf("has a different whole number in each row of %s, beside decimals: give Options.IDs %s if they name "+
			"the samples, Options.LeaveOut %[2]s, or Options.NoIDs to read it as a feature", c.title(i), option)
	case c.header != nil && slices.Contains(resultNames, strings.ToLower(c.header[i])):
		return fmt.Errorf("has %s, which may be the result of an earlier fit: give Options.Labels %s to compare with it, or "+
			"Options.LeaveOut %[2]s", c.title(i), option)
	case c.looksLikeIDs(i) && c.checkID(i, false) == nil:
		return fmt.Errorf("has a different value in each row of %s: give Options.IDs %s if they name the samples, else "+
			"Options.LeaveOut %[2]s; if it is a feature, rename the column", c.title(i), option)
	case c.countsSamples(i):
		c.s.notes = append(c.s.notes, fmt.Sprintf("%s: %s counts the samples and is read as a feature; if it has the ids, give "+
			"Options.IDs %s; to leave it out, Options.LeaveOut %[3]s", c.s.path, c.title(i), option))
	}
	return nil
}

// enoughRows is the number of rows in which the numbers of a feature hardly are all different whole numbers.
const enoughRows = 20

// mayBeginWithIDs reports whether a table without a header has decimals, and enough rows for numbers of features to repeat.
func (c *csvFile) mayBeginWithIDs() bool {
	return c.header == nil && c.fields > 1 && c.records >= enoughRows && (c.comma || c.firstPoint.line > 0)
}

// looksLikeIDs reports whether a column of numbers may name the samples: by its name, or, where there are enough rows for numbers
// of features to repeat, by a name that is one of ids now and then, or by zeros before its numbers.
func (c *csvFile) looksLikeIDs(i int) bool {
	if c.header != nil && mayNameIDs(c.header[i]) {
		return true
	}
	zeros := c.seen[i]&zerosField != 0
	return c.fields > 1 && c.records >= enoughRows && (zeros || c.header != nil && rarelyIDs.MatchString(c.header[i]))
}

// isEmpty reports whether a column is what separators at the ends of all lines make: no name and no value.
func (c *csvFile) isEmpty(i int) bool {
	return c.nameOf(i) == "" && i > 0 && c.seen[i]&^moreThanBits == missingField && (c.header != nil || i == c.fields-1)
}

// countsSamples reports whether every field of a column is the number of its record.
func (c *csvFile) countsSamples(i int) bool {
	return c.seen[i]&(countsFrom0|countsFrom1) != 0 && c.records > 2
}

// placeOfText names a column and its first field that is no number in the notation of the file.
func (c *csvFile) placeOfText(i int) string {
	at := c.firstText[i]
	if at.line == 0 {
		at = c.firstComma
		if at.line == 0 || at.column != i {
			at = c.firstGroup
		}
	}
	return fmt.Sprintf("%s: %q in line %d", c.title(i), at.text, at.line)
}

// textError says what may be done about a column of texts.
func (c *csvFile) textError(i int) error {
	option, where, seen := c.optionName(i), c.placeOfText(i), c.seen[i]
	switch {
	case seen&boolField != 0 && seen&textField == 0:
		return fmt.Errorf("has true or false among numbers in %s; write 1 and 0, or leave the column out with "+
			"Options.LeaveOut %s", where, option)
	case seen&textField != 0 && seen&numberField != 0:
		if c.secondHeader() {
			return fmt.Errorf("has a value that is not a number in %s: if its line has more names, or units, take the line "+
				"out", where)
		}
		return fmt.Errorf("has a value that is not a number in %s; correct it, write NA where a value is missing, or leave "+
			"the column out with Options.LeaveOut %s", where, option)
	case seen&strangeField != 0 && seen&wordField == 0:
		return fmt.Errorf("has numbers in %s that cannot be read; write them as 0.5 or 1e-3 without signs, units and quotes, "+
			"give Options.IDs %s if they name the samples, or leave the column out with Options.LeaveOut %[2]s",
			where, option)
	case seen&dateField != 0 && seen&wordField == 0:
		return fmt.Errorf("has dates in %s; turn them into numbers (days since a first one, the month, …), leave the column "+
			"out with Options.LeaveOut %s, or give Options.IDs %[2]s if it names the samples", where, option)
	}
	turned := ""
	if i == 0 {
		turned = ". If it names the features, and the columns are the samples, give Options.Orientation columns"
	}
	return fmt.Errorf("has texts in %s; give the option that fits: Options.Labels %s (the classes), Options.IDs %[2]s (the "+
		"names of the samples), Options.OneHot %[2]s (a feature of 0 and 1 for each text), or leave it out with "+
		"Options.LeaveOut %[2]s%[3]s",
		where, option, turned)
}

// secondHeader reports whether the line below a header has texts in several columns, as a line of units has.
func (c *csvFile) secondHeader() bool {
	texts := 0
	for _, at := range c.firstText {
		if c.header != nil && at.line == c.firstLine && c.seen[at.column]&numberField != 0 {
			texts++
		}
	}
	return texts > 1
}

// wantsOneHot reports whether options make features of 0 and 1 of a column. A pattern takes columns of texts only.
func (c *csvFile) wantsOneHot(i int) bool {
	if slices.Contains(c.o.OneHot, c.optionName(i)) {
		return true
	}
	return c.holdsText(i) && matches(c.o.OneHot, c.nameOf(i))
}

// addOneHot adds a feature for each different text of a column, in their order.
func (c *csvFile) addOneHot(i int) error {
	texts := map[string]bool{}
	err := c.eachOf(i, func(_ int, f []byte) error {
		if isMissing(f) || texts[string(f)] {
			return nil
		}
		if len(texts) == maxCategories {
			return fmt.Errorf("has more than %d different texts in %s, too many for features of 0 and 1; leave it out with "+
				"Options.LeaveOut %s", maxCategories, c.title(i), c.optionName(i))
		}
		texts[string(f)] = true
		return c.lim.Take("texts", textBytes+int64(len(f)))
	})
	if err != nil {
		return err
	}
	keys := slices.Sorted(maps.Keys(texts))
	order, _, err := textClasses(keys)
	if err != nil {
		return fmt.Errorf("in %s %w", c.title(i), err)
	}
	sorted := make([]string, len(keys))
	for k, at := range order { // each text has a class of its own
		sorted[at] = keys[k]
	}
	for _, t := range sorted {
		c.roles.features = append(c.roles.features, csvFeature{column: i, text: t, onehot: true})
	}
	return nil
}

// stream hands over the values of some features, record by record.
func (c *csvFile) stream(features []csvFeature, run func(int, []byte) error) error {
	raw := make([]byte, 8*len(features))
	return c.each(func(record, line int, fields [][]byte) error {
		for k, feature := range features {
			f := fields[feature.column]
			var x float64
			if feature.onehot {
				x = feature.value(f)
			} else {
				var ok bool
				if x, ok = c.parse(f); !ok {
					return c.numberError(f, line, feature.column)
				}
				if math.Abs(x) >= 1<<53 && roundsWhole(f, x) {
					return fmt.Errorf("has the whole number %s in line %d, %s, which float64 rounds: it holds whole numbers up "+
						"to 2^53. Leave the column out with Options.LeaveOut %s; if it has the ids, give Options.IDs %[4]s; if "+
						"it is a feature, write the number with an "+
						"exponent", short(f), line, c.title(feature.column), c.optionName(feature.column))
				}
			}
			binary.LittleEndian.PutUint64(raw[8*k:], math.Float64bits(x))
		}
		return run(record*len(features), raw)
	})
}

// texts reads a column. Equal texts share their memory.
func (c *csvFile) texts(column int) ([]string, error) {
	if err := c.lim.Take("texts", stringBytes*int64(c.records)); err != nil {
		return nil, err
	}
	out := make([]string, 0, c.records)
	known := newTexts(c.lim)
	var none, missing csvPlace
	err := c.eachOf(column, func(line int, f []byte) error {
		if isMissing(f) && !c.o.someMissing {
			return fmt.Errorf("has no value in line %d, %s (%q): fill it in, or take the line out; if the column has the "+
				"classes, Options.NoLabels reads no classes", line, c.title(column), f)
		}
		if isMissing(f) {
			if strings.EqualFold(string(f), "none") {
				none.keep(f, line, column)
			} else {
				missing.keep(f, line, column)
			}
			if none.line > 0 && missing.line > 0 {
				return fmt.Errorf("has %q in line %d and %q in line %d, %s: both mean that a label is missing; if %[1]s is a "+
					"class, rename it, else write missing labels in one way", none.text, none.line, missing.text, missing.line,
					c.title(column))
			}
			f = nil
		}
		s, err := known.one(f)
		out = append(out, s)
		return err
	})
	return out, err
}

// TableView is a view made of some columns of a table.
type TableView struct {
	Name string
	// Columns are names of columns, ranges of them (first-last, in the order of the table) and patterns (shape_*); where the
	// table has no names, numbers from 0 and ranges of numbers.
	Columns []string
}

// tableViews makes the views of the options from the columns of the file. One of several files may lack views; all columns of
// a file that has none of them are one view.
func (c *csvFile) tableViews() error {
	c.s.lacking = map[string]error{}
	used := make([]bool, c.fields)
	for k := range c.o.Table {
		t := &c.o.Table[k]
		if c.o.several && c.lacks(t.Columns) {
			c.s.lacking[t.Name] = fmt.Errorf("has no column %s, but %s", strings.Join(t.Columns, ","), c.listing())
			continue
		}
		features, err := c.featuresOf(t, used)
		if err != nil {
			return fmt.Errorf("%w; view %s (Options.Table) needs it", err, t.Name)
		}
		if len(features) == 0 {
			return fmt.Errorf("has no column for view %s (Options.Table), but %s", t.Name, c.listing())
		}
		c.s.vars = append(c.s.vars, c.matrix(t.Name, features))
	}
	if len(c.s.lacking) == len(c.o.Table) {
		c.wholeView()
		return nil
	}
	var rest []string
	for _, f := range c.roles.features {
		if !used[f.column] {
			rest = append(rest, c.columnName(f.column))
		}
	}
	if len(rest) > 0 {
		c.s.left = append(c.s.left, Omission{c.s.path, "columns " + someNames(slices.Compact(rest)), "in no view of " +
			"Options.Table"})
	}
	c.s.refused = nil // texts are in no view, which the columns that are left say
	return nil
}

// featuresOf returns the features in the columns of a view, and marks these columns in used.
func (c *csvFile) featuresOf(t *TableView, used []bool) (features []csvFeature, err error) {
	in := make([]bool, c.fields)
	for _, part := range t.Columns {
		some, err := c.of(part, func(i int) bool { return i == c.roles.label || i == c.roles.id })
		if err != nil {
			return nil, err
		}
		for _, i := range some {
			if in[i] {
				continue
			}
			in[i] = true
			for _, f := range c.roles.features {
				if f.column == i {
					features = append(features, f)
					used[i] = true
				}
			}
			if !used[i] && !isPattern(part) {
				return nil, fmt.Errorf("has no feature in %s, which is %s", c.columnName(i), c.roleOf(i))
			}
		}
	}
	return features, nil
}

func (c *csvFile) roleOf(i int) string {
	switch {
	case i == c.roles.label:
		return "the classes"
	case i == c.roles.id:
		return "the ids"
	case slices.Contains(c.roles.texts, i):
		return "text"
	}
	return "left out"
}
