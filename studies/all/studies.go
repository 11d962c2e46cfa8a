package main

import "strings"

// study is a command of this module.
type study struct {
	name    string
	command string   // with DATA for the folders of sets and OUT for a folder of its own
	keeps   []string // files in OUT that are its output; nil: what it prints
}

// with returns the words of the command with its folders.
func (s study) with(data, out string) []string {
	words := strings.Fields(s.command)
	for i, word := range words {
		words[i] = strings.NewReplacer("DATA", data, "OUT", out).Replace(word)
	}
	return words
}

const (
	ofKnown = "webkb,prokaryotic,landuse21,cora,citeseer,orl,msrcv1,3sources,20newsgroups,reuters600,nci60,tcgabrca150,satellite," +
		"proteinfold"
	sixSets      = "20newsgroups,3sources,cub10,msrcv1,reuters600,webkb"
	ofIncomplete = "3sources,webkb,msrcv1,orl,20newsgroups,reuters600"
	eleven       = "20newsgroups,3sources,bdgp,cub10,landuse21,msrcv1,orl,reuters600,skdigits3v,ucidigit,webkb"
	seventeen    = "acm,aloi10,buaa,coil20,cora,eyaleb10,gtzan,hw2sources,movies617,nci60,prokaryotic,proteinfold,reuters1200," +
		"satellite,tcgabrca150,webkb1051,yaleb1140"
	ofFilter = "webkb,3sources,msrcv1,tcgabrca150,nci60,20newsgroups,cub10,orl,reuters600,prokaryotic,movies617"
)

// studies make the tables and figures of the documents.
var studies = []study{
	{"confidence-small", "./confidence -draws 3 -first 1", nil},
	{"confidence-large", "./confidence -draws 1 -first 1 -samples 3000", nil},
	{"structure-noise", "./structure -draws 2 -first 300", nil},
	{"structure-sets", "./structure -draws 3 -first 20 -limit 10000 -data DATA", nil},
	{"known", "./known -data DATA -draws 3 -only " + ofKnown, nil},
	{"choose", "./choose -data DATA -draws 3", nil},
	{"choose-starts", "./choose -data DATA -starts -draws 0,1,2", nil},
	{"confidence-sets", "./confidence -data DATA -digits 10000 -first 1", nil},
	{"protocol", "./paper protocol -data DATA -out OUT -sets " + eleven + "," + seventeen, []string{"protocol.md"}},
	{"rivals", "./paper rivals -data DATA -out OUT -sets " + sixSets, []string{"rivals.md"}},
	{"margin", "./paper margin -data DATA -out OUT -sets " + eleven, []string{"margin.md"}},
	{"incomplete", "./paper incomplete -data DATA -out OUT -sets " + ofIncomplete, []string{"incomplete.csv"}},
	{"results", "./paper all -data DATA -out OUT -sets " + eleven + " -without rivals,protocol,pairs,filter,margin -page OUT/results.md",
		[]string{"results.md"}},
	{"pairs", "./paper pairs -data DATA -out OUT -sets msrcv1,orl,3sources,webkb,nci60,tcgabrca150", []string{"pairs.md"}},
	{"filter", "./paper filter -data DATA -out OUT -sets " + ofFilter, []string{"filter.md"}},
	{"quality", "./quality -data DATA -out OUT -draws 10 -rows k-means;paper;network -sets " + eleven + "," + seventeen,
		[]string{"quality.md"}},
	{"quality-parts", "./quality -data DATA -out OUT -sets " + eleven + "," + seventeen, []string{"quality.md"}},
	{"speed", "./bench/compare -data DATA -own all", nil},
	{"methods", "./bench/compare -data DATA -methods mnist3v,mnistusps -runs 3 -figure OUT/methods.svg", []string{"methods.svg"}},
}

// spots take seconds each, and print no times.
var spots = []study{
	{"known", "./known -data DATA -draws 1 -known 3 -only 3sources,webkb", nil},
	{"quality", "./quality -data DATA -out OUT -sets 3sources,webkb -draws 1 -rows paper;k-means;neighbours",
		[]string{"quality-acc.csv", "quality-nmi.csv"}},
}
