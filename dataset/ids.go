package dataset

import (
	"fmt"
	"html"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/largemvc/largemvc/dataset/internal/elem"
	"github.com/largemvc/largemvc/internal/lists"
)

// Names of what names the samples: these, in lower case, and what ends in id.
var (
	idNames = []string{"id", "ids", "idx", "index", "uuid", "guid", "sample", "samples", "sampleid", "sampleids", "samplename",
		"sample_name", "sample_names", "rowname", "rownames", "row_name", "row_names", "row.names", "rowid", "obs_names",
		"barcode", "barcodes", "patient", "patients", "participant", "subject", "primary_key"}
	endsInID = regexp.MustCompile(`(?i:[_ .\-](?:id|ids|idx|uuid|guid|barcode)$)|^(?i:id)[_ .\-]|` +
		`[a-z0-9](?:Id|ID|Ids|IDs|Idx|UUID|Uuid)$|` +
		`^(?i:(?:patient|subject|user|customer|product|item|doc|document|image|case|participant|record|object|entity|row)ids?)$`)
	// otherIDNames name samples as well as anything else.
	otherIDNames = []string{"name", "names", "key", "keys", "case", "cell", "file", "filename", "image", "record", "observation",
		"obs", "row", "accession", "number", "nr", "no", "nr.", "no.", "#"}
	// rarelyIDs matches names of ids that are names of features elsewhere.
	rarelyIDs = regexp.MustCompile(`(?i)^(?:[a-z]{1,4}id|rn|sn|seqn|[ms]rn|[ms]sn|sku|isbn|fips|zip|ticket|serial|` +
		`identifier|level_0|individual|donor|specimen|proband|animal|client|customer|member|person|household|respondent|` +
		`(?:row|case|sample|obs|record|serial|subj|subject|patient)(?:num|number|no|nr))$|` +
		`[_ .\-](?:number|num|nr|no|code|index)$|(?-i:[a-z](?:Number|Num|Nr|No|Code|Index)$)|^code$`)
	// resultNames are names of columns that an earlier clustering wrote.
	resultNames = []string{"cluster", "clusters", "leiden", "louvain", "kmeans", "kmeans_label", "prediction", "predicted",
		"split", "fold"}
)

// namesIDs reports whether a name is one of ids.
func namesIDs(name string) bool {
	return slices.Contains(idNames, strings.ToLower(strings.TrimSpace(name))) || endsInID.MatchString(name)
}

// chooseID takes the column that names the samples: the one of the options, else the one named id, else the only one with
// another name of ids, else a first column without a name below a header. Further ones are left out.
func (c *csvFile) chooseID(taken []bool) error {
	if c.holdsTriplets() {
		return nil
	}
	named := c.namedIDs(taken)
	why := "further ids of the samples"
	if c.o.NoIDs {
		why = "ids, which Options.NoIDs leaves out"
	} else {
		chosen, err := c.idOf(named, taken)
		if err == nil {
			asked, _ := c.askedID() // idOf has returned its error
			c.s.idsAsked = asked >= 0 && chosen == asked
		}
		if err == nil && chosen >= 0 {
			err = c.checkID(chosen, c.s.idsAsked)
		}
		switch {
		case err != nil && c.s.role == roleMask && !c.s.idsAsked:
			return nil // a view of such a name
		case err != nil:
			return err
		case chosen >= 0:
			taken[chosen], c.roles.id = true, chosen
		}
	}
	for _, i := range append(named, c.unnamedIDs()...) {
		if !taken[i] {
			taken[i] = true
			c.s.left = append(c.s.left, Omission{c.s.path, c.title(i), why})
		}
	}
	return nil
}

// namedIDs are the columns with names of ids, and the index of pandas. In a mask, one of 0 and 1 alone is a view of such a name.
func (c *csvFile) namedIDs(taken []bool) (named []int) {
	for i, h := range c.header {
		view := c.s.role == roleMask && c.seen[i]&moreThanBits == 0
		id := namesIDs(h) || slices.Contains(c.index, h)
		if !view && !taken[i] && id && !matches(c.o.OneHot, c.optionName(i)) && (c.fields > 1 || c.lists) {
			named = append(named, i)
		}
	}
	return named
}

// idOf returns the column of the ids, −1 without; named are those with a name of ids.
func (c *csvFile) idOf(named []int, taken []bool) (int, error) {
	if c.roles.id >= 0 {
		return c.roles.id, nil
	}
	if i, err := c.askedID(); err != nil || i >= 0 {
		return i, err
	}
	switch k, err := soleID("columns", lists.Texts(named, c.nameOf)); {
	case err != nil:
		return 0, err
	case k >= 0:
		return named[k], nil
	case c.unnamedFirst() && !taken[0]:
		return 0, nil
	}
	return -1, nil
}

