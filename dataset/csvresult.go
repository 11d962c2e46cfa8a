package dataset

import (
	"errors"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// resultHeader matches the names of the columns, a line each, of files that -out of the command wrote.
var resultHeader = regexp.MustCompile(`^(.*\n)?sample\nlabel(\n(confidence|remoteness|novelty|class)|$)`)

// assignResult takes labels and ids of a file that -out of the command wrote: ids, sample, label and figures. Without figures
// the names show too little, and sample has to count the rows. As data such a file is an error.
func (c *csvFile) assignResult(taken []bool) error {
	if !resultHeader.MatchString(strings.Join(c.header[:min(4, len(c.header))], "\n")) {
		return nil
	}
	i := slices.Index(c.header, "sample")
	figures := len(c.header) > i+2
	if !figures && c.seen[i]&countsFrom0 == 0 {
		return nil
	}
	wrote := errors.New("holds labels that fit or predict wrote (sample, label, confidence), not data: move it away, or in a " +
		"folder give Options.LeaveOut " + filepath.Base(c.s.path))
	if c.s.role == roleData {
		return wrote
	}
	if figures {
		c.s.result = wrote
	}
	if c.s.role != roleLabels {
		return nil
	}
	if c.o.Labels == "" && !c.o.NoLabels {
		c.roles.label, taken[i+1] = i+1, true
	}
	if c.beginsWithIDs(i) {
		c.roles.id, taken[0] = 0, true
	}
	return nil
}

// beginsWithIDs reports whether the first column of a result has the ids, under any name. i is its column sample.
func (c *csvFile) beginsWithIDs(i int) bool {
	asked, err := c.askedID()
	switch {
	case err != nil, c.o.NoIDs, asked >= 0 && asked != i:
		return false
	case i == 0:
		return true
	case pandasName.MatchString(c.header[0]): // the command names all columns
		return false
	case asked == i && c.header[0] != "id": // the command writes id for ids whose column in the data is sample
		return false
	}
	// Rows may be in another order, or some of all. Then a first column that counts them was made after that.
	return c.seen[i]&countsFrom0 != 0 || c.seen[0]&(countsFrom0|countsFrom1) == 0
}
