package main

import (
	"slices"
	"strings"
)

// study is a program or the benchmarks of a package.
type study struct {
	name string
	// The folder of a program and its arguments, or test, a package and the flags of go test; variables of the environment may be
	// before it. DATA stands for the folders of sets and OUT for a folder of its own.
	command string
	keeps   []string // files in OUT that are its output; nil: what it prints. Pages, tables and figures in OUT are kept besides
}

// words are the parts of a command.
type words struct {
	environment []string // NAME=VALUE
	test        bool     // whether it is the benchmarks of a package
	what        string   // the folder of the program, or the package
	flags       []string
}

// with returns the command with its folders.
func (s study) with(data, out string) (w words) {
	parts := strings.Fields(s.command)
	for i, part := range parts {
		parts[i] = strings.NewReplacer("DATA", data, "OUT", out).Replace(part)
	}
	for strings.Contains(parts[0], "=") {
		w.environment, parts = append(w.environment, parts[0]), parts[1:]
	}
	if w.test = parts[0] == "test"; w.test {
		parts = parts[1:]
	}
	w.what, w.flags = parts[0], parts[1:]
	return w
}

// line is the command for a reader.
func (s study) line() string {
	w, verb := s.with("FOLDERS", "OUT"), "run"
	if w.test {
		verb = "test"
	}
	return strings.Join(slices.Concat(w.environment, []string{"go", verb, "-C", "studies", w.what}, w.flags), " ")
}

const (
	ofKnown = "webkb,prokaryotic,landuse21,cora,citeseer,orl,msrcv1,3sources,20newsgroups,reuters600,nci60,tcgabrca150,satellite," +
		"proteinfold"
	ofKnownNew    = "20newsgroups,reuters600,msrcv1,prokaryotic,landuse21,proteinfold,satellite"
	ofKnownAbsent = "20newsgroups,reuters600,msrcv1,3sources,landuse21,tcgabrca150,satellite"
	ofKnownWeight = "webkb,prokaryotic,3sources,orl,reuters600,gtzan,proteinfold,landuse21,msrcv1,20newsgroups,cub10,tcgabrca150," +
		"webkb1051,nci60,movies617,ucidigit"
	sixSets      = "20newsgroups,3sources,cub10,msrcv1,reuters600,webkb"
	ofIncomplete = "3sources,webkb,msrcv1,orl,20newsgroups,reuters600,skdigits3v,ucidigit,landuse21,bdgp"
	ofPairs      = "msrcv1,orl,3sources,webkb,nci60,tcgabrca150"
	eleven       = "20newsgroups,3sources,bdgp,cub10,landuse21,msrcv1,orl,reuters600,skdigits3v,ucidigit,webkb"
	seventeen    = "acm,aloi10,buaa,coil20,cora,eyaleb10,gtzan,hw2sources,movies617,nci60,prokaryotic,proteinfold,reuters1200," +
		"satellite,tcgabrca150,webkb1051,yaleb1140"
	ofTrust = "nci60,tcgabrca150,3sources,webkb,msrcv1,orl,20newsgroups,prokaryotic,reuters600,eyaleb10,proteinfold,gtzan,aloi10," +
		"yaleb1140,reuters1200,coil20,skdigits3v,ucidigit,landuse21,bdgp,cora,acm,satellite"
	ofFilter   = "webkb,3sources,msrcv1,tcgabrca150,nci60,20newsgroups,cub10,orl,reuters600,prokaryotic,movies617"
	ofDoubt    = "satellite,tcgabrca150,citeseer,webkb1051,cora,3sources,nci60"
	erringKind = "gradient,noisycurve,texts,sheet,line,exponential,longcurve,curve,lowrank3,uniform"
	ofQuality  = "-sets " + eleven + "," + seventeen
	module     = "github.com/largemvc/largemvc"
	step       = "test " + module + "/internal/engine -run ^$ -bench Step -benchtime 20x -cpu 1"
)

