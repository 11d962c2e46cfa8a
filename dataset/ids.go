package dataset

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/largemvc/largemvc/dataset/internal/elem"
)

// Names of what names the samples, lower case.
var (
	// strongIDs name samples wherever they stand.
	strongIDs = []string{"id", "ids", "idx", "index", "uuid", "guid", "sample", "samples", "sampleid", "sampleids", "samplename",
		"sample_name", "sample_names", "rowname", "rownames", "row_name", "row_names", "row.names", "rowid", "obs_names",
		"barcode", "barcodes",
		"unnamed: 0", "patient", "patients", "participant", "subject", "primary_key"}
	// weakIDs do where all their values are different.
	weakIDs = []string{"name", "names", "key", "keys", "case", "cases", "cell", "cells", "file", "filename", "file_name",
		"path", "image",
		"record", "records", "observation", "obs", "row", "accession", "url", "nr", "no", "no.", "nr.", "#"}
	endsInID = regexp.MustCompile(`(?i:[_ .\-](?:id|ids|idx|uuid|guid|barcode)$)|^(?i:id)[_ .\-]|` +
		`[a-z0-9](?:Id|ID|Ids|IDs|Idx|UUID|Uuid)$|` +
		`^(?i:(?:patient|subject|user|customer|product|item|doc|document|image|case|participant|record|object|entity|row)ids?)$`)
	// untelling are the names that a first column has when nobody named it.
	untelling = regexp.MustCompile(
		`(?i)^(?:|unnamed(?:: ?\d+)?(?:_level_\d+)?|column ?0|column ?1|col ?0|col ?1|` +
			`v1|x\.1|\.\.\.1|var1|rn|\d+|n|num|number|count|counter|line)$`)
)

// numbersRows tells whether a name is one that a column has which numbers the rows of its own file, as an index does.
func numbersRows(name string) bool {
	switch lower := strings.ToLower(strings.TrimSpace(name)); lower {
	case "idx", "index", "row", "rows", "rowid", "row_id", "rowname", "rownames", "row_name", "row_names", "row.names",
		"nr", "no", "no.", "nr.", "#", "x", "obs", "observation", "record":
		return true
	default:
		return untelling.MatchString(lower)
	}
}

// idStrength tells how surely a name is one of ids: 2 wherever it stands, 1 where the values are all different, 0 not.
func idStrength(name string) int {
	lower := strings.ToLower(strings.TrimSpace(name))
	switch {
	case slices.Contains(strongIDs, lower), endsInID.MatchString(name):
		return 2
	case slices.Contains(weakIDs, lower):
		return 1
	}
	return 0
}

// idColumn is what a pass over the file finds of a column that may hold the ids.
type idColumn struct {
	column, strength int
	first            map[string]int // the line of each value
	whole            bool           // texts, or whole numbers: no measurements
	twice            string         // a value that occurs twice
	lines            [2]int
	missing          int // line of a missing value; 0: none
}

// chooseID finds the column that names the samples: the one of the options, else one with a name of ids, else a first column
// without a telling name that counts the samples, else a column of texts that are all different.
func (c *csvFile) chooseID(s *source, o *Options, taken []bool, lim *limits) error {
	if o.NoIDs && s.role != roleMask || c.holdsTriplets(s, o) {
		return nil
	}
	if o.IDs != "" {
		if err := c.once(o.IDs); err != nil {
			return err
		}
	}
	candidates := c.idCandidates(o, taken)
	if len(candidates) == 0 {
		return nil
	}
	if err := c.gatherIDs(candidates, lim); err != nil {
		return err
	}
	asked := o.IDs != "" && candidates[0].column == c.find(o.IDs)
	chosen := candidates[0]
	if !asked {
		if chosen = bestID(candidates); chosen == nil || s.role == roleMask && !chosen.unique() {
			return nil // in a mask it may be a view of such a name
		}
	}
	if err := c.checkID(chosen); err != nil {
		return err
	}
	taken[chosen.column] = true
	if o.NoIDs { // the column of a mask
		s.left = append(s.left, Omission{s.path, c.title(chosen.column), "ids, which the options do not want"})
		return nil
	}
	c.roles.id, s.idsAsked = chosen.column, asked
	c.leaveFurtherIDs(s, candidates, taken)
	return nil
}

