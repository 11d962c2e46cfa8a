package dataset

import (
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf16"
)

// wide is a text in UTF-16 with its mark.
func wide(order binary.AppendByteOrder, text string) string {
	var b []byte
	for _, u := range utf16.Encode([]rune("\ufeff" + text)) {
		b = order.AppendUint16(b, u)
	}
	return string(b)
}

// TestCSVForms: tables as pandas, R and Excel write them.
func TestCSVForms(t *testing.T) {
	for _, c := range []struct {
		name, text string
		o          Options
		values     string
		names      string // of the features
	}{
		{"pandas with index", ",0,1\n0,0.5,1.5\n1,4.5,5.5\n", Options{}, "0.5 1.5|4.5 5.5", "0 1"},
		{"numbers beside a label", "0,1,label\n5,6,k\n7,8,l\n", Options{}, "5 6|7 8", "0 1"},
		{"years beside a usual name", "id,2019,2020\nAT,1.5,2.5\nDE,2.5,1.5\n", Options{}, "1.5 2.5|2.5 1.5", "2019 2020"},
		{"wavelengths beside a usual name", "sample_id,400.5,401,401.5\na,1,2,3\nb,3,2,5\n", Options{}, "1 2 3|3 2 5",
			"400.5 401 401.5"},
		{"classes beside wavelengths", "400.5,401,class\n1,2,a\n3,2,b\n", Options{}, "1 2|3 2", "400.5 401"},
		{"an index without a name", ",2019,2020\nAT,1,2\nDE,2,1\n", Options{}, "1 2|2 1", "2019 2020"},
		{"a missing value is no empty name", "NA,0,1\n1,2,3\n", Options{AllowNaN: true}, "NaN 0 1|1 2 3", ""},
		{"Excel in Europe", "a;b\n0,5;1\n2;-3,25\n", Options{}, "0.5 1|2 -3.25", "a b"},
		{"write.csv2 of R", "\"a\";\"b\"\n0,5;1,5\n2;3,25\n", Options{}, "0.5 1.5|2 3.25", "a b"},
		{"decimal comma by option", "a;b\n1,234;1\n2,345;3\n", Options{Decimal: DecimalComma}, "1.234 1|2.345 3", "a b"},
		{"quoted decimal comma", "a,b\n\"0,5\",1\n\"1,25\",2\n", Options{}, "0.5 1|1.25 2", "a b"},
		{"sep= of Excel", "sep=;\na;b\n1;2\n3;4\n", Options{}, "1 2|3 4", "a b"},
		{"a semicolon in a name", "a;x,b\n1,2\n3,4\n", Options{}, "1 2|3 4", "a;x b"},
		{"little-endian UTF-16", wide(binary.LittleEndian, "höhe,𝄞\n1,2\n3,4\n"), Options{}, "1 2|3 4", "höhe 𝄞"},
		{"big-endian UTF-16", wide(binary.BigEndian, "höhe,b\r\n1,2\r\n3,4\r\n"), Options{}, "1 2|3 4", "höhe b"},
		{"Latin-1", "h\xf6he,b\n1,2\n3,4\n", Options{}, "1 2|3 4", "höhe b"},
		{"quoted line ends", "note,a,b\n\"x\ny\",1,2\n\"p, \"\"q\"\"\n\n z\",3,4\nw,5,6\n",
			Options{LeaveOut: []string{"note"}}, "1 2|3 4|5 6", "a b"},
		{"a header over two lines", "\"a\n(cm)\",b\n1,2\n3,4\n", Options{}, "1 2|3 4", "a (cm) b"},
		{"write.table of R", "\"a\" \"b\"\n\"r 1\" 1 2\n\"r 2\" 3 4\n", Options{}, "1 2|3 4", "a b"},
		{"write.table of R with decimal commas", "\"a\"\n\"r 1\" 0,5\n\"r 2\" 1,25\n", Options{}, "0.5|1.25", "a"},
		{"write.table of R with line ends in texts", "\"a\" \"y\"\n1 \"k\nl\"\n2 \"m\"\n", Options{}, "1|2", "a"},
		{"a separator at the end of each line", "a,b,\n1,2,\n3,4,\n", Options{}, "1 2|3 4", "a b"},
		{"the same without a header", "1,2,\n3,4,\n", Options{}, "1 2|3 4", ""},
		{"true and false", "a,b\nTrue,2\nFALSE,4\n", Options{}, "1 2|0 4", "a b"},
		{"bars", "a|b\n1|2\n3|4\n", Options{}, "1 2|3 4", "a b"},
		{"one-hot", "kind,a\nx,1\ny,2\nx,3\n", Options{OneHot: []string{"kind"}}, "1 0 1|0 1 2|1 0 3", "kind=x kind=y a"},
		{"one-hot numbers", "n,a\n10.0,4\n2.0,1\n", Options{OneHot: []string{"n"}}, "0 1 4|1 0 1", "n=2.0 n=10.0 a"},
		{"all texts one-hot", "kind,a\nx,1\ny,2\nx,3\n", Options{OneHot: []string{"*"}}, "1 0 1|0 1 2|1 0 3", "kind=x kind=y a"},
		{"left out", "a,kind,b\n1,x,2\n3,x,4\n", Options{LeaveOut: []string{"ki*"}}, "1 2|3 4", "a b"},
		{"a column without a name left out", "a,,b\n1,x,2\n3,x,4\n", Options{LeaveOut: []string{"1"}}, "1 2|3 4", "a b"},
		{"a pattern beside a column without a name", "a,,b\n1,4.5,2\n3,9.5,4\n", Options{LeaveOut: []string{"[a-c]*"}}, "4.5|9.5",
			"column 1"},
		{"a column without names left out", "1.5,2\n2.5,4\n", Options{LeaveOut: []string{"column 1"}}, "1.5|2.5", ""},
		{"no header by option", "0,1,2,3\n4,5,6,7\n", Options{Header: NoHeader}, "0 1 2 3|4 5 6 7", ""},
		{"a header by option", "0,1,2,3\n4,5,6,7\n", Options{Header: WithHeader}, "4 5 6 7", "0 1 2 3"},
		{"a certain header whatever the option says", "id,a\n4,5\n6,7\n", Options{Header: NoHeader}, "5|7", "a"},
		{"a header of a comment", "#OTU ID\tS1\tS2\nu1\t1\t2\nu2\t3\t4\n", Options{}, "1 2|3 4", "S1 S2"},
		{"one column of decimal commas by option", "-6,52\n0,05\n", Options{Decimal: DecimalComma}, "-6.52|0.05", ""},
		{"points that are decimal by option", "a;b\n1.984;98\n", Options{Decimal: DecimalPoint}, "1.984 98", "a b"},
		{"points that a number shows to be decimal", "a;b\n1.984;98\n0.500;2\n", Options{}, "1.984 98|0.5 2", "a b"},
		{"points beside whole thousands", "a;b\n1.984;9800\n", Options{}, "1.984 9800", "a b"},
		{"exponents beside decimal commas", "a;b\n1e-3;1\n2,5e3;3\n", Options{Decimal: DecimalComma}, "0.001 1|2500 3", "a b"},
		{"points of classes beside decimal commas", "a;y\n0,5;1.984\n2;2.5\n", Options{Decimal: DecimalComma}, "0.5|2", "a"},
		{"points of ids", "id\ta\n1.984\t98\n2.984\t99\n", Options{IDs: "id"}, "98|99", "a"},
		{"one-hot without names", "5.5,x\n4.5,y\n5,x\n", Options{Header: NoHeader, OneHot: []string{"1"}},
			"5.5 1 0|4.5 0 1|5 1 0", "column 0 column 1=x column 1=y"},
		{"all texts one-hot without names", "5.5,x\n4.5,y\n5,x\n", Options{Header: NoHeader, OneHot: []string{"*"}},
			"5.5 1 0|4.5 0 1|5 1 0", "column 0 column 1=x column 1=y"},
	} {
		c.o.Float = 64
		s, err := read("t.csv", []byte(c.text), c.o)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := strings.Join(s.Views[0].Features, " "); got != c.names || values(&s.Views[0]) != c.values {
			t.Errorf("%s: features %q, want %q; values %s, want %s", c.name, got, c.names, values(&s.Views[0]), c.values)
		}
	}
}