// askedID returns the column that Options.IDs names, −1 without.
func (c *csvFile) askedID() (int, error) {
	found := -1
	for _, name := range c.o.idNames() {
		i := c.find(name)
		if i < 0 {
			continue
		}
		if found >= 0 && i != found {
			return 0, fmt.Errorf("has several columns of Options.IDs %s: %s and %s", c.o.IDs, c.title(found), c.title(i))
		}
		if err := c.once(name); err != nil {
			return 0, err
		}
		found = i
	}
	return found, nil
}

// soleID returns the index of id among names of ids, or of the only name; −1 if there is none. what are the things named.
func soleID(what string, names []string) (int, error) {
	isID := func(name string) bool { return len(names) == 1 || strings.EqualFold(name, "id") }
	k := slices.IndexFunc(names, isID)
	if k >= 0 && !slices.ContainsFunc(names[k+1:], isID) {
		return k, nil
	}
	if len(names) > 0 {
		return 0, fmt.Errorf("has several %s with names of ids (%s): give Options.IDs the one that names the samples", what,
			someNames(names))
	}
	return -1, nil
}

// unnamedFirst reports whether the first column has no name below a header: the index of pandas, or the row names of R.
func (c *csvFile) unnamedFirst() bool {
	return len(c.header) > 0 && (c.fields > 1 || c.lists) && pandasName.MatchString(c.header[0])
}

// unnamedIDs are the columns without a name that name samples: the first one, and others that count the rows.
func (c *csvFile) unnamedIDs() (unnamed []int) {
	for i, name := range c.header {
		if i == 0 && c.unnamedFirst() || i > 0 && pandasName.MatchString(name) && c.countsSamples(i) {
			unnamed = append(unnamed, i)
		}
	}
	return unnamed
}

// pandasName matches the name that pandas gives a column without a name: an index that was saved and read as a column.
var pandasName = regexp.MustCompile(`^(Unnamed: \d+(\.\d+)*)?$`)

// mayNameIDs reports whether a name may be one of ids, or is none.
func mayNameIDs(name string) bool {
	return slices.Contains(otherIDNames, strings.ToLower(name)) || pandasName.MatchString(name)
}

// idColumn is the name of the column of ids of a table; empty without one.
func (s *source) idColumn() string {
	if c := s.text; c != nil && c.roles.id > 0 || c != nil && c.roles.id == 0 && !c.unnamedFirst() {
		return c.columnName(c.roles.id)
	}
	return ""
}

// checkOtherIDs refuses a column of a file of labels that may name the samples and has no name of ids. One that counts the rows
// says no more than their places do.
func (c *csvFile) checkOtherIDs(taken []bool) error {
	if c.s.role != roleLabels || c.o.NoIDs || c.roles.id >= 0 || c.roles.label < 0 {
		return nil
	}
	for i := range c.fields {
		if !taken[i] && !c.countsSamples(i) && c.checkID(i, false) == nil {
			return maySay(c.title(i), c.optionName(i))
		}
	}
	return nil
}

// maySay is the error that something in a file of labels may name the samples.
func maySay(what, option string) error {
	return fmt.Errorf("has different values in %s, which may name the samples: give Options.IDs %s if they do, or "+
		"Options.NoIDs if the rows are in the order of the data", what, option)
}

// checkOtherArrays does the same for a file of arrays.
func (s *source) checkOtherArrays(labels *variable, o *Options, lim *limits) error {
	if s.csv || s.ids != nil || o.NoIDs {
		return nil
	}
	for _, v := range s.vars {
		if v == labels || !s.isIDs(v) || v.elements() != labels.elements() {
			continue
		}
		if ids, err := v.readIDs(lim); err == nil && !countsRows(ids) {
			return named(s.path, maySay(v.name, v.name))
		}
	}
	return nil
}

// checkID refuses ids that occur twice or are missing, and, unless they are asked for, measurements.
func (c *csvFile) checkID(column int, asked bool) error {
	defer c.lim.Reset(c.lim.Used())
	first := map[string]int{}
	at := c.title(column)
	return c.eachOf(column, func(line int, f []byte) error {
		if isMissing(f) {
			return fmt.Errorf("has no id in line %d, %s; correct it, or give Options.NoIDs", line, at)
		}
		if x, ok := c.parse(slices.Clone(f)); ok && x != math.Trunc(x) && !asked {
			return fmt.Errorf("has %s in line %d, %s: no id, but a measurement; give Options.NoIDs, which leaves the "+
				"column out, or rename it if it is a feature", short(f), line, at)
		}
		if before, ok := first[string(f)]; ok {
			return fmt.Errorf("has the id %s twice in %s, in lines %d and %d; ids must all be different: correct them, or give "+
				"Options.NoIDs or the column that names the samples", short(f), at, before, line)
		}
		first[string(f)] = line
		return c.lim.Take("ids", textBytes+int64(len(f)))
	})
}