// checkID refuses ids that occur twice or are missing.
func (c *csvFile) checkID(k *idColumn) error {
	switch {
	case k.twice != "":
		return fmt.Errorf("has the id %s twice in %s, in lines %d and %d; ids must all be different: correct them, or give "+
			"Options.IDs none or the column that "+
			"names the samples", k.twice, c.title(k.column), k.lines[0], k.lines[1])
	case k.missing > 0:
		return fmt.Errorf("has no id in line %d, %s; correct it, or give Options.IDs none", k.missing, c.title(k.column))
	}
	return nil
}

// leaveFurtherIDs leaves out the other columns of ids, which are no features.
func (c *csvFile) leaveFurtherIDs(s *source, candidates []*idColumn, taken []bool) {
	for _, k := range candidates {
		if k.unique() && k.strength >= 1 && !taken[k.column] {
			taken[k.column] = true
			s.left = append(s.left, Omission{s.path, c.title(k.column), "further ids of the samples"})
		}
	}
}

func (k *idColumn) unique() bool { return k.twice == "" && k.missing == 0 && k.whole }

// idCandidates are the columns that may name the samples, the surest first.
func (c *csvFile) idCandidates(o *Options, taken []bool) []*idColumn {
	if o.IDs != "" {
		if i := c.find(o.IDs); i >= 0 {
			return []*idColumn{{column: i, strength: 3}}
		}
	}
	var out []*idColumn
	if c.fields == 1 {
		return nil // the only column is what the file is there for
	}
	const most = 32
	for i := range c.fields {
		if taken[i] || len(out) == most {
			continue
		}
		if matches(o.OneHot, c.optionName(i)) {
			continue
		}
		if strength, may := c.idStrengthOf(i); may {
			out = append(out, &idColumn{column: i, strength: strength})
		}
	}
	slices.SortStableFunc(out, func(a, b *idColumn) int { return b.strength - a.strength })
	return out
}

// idStrengthOf returns how surely a column holds ids, by its name, its place and its values, and whether it may hold any.
func (c *csvFile) idStrengthOf(i int) (strength int, may bool) {
	name := ""
	if c.header != nil {
		name = c.header[i]
	}
	if i == 0 && c.header != nil && (name == "" || strings.EqualFold(name, "unnamed: 0")) {
		return 2, true // the index of pandas, the row names of R
	}
	if strength = idStrength(name); strength > 0 {
		return strength, true
	}
	if i == 0 && c.countsSamples(0) && (untelling.MatchString(name) || name == "X" && c.find("y") < 0) { // R calls it X
		return 2, true
	}
	return 0, c.holdsText(i) && c.seen[i]&^(wordField|countsFrom0|countsFrom1) == 0 && c.records > 2
}

// gatherIDs reads the columns up to their first value that occurs twice.
func (c *csvFile) gatherIDs(candidates []*idColumn, lim *limits) error {
	for _, k := range candidates {
		k.first, k.whole = map[string]int{}, true
	}
	defer lim.Reset(lim.Used())
	return c.each(func(_, line int, fields [][]byte) error {
		for _, k := range candidates {
			f := fields[k.column]
			if k.twice != "" || !k.whole || k.missing > 0 {
				continue
			}
			if isMissing(f) {
				k.missing = line
				continue
			}
			if x, ok := c.parse(slices.Clone(f)); ok && (x != math.Trunc(x) || math.IsInf(x, 0)) && k.strength < 3 {
				k.whole = false // a measurement
				continue
			}
			if before, ok := k.first[string(f)]; ok {
				k.twice, k.lines = short(f), [2]int{before, line}
				k.first = nil
				continue
			}
			k.first[string(f)] = line
			if err := lim.Take("ids", textBytes+int64(len(f))); err != nil {
				return err
			}
		}
		return nil
	})
}