// TestFirstLine: the cases of docs/reading.md.
func TestFirstLine(t *testing.T) {
	const names, sample, asks = "names", "sample", "asks"
	for text, want := range map[string]string{
		// A name above a number, names alone, a telling name, an index without a name.
		"a,b\n1,2\n3,4\n": names, "a,5\n1,2\n3,4\n": names, "2020-01-01,b\n1,2\n3,4\n": names,
		"id,2019,2020\nAT,1.5,2.5\nDE,2.5,1.5\n": names, "4,9,label\n5,6,k\n7,8,l\n": names,
		",0,1,2\n0,5,6,6\n1,7,8,8\n": names, ",0,1,2,0\n0,5,6,6,1\n1,7,8,8,0\n": names, ",0\n0,5\n1,6\n": names,
		",2019,2001\nAT,1,2\nDE,2,1\n": names,
		// Numbers that count, rise, fall, start again, or stand above decimals.
		"0,1\n2,3\n": asks, "0,1,2,3\n5,3,4,4\n": asks, "3,1,0,2\n5,3,4,4\n": asks, "1,2,3\n4,5,6\n": asks,
		"2019,2020,2021\n5,3,4\n": asks, "400.5,401,401.5\n3,2,1\n": asks, "4000,3998,3996\n5,3,4\n": asks,
		"0,1,2,3,0\n5,3,4,4,1\n": asks, "0,1,2,0,1,2\n5,3,4,4,1,1\n": asks, "0,1,2,3,0,1\n5,3,4,4,1,1\n": asks,
		"2019,2020,2019,2020\n5,3,4,4\n": asks, "7,9,8\n0.5,1.5,2.5\n": asks, "400,5;401,5;402,5\n3;2;1\n": asks,
		// Texts beside numbers above the same, and an empty field above a number.
		"5.1,3.5,Iris-setosa\n4.9,3.0,Iris-setosa\n": asks, "country,2019,2020\nAT,1.5,2.5\n": asks,
		"case,5,3,1\ncontrol,4,3,2\n": asks, "y,5,3\nn,4,3\n": asks, ",5,3\n1,4,3\n": asks,
		// Texts that come again.
		"lin\nfib\nlin\n": asks, "x,u\ny,v\ny,u\n": asks,
		// Other numbers.
		"5,3,1,4\n4,3,2,5\n": sample, "1,2\n3,4\n": sample, "0,0\n2,3\n": sample, "0\n1\n0\n": sample,
		"NA,0,1\n1,2,3\n": sample, "1,5,0.5\n2.5,1.5,1\n": sample, "3,5,2,7\n1,1,1,1\n": sample, "1,2,\n3,4,\n": sample,
		"3\n3.5\n": asks, "0.5\n3\n": sample, "7,5;9,5;8,5\n0,5;1,5;2,5\n": sample, "2019,2020,2020\n5,3,4\n": sample,
	} {
		_, err := read("t.csv", []byte(text), Options{AllowNaN: true, OneHot: []string{"*"}})
		got := asks
		if err == nil || !strings.Contains(err.Error(), "give Options.Header yes ") {
			c := &csvFile{s: &source{}, o: &Options{}, lim: newLimits(&Options{}), firstText: map[int]csvPlace{}}
			c.open = func() (io.Reader, error) { return strings.NewReader(text), nil }
			if err := c.scan(); err != nil {
				t.Fatal(err)
			}
			if got = sample; c.header != nil {
				got = names
			}
		}
		if got != want {
			t.Errorf("%q: %s, want %s (%v)", text, got, want, err)
		}
	}
	for text, header := range map[string]Header{"id,g\ns1,lin\ns2,fib\ns3,lin\n": AutoHeader, "x,u\ny,v\n": WithHeader} {
		if s := mustRead(t, "t.csv", []byte(text), Options{Header: header, OneHot: []string{"*"}}); s.Views[0].Features == nil {
			t.Errorf("%q: no names", text)
		}
	}
}