// idVariable is the variable of a file of arrays that names its samples, or nil.
func (s *source) idVariable(o *Options) (*variable, error) {
	if s.csv || o.NoIDs {
		return s.ids, nil
	}
	if o.IDs != "" {
		v, err := s.idsOf(o)
		if err != nil {
			return nil, err
		}
		if v != nil && !s.isIDs(v) {
			return nil, v.errorf("is %s of class %s; ids are a vector of texts or whole numbers", v.shapeString(), v.class)
		}
		if v == nil {
			v = s.index
		}
		return v, nil
	}
	if s.annData {
		return s.index, nil
	}
	var found []*variable
	for _, v := range s.vars {
		if namesIDs(v.name) && s.isIDs(v) && !o.leavesOut(v.name) {
			found = append(found, v)
		}
	}
	switch k, err := soleID("variables", lists.Texts(found, func(v *variable) string { return v.name })); {
	case err != nil:
		return nil, named(s.path, err)
	case k >= 0:
		return found[k], nil
	}
	return nil, nil
}

// isIDs reports whether a variable has the shape of ids. One value is an id if the matrices have one row.
func (s *source) isIDs(v *variable) bool {
	n, vector := v.vectorLen()
	if !vector || v.kind != text && v.typ.Kind.IsFloat() && !v.colMajor {
		return false
	}
	rows := 0 // the most of a matrix
	for _, m := range s.vars {
		if r, _, ok := m.shape2(); ok && m.kind == numeric && len(m.dims) == 2 && m != v {
			rows = max(rows, r)
		}
	}
	return n > 1 || n == 1 && rows == 1
}

// readIDs reads ids. They are all different.
func (v *variable) readIDs(lim *limits) (ids []string, err error) {
	if v.kind == text {
		if ids, err = v.strings(); err != nil {
			return nil, v.wrap(err)
		}
	} else if ids, err = readNumberedIDs(v, lim); err != nil {
		return nil, err
	}
	plainIDs(ids)
	if err := lim.Take("ids", 64*int64(len(ids))); err != nil {
		return nil, v.wrap(err)
	}
	seen := make(map[string]int, len(ids))
	for i, id := range ids {
		if before, ok := seen[id]; ok {
			return nil, v.errorf("has the id %s twice, for samples %d and %d (from 0); ids are all different: mend them, or "+
				"give Options.NoIDs", id, before, i)
		}
		if id == "" {
			return nil, v.errorf("has no id for sample %d (from 0); correct it, or give Options.NoIDs", i)
		}
		seen[id] = i
	}
	return ids, nil
}

// readNumberedIDs reads ids that are whole numbers.
func readNumberedIDs(v *variable, lim *limits) ([]string, error) {
	n, _ := v.vectorLen()
	if err := lim.Take("ids", 40*int64(n)); err != nil {
		return nil, v.wrap(err)
	}
	switch v.typ.Kind {
	case elem.Int64:
		return asDigits(exactInts[int64](v, n, lim))
	case elem.Uint64:
		return asDigits(exactInts[uint64](v, n, lim))
	}
	return asDigits(wholeNumbers(v, lim))
}

// asDigits writes whole numbers, unless there is an error.
func asDigits[T int | int64 | uint64](x []T, err error) ([]string, error) {
	return lists.Texts(x, func(id T) string { return fmt.Sprint(id) }), err
}

// plainIDs takes the .0 away where all ids are whole numbers that a program wrote as floats.
func plainIDs(ids []string) {
	for _, id := range ids {
		digits, ok := strings.CutSuffix(id, ".0")
		if _, err := strconv.ParseUint(digits, 10, 63); !ok || err != nil {
			return
		}
	}
	for i, id := range ids {
		ids[i] = strings.TrimSuffix(id, ".0")
	}
}

// join says where the rows of some files belong.
type join struct {
	ids   []string
	rows  [][]int // of each file the sample of each row, −1 without; nil: as they stand
	moved []bool  // of each file whether it has its samples in another order
	lack  [][]int // of each file the samples that it lacks
	same  bool    // all files have the samples in the same order
}

