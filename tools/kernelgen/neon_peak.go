package main

// neonPeakChains is the number of independent sums in the peak loop: enough for four units of a latency of four.
const neonPeakChains = 24

// neonPeak writes a loop of nothing but fused multiply-adds on registers: 2·lanes·neonPeakChains operations a turn.
func neonPeak(g *neon) {
	g.begin("peak", "", "peakArgs", field{"turns", 1})
	for i := range neonPeakChains + 2 {
		g.zero(i)
	}
	g.label("turn")
	for i := range neonPeakChains {
		g.v3("fmla", i, neonPeakChains, neonPeakChains+1)
	}
	g.op("SUBS $1, R1, R1")
	g.op("BNE turn")
	g.end()
}