// TestCSVFormErrors: what cannot be read right says what is the matter and what to do.
func TestCSVFormErrors(t *testing.T) {
	for _, c := range []struct {
		text  string
		words []string
	}{
		{"a,b\n\"1,234.5\",2\n3,4\n", []string{`"1,234.5" in line 2, column a`, "thousands"}},
		{"a;b\n1,234;2\n3;4\n", []string{`"1,234" in line 2`, "Options.Decimal comma"}},
		{"a;b\n1.234,5;2\n3;4\n", []string{"thousands"}},
		{"a;b\n1 234;2\n3;4\n", []string{"thousands"}},
		{"a;b\n0,5;2\n1.5;4\n", []string{`"0,5" in line 2`, `"1.5" in line 3`, "Options.Decimal"}},
		{"a,b\n\"1,2\n3,4\n", []string{"quote in line 2", "never closed"}},
		{"a\nr1 0,5\nr2 1,25\n", []string{"one name, a, above two fields", "Options.Decimal comma"}},
		{"a b\n1 \"2\n3 4\n", []string{"quote in line 2", "never closed"}},
		{"a,b\r1,2\r3,4\r", []string{"carriage return"}},
		{"a,b\n1,2\n3,x\n5,6\n", []string{"not a number in column b", `"x" in line 3`}},
		{"a,b\n1,2\nNaN,4\n5,6\n", []string{"row 1, column 0", "line 3, column a", "1 of 3 rows", "Options.MissingRows"}},
		{"a,b\n1,2\n,\n5,6\n", []string{"only NaN in row 1", "line 3", "Options.MissingRows"}},
		{"a\x00,\x00b\x00\n\x001\x00,\x002\x00\n\x00", []string{"UTF-16 without a byte order mark"}},
		{"kind,a\nx,1\n,2\nx,3\n", []string{"texts in column kind"}},
		{"id,a,b\n", []string{"holds a header and no data"}},
		{"f0,f1", []string{"holds a header and no data"}},
		{"id;a\n1001;1.984\n1002;2.984\n", []string{`"1.984" in line 2, column a`, "Options.Decimal point"}},
		{"a\ty\n1.984\t2001\n2.984\t2002\n3.984\t2001\n", []string{`"1.984" in line 2, column a`, "Options.Decimal point"}},
	} {
		_, err := read("t.csv", []byte(c.text), Options{})
		wantError(t, err, c.words...)
	}
	_, err := read("t.csv", []byte("year;a\n2001;1.984\n2002;2.984\n"), Options{LeaveOut: []string{"year"}})
	wantError(t, err, "1.984", "column a", "Options.Decimal point")
	_, err = read("t.csv", []byte("kind,a\nx,1\n,2\nx,3\n"), Options{OneHot: []string{"kind"}})
	wantError(t, err, "line 3", "kind=x")
	var many strings.Builder
	many.WriteString("kind,a\n")
	for i := range 3000 {
		fmt.Fprintf(&many, "k%d,%d\n", i/2, i)
	}
	_, err = read("t.csv", []byte(many.String()), Options{OneHot: []string{"kind"}})
	wantError(t, err, "more than 1000 different texts")
}