// studies are in the order in which they run: those of seconds a piece first. What is timed is last, and needs an idle machine.
var studies = []study{
	{"confidence-small", "./confidence -draws 3 -first 1", nil},
	{"confidence-large", "./confidence -draws 1 -first 1 -samples 3000", nil},
	{"confidence-sets", "./confidence -data DATA -digits 10000 -first 1", nil},
	{"structure-noise", "./structure -draws 2 -first 300", nil},
	{"structure-more", "./structure -draws 12 -first 900 -only " + erringKind, nil},
	{"structure-few", "./structure -few -draws 20 -first 900", nil},
	{"structure-sets", "./structure -draws 3 -first 20 -limit 10000 -data DATA", nil},
	{"structure-orders", "./structure -draws 3 -first 1 -limit 10000 -data DATA", nil},
	{"structure-doubt", "./structure -draws 12 -first 200 -data DATA -only " + ofDoubt, nil},
	{"structure-missing", "./structure -draws 3 -missing 0.5 -data DATA -only bdgp", nil},
	{"structure-mismatched", "./structure -draws 1 -first 20 -mismatched -data DATA", nil},
	{"known", "./known -data DATA -draws 3 -only " + ofKnown, nil},
	{"known-webkb", "./known -data DATA -draws 10 -known 5,10 -only webkb", nil},
	{"known-new", "./known -data DATA -draws 3 -known 5,10 -new 0.2 -only " + ofKnownNew, nil},
	{"known-absent", "./known -data DATA -draws 3 -known 5,10 -missing 0.5 -new 0.2 -only " + ofKnownAbsent, nil},
	{"known-many", "./known -data DATA -draws 1 -known 10 -limit 60000 -only mnist3v", nil},
	{"known-loss", "./known -data DATA -draws 2 -limit 1000 -known 1,3,5 -weight 3 -only " + ofKnownWeight, nil},
	{"known-no-loss", "./known -data DATA -draws 2 -limit 1000 -known 1,3,5 -only " + ofKnownWeight, nil},
	{"choose", "./choose -data DATA -draws 3", nil},
	{"choose-starts", "./choose -data DATA -starts -draws 0,1,2", nil},
	{"margin", "./paper margin -data DATA -out OUT -sets " + eleven, []string{"margin.md"}},
	{"pairs", "./paper pairs -data DATA -out OUT -sets " + ofPairs, []string{"pairs.md"}},
	{"filter", "./paper filter -data DATA -out OUT -sets " + ofFilter, []string{"filter.md"}},
	{"trust", "./paper trust -data DATA -out OUT -draws 1 -sets " + ofTrust, []string{"trust.md"}},
	{"fresh", "./paper fresh -data DATA -out OUT -sets " + ofIncomplete, []string{"fresh.md"}},
	{"incomplete", "./paper incomplete -data DATA -out OUT -sets " + ofIncomplete, []string{"incomplete.md", "incomplete-sets.csv"}},
	{"quality", "./quality -data DATA -out OUT -draws 10 -rows k-means;paper;network " + ofQuality, []string{"quality.md"}},
	{"quality-parts", "./quality -data DATA -out OUT " + ofQuality, []string{"quality.md"}},
	{"quality-uneven", "./quality -data DATA -out OUT -uneven 0.5,0.2 -rows k-means;paper;network -sets " + eleven,
		[]string{"quality.md"}},
	{"results", "./paper table,incomplete,ablation,convergence,sensitivity -data DATA -out OUT -page OUT/results.md -sets " + eleven,
		[]string{"results.md"}},
	{"rivals", "./paper rivals -data DATA -out OUT -sets " + sixSets, []string{"rivals.md"}},
	{"protocol", "./paper protocol -data DATA -out OUT " + ofQuality, []string{"protocol.md"}},
	{"scale-numbers", "./bench/scale -data DATA -folder OUT -rows numbers -seeds 3", nil},
	{"scale-sample", "./bench/scale -data DATA -folder OUT -rows sample -seeds 10", nil},
	{"scale-whole", "./bench/scale -data DATA -folder OUT -rows whole", nil},
	{"scale-then", "./bench/scale -data DATA -folder OUT -rows sample -then 10", nil},
	{"scale-many", "./bench/scale -folder OUT -rows many -seeds 3", nil},
	{"scale-million", "./bench/scale -folder OUT -rows many -seeds 1 -made 1000000 -features 64,64", nil},
	{"scale-views", "./bench/scale -folder OUT -rows views -seeds 2", nil},
	{"scale-labels", "./bench/scale -folder OUT -rows labels -labels 1000000,3000000,10000000", nil},
	{"scale-epochs", "./bench/scale -folder OUT -rows epochs", nil},
	{"scale-ranks", "./bench/scale -data DATA -folder OUT -rows ranks", nil},
	{"scale-nodes", "./bench/scale -folder OUT -rows nodes -workers 1", nil},
	{"growth", "test " + module + " -run ^$ -bench Epoch -benchtime 60x", nil},
	{"growth-fits", "test " + module + " -run ^$ -bench ^BenchmarkFit$/./n -benchtime 3x", nil},
	{"step", step, nil},
	{"step-avx2", "LARGEMVC_KERNEL=avx2 " + step, nil},
	{"step-portable", "LARGEMVC_KERNEL=portable " + step, nil},
	{"speed", "./bench/compare -data DATA -own all", nil},
	{"epochs", "./bench/compare -data DATA", nil},
	{"small", "./bench/compare -data DATA -methods 3sources,ucidigit,20newsgroups,citeseer,mnistusps -only default -runs 3", nil},
	{"methods", "./bench/compare -data DATA -methods mnist3v,mnistusps -runs 3 -figure OUT/methods.svg", nil},
}

// spots take seconds each, and print no times.
var spots = []study{
	{"known", "./known -data DATA -draws 1 -known 3 -only 3sources,webkb", nil},
	{"quality", "./quality -data DATA -out OUT -sets 3sources,webkb -draws 1 -rows paper;k-means;neighbours",
		[]string{"quality-acc.csv", "quality-nmi.csv"}},
}
