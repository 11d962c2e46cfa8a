package kernel

import "time"

// PeakFMA measures the multiply-add peak of one core for the element type on the path in use: a loop on registers alone,
// run for about the given time in seconds. It returns the rate of the fastest part in 10⁹ floating-point operations a
// second, a multiply-add counting as two. On the portable path it times the same loop in Go.
func PeakFMA[T Float](seconds float64) (gflops float64) {
	const turns = 200_000
	width, chains := 1, portableChains
	if active != pathPortable {
		width, chains = lanes[T](active), blockings[active].chains
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
		gflops = max(gflops, 2*turns*float64(chains*width)/float64(now.Sub(t).Nanoseconds()))
		if now.Sub(begin).Seconds() >= seconds {
			return gflops
		}
	}
}
