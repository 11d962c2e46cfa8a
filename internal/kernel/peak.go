package kernel

import "time"

// PeakFMA measures the multiply-add peak of one core for the element type on the path in use: a loop on registers alone,
// run for about the given time in seconds. It returns the rate of the fastest part in 10⁹ floating-point operations a
// second, a multiply-add counting as two. On the portable path it times the same loop in Go.
func PeakFMA[T Float](seconds float64) (gflops float64) {
	const turns = 200_000
	const chains = 12 // as in the generated loop
	width := 1
	if active != pathPortable {
		width = lanes[T](active)
	}
	args := peakArgs{turns: turns}
	begin := time.Now()
	for {
		t := time.Now()
		if active == pathPortable {
			peakPortable[T](turns)
		} else {
			callPeak(firstPeak[active][kind[T]()], &args)
		}
		now := time.Now()
		gflops = max(gflops, 2*chains*turns*float64(width)/float64(now.Sub(t).Nanoseconds()))
		if now.Sub(begin).Seconds() >= seconds {
			return gflops
		}
	}
}