// TestTextOverLines: a text in quotes goes on in the next line, whatever separates the fields, and the last one is whole.
func TestTextOverLines(t *testing.T) {
	for _, d := range []string{" ", "\t", ",", ";", "|"} {
		for _, lines := range []string{"a%sy\n1%[1]s\"k\nl\"\n", "a%sy\n1%[1]s\"k\nl\"\n2%[1]sm\n",
			"\"a\nb\"%sy\n1%[1]s\"k\nl\"\n"} {
			s := mustRead(t, "t.csv", fmt.Appendf(nil, lines, d), Options{})
			if s.LabelNames[0] != "k\nl" {
				t.Errorf("%q of %q: class %q", d, lines, s.LabelNames[0])
			}
		}
	}
}

// TestNumbersLikeIDs: whole numbers that are all different under a name that ids may have, or with zeros before them, are no
// features without a word. Few rows, and numbers that come again, are.
func TestNumbersLikeIDs(t *testing.T) {
	table := func(name, form string, rows, step int) []byte {
		text := fmt.Sprintf("a,%s\n", name)
		for i := range rows {
			text += fmt.Sprintf("%d.5,"+form+"\n", i, 40+i*7%rows/step)
		}
		return []byte(text)
	}
	for _, name := range []string{"rn", "uid", "EID", "IID", "mrn", "client_no", "sampleNumber", "CASENO", "zip_code"} {
		_, err := read("t.csv", table(name, "%d", 24, 1), Options{})
		wantError(t, err, "different value in each row of column "+name, "Options.IDs "+name)
	}
	_, err := read("t.csv", table("height", "%04d", 24, 1), Options{})
	wantError(t, err, "column height", "Options.IDs height")
	for _, text := range [][]byte{table("uid", "%d", 24, 2), table("uid", "%d", 19, 1), table("height", "%d", 24, 1),
		table("height", "%04d", 24, 2), table("casino", "%d", 24, 1)} {
		if s := mustRead(t, "t.csv", text, Options{}); s.Views[0].Cols != 2 {
			t.Errorf("%.40q: %d features", text, s.Views[0].Cols)
		}
	}
}

