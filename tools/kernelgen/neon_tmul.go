package main

import "fmt"

// neonTMulSize gives the most rows of a tile of C (columns of A) for tiles of 1, 2, ... vectors.
var neonTMulSize = []int{16, 12, 8, 6}

// neonTMulRows is the number of rows of X and A that a turn of the loop goes through.
const neonTMulRows = 8

// neonTMul writes C += Aᵀ·X for tiles of C: lanes run along the columns of X; a vector of A holds the next elements of a
// row, each of which a multiply-add takes from its lane. A tile of C has whole vectors; X may end inside its last one.
//
// Nothing is prefetched: a row of a tile is one load, which waits for nothing but the address, and a core that looks a
// hundred instructions ahead has four rows in flight.
func neonTMul(g *neon) {
	for w, most := range neonTMulSize {
		for m := 1; m <= most; m++ {
			g.tmulTile(m, w+1)
		}
	}
}

func (g *neon) tmulTile(m, w int) {
	const x, ldx, a, lda, n, c, ldc, lanes = 1, 2, 3, 4, 5, 7, 8, 9
	acc := func(i, j int) int { return i*w + j }
	xs := m * w // the first register of a row of X
	as := xs + w
	tile := fmt.Sprintf("W%dM%d", w, m)
	products := func() {
		place := g.loadElements(a, lda, m, as)
		for i := range m {
			for j := range w {
				g.lane("fmla", acc(i, j), xs+j, place[i].reg, place[i].lane)
			}
		}
	}
	part := g.macro("tmulProducts"+tile, products)
	row := g.macro("tmulRow"+tile, func() {
		g.loadRow(x, ldx, w, xs)
		g.op(part)
	})
	g.begin("tmul", tile, "tmulArgs", field{"x", x}, field{"ldx", ldx}, field{"a", a}, field{"lda", lda}, field{"n", n},
		field{"c", c}, field{"ldc", ldc}, field{"lanes", lanes})
	for i := range m * w {
		g.zero(i)
	}
	g.op("CMP $%d, R%d", g.lanes(), lanes)
	g.op("BNE part")
	g.repeat(n, neonTMulRows, func() { g.op(row) })
	for i := range m {
		g.load(c, 0, w, xs)
		for j := range w {
			g.v3("fadd", xs+j, xs+j, acc(i, j))
		}
		g.storeRow(c, ldc, w, xs)
	}
	g.end()

	// The last vector of the tile is a part of one: only X is, the caller hands over a whole tile of C.
	g.label("part")
	g.load(x, 0, w-1, xs)
	g.someLanes(lanes, func(lanes int) { g.loadSome(x, (w-1)*neonWidth, lanes, xs+w-1) })
	g.op("ADD R%d, R%d, R%d", ldx, x, x)
	g.op(part)
	g.op("SUBS $1, R%d, R%d", n, n)
	g.op("BNE part")
	g.op("B done")
}

// lanePlace is where an element lies.
type lanePlace struct{ reg, lane int }

// loadElements loads n elements into the vector registers from first on, wherever their lanes come to lie, and moves base
// on by general register stride: one instruction where a list of registers holds them.
func (g *neon) loadElements(base, stride, n, first int) []lanePlace {
	per, arrangement := g.lanes(), map[elem]string{float32s: "S4", float64s: "D2"}[g.elem]
	if g.elem == float32s && n%4 > 1 && n/2 <= mostListed {
		per, arrangement = 2, "S2" // halves of registers
	}
	place := make([]lanePlace, n)
	for i := range place {
		place[i] = lanePlace{first + i/per, i % per}
	}
	listed := min(n/per, mostListed)
	reg := first + n/per
	// What is behind the list goes first, while base is where it was.
	for i := listed * per; i < n; {
		at := i * g.elem.size
		switch left := n - i; {
		case left >= per:
			c := min(left/per, 2)
			g.load(base, at, c, first+i/per)
			i += c * per
		case left*g.elem.size >= 8:
			g.op("FMOVD %d(R%d), F%d", at, base, reg)
			for k := range 8 / g.elem.size {
				place[i+k] = lanePlace{reg, k}
			}
			i, reg = i+8/g.elem.size, reg+1
		default:
			g.op("%s %d(R%d), F%d", g.scalarMove(), at, base, reg)
			place[i] = lanePlace{reg, 0}
			i, reg = i+1, reg+1
		}
	}
	if listed == 0 {
		g.op("ADD R%d, R%d, R%d", stride, base, base)
	} else {
		g.op("VLD1.P (R%d)(R%d), %s", base, stride, list(first, listed, arrangement))
	}
	return place
}
