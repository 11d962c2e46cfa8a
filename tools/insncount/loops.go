package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// shown are the kernels whose main loops are listed: the tiles that most of the work of a fit goes through.
var shown = regexp.MustCompile(`^(mulF(32|64)NEONW[34]|dotF(32|64)NEONC[456]|tmulF(32|64)NEONW(3M8|4M[46])|` +
	`gramF64NEONR4C4|sparseF(32|64)NEONW[48])$`)

// loading matches the instructions that load, in loops that store nothing.
var loading = regexp.MustCompile(`^(FMOV|FLDP|VLD1|MOVW|LDP)`)

// line is an instruction, or a label.
type line struct{ label, op, rest string }

// readLoops prints, for the main kernels, what the loop with the most multiply-adds consists of. The ideal is one vector
// instruction for as many multiply-adds as a vector has lanes.
func readLoops() error {
	files, err := filepath.Glob(filepath.Join(kernels, "*_neon_arm64.s"))
	if err != nil {
		return err
	}
	fmt.Println("| kernel | loop | instructions | multiply-adds (vector) | loads | prefetch | other " +
		"| instructions a multiply-add | ideal |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|")
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for _, text := range strings.Split(expand(string(source)), "\nTEXT ·")[1:] {
			name, body, _ := strings.Cut(text, "(SB)")
			if shown.MatchString(name) {
				lanes := 4.0
				if strings.Contains(name, "F64") {
					lanes = 2
				}
				l := mainLoop(parse(body))
				fmt.Printf("| %s | %s | %d | %d | %d | %d | %d | %.3f | %.2f |\n", name, l.name, l.all, l.fma, l.loads, l.prefetches,
					l.all-l.fma-l.loads-l.prefetches, float64(l.all)/(float64(l.fma)*lanes), 1/lanes)
			}
		}
	}
	return nil
}

// expand replaces macros by what they stand for.
func expand(source string) string {
	macros := map[string]string{}
	var out strings.Builder
	for lines := strings.Split(source, "\n"); len(lines) > 0; lines = lines[1:] {
		name, isMacro := strings.CutPrefix(lines[0], "#define ")
		if !isMacro {
			body, used := macros[strings.TrimSpace(lines[0])]
			if !used {
				body = lines[0] + "\n"
			}
			out.WriteString(body)
			continue
		}
		name, _, _ = strings.Cut(name, " ")
		body := ""
		for more := true; more; {
			lines = lines[1:]
			var text string
			text, more = strings.CutSuffix(lines[0], "; \\")
			if inner, used := macros[strings.TrimSpace(text)]; used {
				body += inner
			} else {
				body += text + "\n"
			}
		}
		macros[name] = body
	}
	return out.String()
}

func parse(body string) []line {
	var lines []line
	for text := range strings.Lines(body) {
		if before, _, ok := strings.Cut(text, "\nDATA"); ok {
			text = before
		}
		code, comment, inMacro := strings.Cut(strings.TrimSuffix(strings.TrimSpace(text), " */"), "/* ")
		if !inMacro {
			code, comment, _ = strings.Cut(code, "// ")
		}
		switch fields := strings.Fields(code); {
		case len(fields) == 0 || !strings.HasPrefix(text, "\t") && !strings.HasSuffix(fields[0], ":"):
		case strings.HasSuffix(fields[0], ":"):
			lines = append(lines, line{label: strings.TrimSuffix(fields[0], ":")})
		case fields[0] == "WORD":
			op, rest, _ := strings.Cut(comment, " ")
			lines = append(lines, line{op: op, rest: rest})
		default:
			lines = append(lines, line{op: fields[0], rest: strings.Join(fields[1:], " ")})
		}
	}
	return lines
}

// loop is what a loop consists of.
type loop struct {
	name                        string
	all, fma, loads, prefetches int
}

// mainLoop returns the loop without loops inside that has the most multiply-adds.
func mainLoop(lines []line) loop {
	at := map[string]int{}
	for i, l := range lines {
		if l.label != "" {
			at[l.label] = i
		}
	}
	type span struct{ from, to int }
	var found []span
	for i, l := range lines {
		target := l.rest[strings.LastIndex(l.rest, " ")+1:]
		if from, ok := at[target]; ok && from < i && strings.HasPrefix(l.op, "B") {
			found = append(found, span{from, i})
		}
	}
	best, most := span{}, 0
	for _, f := range found {
		inner := !slices.ContainsFunc(found, func(g span) bool { return g != f && g.from >= f.from && g.to <= f.to })
		returns, fma := countIn(lines[f.from:f.to], "RET"), countIn(lines[f.from:f.to], "fmla")
		if inner && returns == 0 && fma > most {
			best, most = f, fma
		}
	}
	return contents(lines[best.from:best.to+1], most)
}

// countIn is the number of instructions of a name.
func countIn(lines []line, op string) int {
	n := 0
	for _, l := range lines {
		if l.op == op {
			n++
		}
	}
	return n
}

// contents counts the instructions of a loop, which begins with its label and has fma multiply-adds.
func contents(lines []line, fma int) loop {
	l := loop{name: lines[0].label, fma: fma}
	for _, line := range lines {
		switch {
		case line.label != "":
			continue
		case line.op == "prfm":
			l.prefetches++
		case loading.MatchString(line.op):
			l.loads++
		}
		l.all++
	}
	return l
}