// TestForeign: files of other formats say how they are converted.
func TestForeign(t *testing.T) {
	for text, word := range map[string]string{
		"[{\"a\": 1}]":                         "read_json",
		"{\n \"a\": [1, 2]}":                   "read_json",
		"PAR1\x15\x00\x15\x00PAR1":             "imports dataset/parquet",
		"\x80\x04\x95\x00\x00":                 "pickle",
		"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\x00": "Excel",
		"@relation iris\n@data\n":              "ARFF",
		"<!DOCTYPE html>\n<html>":              "web page",
	} {
		_, err := read("a", []byte(text), Options{})
		wantError(t, err, word)
	}
	_, err := read("a.xlsx", zipBytes(t, true, map[string][]byte{"[Content_Types].xml": nil, "xl/workbook.xml": nil}), Options{})
	wantError(t, err, "Excel", "CSV")
	_, err = read("a.pt", zipBytes(t, true, map[string][]byte{"archive/data.pkl": nil}), Options{})
	wantError(t, err, "PyTorch")
	_, err = read("a.npy", npyBytes("'|O'", false, "(3,)", []byte("\x80\x04....")), Options{})
	wantError(t, err, "a.npy", "Python objects", "numpy.savez")
	_, err = read("a.npy", npyBytes("'<f8'", false, "()", make([]byte, 8)), Options{})
	wantError(t, err, "a.npy", "scalar float64", "no matrix with a row for each sample")
	_, err = read("a.npy", npyBytes("'<f8'", false, "(3, 2, 1)", make([]byte, 48)), Options{})
	wantError(t, err, "3×2×1", "reshape")
	s := mustRead(t, "a.csv", []byte("PAR1,b\n1,2\n"), Options{}) // a name that begins like a format
	if values(&s.Views[0]) != "1 2" {
		t.Error(values(&s.Views[0]))
	}
}
