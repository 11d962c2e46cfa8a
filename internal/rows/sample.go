package rows

import "math/rand/v2"

// Sample returns m ≤ n of the numbers below n in increasing order, drawn by rng without replacement.
func Sample(rng *rand.Rand, n, m int) []int {
	chosen := make([]int, 0, m)
	for i := 0; len(chosen) < m; i++ {
		// Selection sampling (Knuth, TAOCP 2, 3.4.2, algorithm S): i is taken with the chance of the numbers still wanted
		// among those left.
		if rng.IntN(n-i) < m-len(chosen) {
			chosen = append(chosen, i)
		}
	}
	return chosen
}
