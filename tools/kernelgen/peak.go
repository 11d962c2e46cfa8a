package main

// peakChains is the number of independent sums in the peak loop; the latency of a multiply-add is hidden from about
// eight on.
const peakChains = 12

// peakKernels writes a loop of nothing but fused multiply-adds on registers: 2·lanes·peakChains operations a turn.
func peakKernels(g *gen) {
	g.begin("peak", "", "peakArgs")
	g.op("MOVQ a+0(FP), DI")
	g.arg("peakArgs", "turns", "DI", "CX")
	for i := range peakChains + 2 {
		g.zero(i)
	}
	g.label("turn")
	for i := range peakChains {
		g.op("%s %s, %s, %s", g.fma(), g.v(peakChains), g.v(peakChains+1), g.v(i))
	}
	g.op("DECQ CX")
	g.op("JNZ turn")
	g.end()
}