// bestID is the surest candidate whose values are all different; else one whose name says that they should be; else nil.
func bestID(candidates []*idColumn) *idColumn {
	for _, k := range candidates {
		if k.unique() {
			return k
		}
	}
	for _, k := range candidates {
		if k.strength == 2 && k.whole {
			return k
		}
	}
	return nil
}

// idVariable is the variable of a file of arrays that names its samples, or nil.
func (s *source) idVariable(o *Options) (*variable, error) {
	if s.csv || o.NoIDs {
		return s.ids, nil
	}
	if o.IDs != "" {
		v := s.find(o.IDs)
		if v != nil && !v.isIDs() {
			return nil, v.errorf("is %s of class %s; ids are a vector of texts or whole numbers", v.shapeString(), v.class)
		}
		return v, nil
	}
	for _, v := range s.vars {
		if idStrength(v.name) == 2 && v.isIDs() && !o.leavesOut(v.name) {
			return v, nil
		}
	}
	return nil, nil
}

// isIDs tells whether a variable has the shape of ids.
func (v *variable) isIDs() bool {
	n, vector := v.vectorLen()
	return vector && n > 1 && (v.kind == text || !v.typ.Kind.IsFloat() || v.colMajor)
}

// readIDs reads the ids of a file. They are all different.
func (s *source) readIDs(lim *limits) ([]string, error) {
	v := s.ids
	var ids []string
	var err error
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
				"give Options.IDs none", id, before, i)
		}
		if id == "" {
			return nil, v.errorf("has no id for sample %d (from 0); correct it, or give Options.IDs none", i)
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
	ids := make([]string, n)
	if k := v.typ.Kind; k == elem.Int64 || k == elem.Uint64 {
		x, err := exactInts(v, n, lim)
		if err != nil {
			return nil, err
		}
		for i, id := range x {
			if ids[i] = strconv.FormatInt(id, 10); k == elem.Uint64 {
				ids[i] = strconv.FormatUint(uint64(id), 10)
			}
		}
		return ids, nil
	}
	x, err := wholeNumbers(v, lim)
	if err != nil {
		return nil, err
	}
	for i, id := range x {
		ids[i] = strconv.Itoa(id)
	}
	return ids, nil
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
	ids  []string
	rows [][]int // of each file the sample of each row; nil: as they stand
	lack [][]int // of each file the samples that it lacks
	same bool    // all files have the samples in the same order
}

// joinIDs matches lists of ids: the order is that of the first, with what only others have after it.
func joinIDs(lists [][]string) *join {
	j := &join{ids: slices.Clone(lists[0]), rows: make([][]int, len(lists)), lack: make([][]int, len(lists)), same: true}
	at := make(map[string]int, len(j.ids))
	for i, id := range j.ids {
		at[id] = i
	}
	for k, list := range lists {
		if slices.Equal(list, lists[0]) {
			continue
		}
		j.same = false
		j.rows[k] = make([]int, len(list))
		for i, id := range list {
			to, ok := at[id]
			if !ok {
				to = len(j.ids)
				j.ids = append(j.ids, id)
				at[id] = to
			}
			j.rows[k][i] = to
		}
	}
	for k, list := range lists {
		if len(list) == len(j.ids) {
			continue
		}
		has := make([]bool, len(j.ids))
		for i := range list {
			if j.rows[k] == nil {
				has[i] = true
			} else {
				has[j.rows[k][i]] = true
			}
		}
		for i, h := range has {
			if !h {
				j.lack[k] = append(j.lack[k], i)
			}
		}
		if j.rows[k] == nil { // the first file, which lacks what others have
			j.rows[k] = make([]int, len(list))
			for i := range list {
				j.rows[k][i] = i
			}
		}
	}
	return j
}

// names are the first few of some ids.
func (j *join) names(samples []int) string {
	ids := make([]string, 0, len(samples))
	for _, i := range samples {
		ids = append(ids, j.ids[i])
	}
	return someNames(ids)
}
