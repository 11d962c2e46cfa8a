package dataset

import (
	"bytes"
	"fmt"
)

// csvNumbers are fields that show how a CSV file writes numbers.
type csvNumbers struct {
	firstComma csvPlace // a field that only a decimal comma makes a number
	firstGroup csvPlace // a field with separators of thousands
	firstPoint csvPlace // a number with a decimal point
	split      csvPlace // a second field such as 05, or one beside -0, which a decimal comma makes
}

// chooseDecimal decides what the comma in numbers means.
func (c *csvFile) chooseDecimal() error {
	decimal, grouped, point := c.firstComma, c.firstGroup, c.firstPoint
	if err := c.checkSplit(); err != nil {
		return err
	}
	switch {
	case c.o.Decimal == DecimalComma:
		c.comma = true
	case c.o.Decimal == DecimalPoint, decimal.line == 0 && grouped.line == 0:
	case decimal.line > 0 && point.line == 0:
		c.comma = true
	case decimal.line > 0 && !c.alone(decimal):
		return fmt.Errorf("has %q in line %d and %q in line %d: numbers with a decimal comma and with a decimal point; write "+
			"all with a point, or give Options.Decimal if one is no feature", decimal.text, decimal.line, point.text, point.line)
	}
	if grouped.line == 0 || c.alone(grouped) {
		return nil
	}
	at := fmt.Sprintf("has %q in line %d, %s", grouped.text, grouped.line, c.title(grouped.column))
	const cure = "save the file without them (in a spreadsheet, format the cells as numbers without such separators; in " +
		"Python, pandas.read_csv(file, thousands=…, decimal=…).to_csv(new, index=False))"
	switch {
	case !commaNumber.MatchString(grouped.text), c.o.Decimal == DecimalPoint:
		return fmt.Errorf("%s: a number with thousands separators: %s", at, cure)
	case !c.comma:
		return fmt.Errorf("%s: a number with a decimal comma or with thousands separators. For a decimal comma give "+
			"Options.Decimal comma; thousands separators are not read: %s", at, cure)
	}
	return nil
}

// checkSplit refuses two columns that may be one with a decimal comma.
func (c *csvFile) checkSplit() error {
	if c.o.Decimal != AutoDecimal || c.split.line == 0 || c.fields != 2 || c.delimiter != ',' || c.o.Delimiter != 0 ||
		c.header != nil {
		return nil
	}
	return fmt.Errorf("has %q in line %d: give Options.Decimal point if it has two columns, Options.Decimal comma if it has one "+
		"number with a decimal comma", c.split.text, c.split.line)
}

// alone reports whether a field that might be a number stands in a column of texts.
func (c *csvFile) alone(p csvPlace) bool { return c.seen[p.column]&wordField != 0 }

// groupsByPoint reports whether points may separate thousands, as in tables of countries where the comma is decimal.
func (c *csvFile) groupsByPoint() bool {
	return c.o.Decimal == AutoDecimal && (c.delimiter == ';' || c.delimiter == '\t')
}

// notePoint records whether the point in a number of a column is decimal, or may separate thousands.
func (c *csvFile) notePoint(i int, f []byte) {
	if c.seen[i]&decimalPoint == 0 && c.groupsByPoint() {
		c.seen[i] |= pointClass(f)
	}
}

// checkThousands refuses features whose points may separate thousands. Other features may show that points are decimal. Ids,
// classes and what is left out are no measurements, and show nothing.
func (c *csvFile) checkThousands([]bool) error {
	if c.s.role != roleData || !c.groupsByPoint() {
		return nil
	}
	first := -1
	for _, f := range c.roles.features {
		switch seen := c.seen[f.column]; {
		case f.onehot:
		case seen&decimalPoint != 0:
			return nil
		case seen&thousandPoint != 0 && first < 0:
			first = f.column
		}
	}
	if first < 0 {
		return nil
	}
	var at csvPlace
	err := c.eachOf(first, func(line int, f []byte) error {
		if pointClass(f) == thousandPoint {
			at.keep(f, line, first)
			return errStop
		}
		return nil
	})
	if err = stopped(err); err != nil {
		return err
	}
	return fmt.Errorf("has %q in line %d, %s, and no other feature shows whether its point is decimal or separates thousands: "+
		"give Options.Decimal point if it is decimal, else save the file without thousands separators", at.text, at.line,
		c.title(first))
}

// parse reads a number in the notation of the file.
func (c *csvFile) parse(f []byte) (float64, bool) {
	if c.comma {
		return parseComma(f)
	}
	return parseNumber(f)
}

// numberError is the error of a feature that parse does not read.
func (c *csvFile) numberError(f []byte, line, column int) error {
	if c.comma && bytes.IndexByte(f, '.') >= 0 {
		return fmt.Errorf("has %q in line %d, %s, with a point where the comma is decimal: take the point out if it separates "+
			"thousands, write a comma if it is decimal, or give Options.Decimal point if all points are", short(f), line,
			c.title(column))
	}
	return fmt.Errorf("has %q in line %d, %s, which is not a number", short(f), line, c.title(column))
}
