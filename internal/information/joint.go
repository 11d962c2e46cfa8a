package information

import "math"

// JointTable holds the mutual information of a table J (m×m) that sums to 1.
type JointTable struct {
	ratio       []float64 // log(J_ab / (Σ_b J_ab · Σ_a J_ab)), m×m
	Information float64
}

// informationFloor keeps logarithms finite where a softmax has underflowed.
const informationFloor = 1e-300

// Gain returns I.
func (t *JointTable) Gain() float64 { return t.Information }

// floored returns the logarithm of x, or of the floor.
func floored(x float64) float64 { return math.Log(max(x, informationFloor)) }

func newJointTable(joint []float64, m int) JointTable {
	t := JointTable{ratio: make([]float64, m*m)}
	rows, columns := make([]float64, m), make([]float64, m)
	for a := range m {
		for b := range m {
			rows[a] += joint[a*m+b]
			columns[b] += joint[a*m+b]
		}
	}
	for a := range m {
		for b := range m {
			x := joint[a*m+b]
			l := floored(x) - floored(rows[a]) - floored(columns[b])
			t.ratio[a*m+b] = l
			t.Information += x * l
		}
	}
	return t
}