// joinIDs matches lists of ids, in the order of the first list. Ids that only other lists have follow. Ids that are not in only
// are no samples; nil: all are.
func joinIDs(lists [][]string, only map[string]bool) *join {
	j := &join{rows: make([][]int, len(lists)), moved: make([]bool, len(lists)), lack: make([][]int, len(lists)), same: true}
	at := make(map[string]int, len(lists[0]))
	j.ids = make([]string, 0, len(lists[0]))
	for k, list := range lists {
		if k > 0 && slices.Equal(list, lists[0]) {
			j.rows[k] = j.rows[0]
			continue
		}
		j.rows[k] = make([]int, len(list))
		for i, id := range list {
			to, known := at[id]
			switch {
			case known:
			case only != nil && !only[id]:
				to = -1
			default:
				to = len(j.ids)
				at[id] = to
				j.ids = append(j.ids, id)
			}
			j.rows[k][i] = to
		}
	}
	for k := range lists {
		j.compare(k)
	}
	return j
}

// compare notes what list k lacks, and whether it has the samples in their order.
func (j *join) compare(k int) {
	has, kept := make([]bool, len(j.ids)), 0
	for _, to := range j.rows[k] {
		if to >= 0 {
			j.moved[k] = j.moved[k] || to != kept
			has[to] = true
			kept++
		}
	}
	for i, h := range has {
		if !h {
			j.lack[k] = append(j.lack[k], i)
		}
	}
	j.same = j.same && !j.moved[k] && kept == len(j.ids)
	if !j.moved[k] && kept == len(j.ids) && kept == len(j.rows[k]) {
		j.rows[k] = nil
	}
}

// rowNumbers are the numbers from 0 to before n, as texts.
func rowNumbers(n int) []string { return lists.Texts(lists.Indices(n), itoa) }

// placesOf are the places of names in their list.
func placesOf(names []string) map[string]int {
	at := make(map[string]int, len(names))
	for i, name := range names {
		at[name] = i
	}
	return at
}

// names are the first few of some ids.
func (j *join) names(samples []int) string {
	return someNames(lists.Texts(samples, func(i int) string { return j.ids[i] }))
}

// zerosBefore matches zeros before a number.
var zerosBefore = regexp.MustCompile(`(^|\D)0+(\d)`)

// spelled returns an error if two ids, which no file has both, differ only as alike says.
func (j *join) spelled() error {
	seen := map[string]int{}
	for _, lack := range j.lack {
		for _, i := range lack {
			short := alike(j.ids[i])
			if other, ok := seen[short]; ok && other != i && !j.together(i, other) {
				return fmt.Errorf("spells ids otherwise than another file (%+q and %+q): write the ids of a sample alike; if "+
					"they are two samples, rename one", j.ids[min(i, other)], j.ids[max(i, other)])
			}
			seen[short] = i
		}
	}
	return nil
}

// alike returns an id without case, blanks around it, zeros before numbers and what does not show. Dashes, points, underscores
// and blanks in it become alike, for R writes a.b for a-b, and so do two spellings of a number (1e+05 and 100000).
func alike(id string) string {
	short := strings.ToLower(printed(id))
	if x, err := strconv.ParseFloat(short, 64); err == nil && countDigits(short) <= mostDigits {
		return className(x)
	}
	short = strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Pd, unicode.Zs) || strings.ContainsRune("_.\u2212", r) {
			return '-'
		}
		return r
	}, short)
	return zerosBefore.ReplaceAllString(short, "$1$2")
}

// accents are the names that HTML gives the marks of letters: &eacute; is é.
var accents = map[rune]string{0x300: "grave", 0x301: "acute", 0x302: "circ", 0x303: "tilde", 0x304: "macr", 0x306: "breve",
	0x307: "dot", 0x308: "uml", 0x30a: "ring", 0x30b: "dblac", 0x30c: "caron", 0x327: "cedil", 0x328: "ogon"}

// printed returns a text as it looks: without blanks around it and characters that do not show, and with one character for a
// letter and its accent.
func printed(s string) string {
	if all([]byte(s), func(c byte) bool { return c > ' ' && c < utf8.RuneSelf }) {
		return s
	}
	var out []rune
	for _, r := range s {
		if unicode.Is(unicode.Cf, r) {
			continue
		}
		if last := len(out) - 1; last >= 0 && accents[r] != "" {
			entity := "&" + string(out[last]) + accents[r] + ";"
			if letter := []rune(html.UnescapeString(entity)); len(letter) == 1 {
				out[last] = letter[0]
				continue
			}
		}
		out = append(out, r)
	}
	return strings.TrimSpace(string(out))
}

// together reports whether a file has two samples.
func (j *join) together(a, b int) bool {
	return slices.ContainsFunc(j.lack, func(lack []int) bool {
		_, lacksA := slices.BinarySearch(lack, a)
		_, lacksB := slices.BinarySearch(lack, b)
		return !lacksA && !lacksB
	})
}
