package score_test

import (
	"context"
	"fmt"
	"log"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/score"
)

// Clusters are compared with known classes by one table.
func ExampleContingency() {
	classes := []int{0, 0, 0, 1, 1, 1, 2, 2}
	clusters := []int{5, 5, 5, 3, 3, 8, 8, 8}
	table, err := score.NewContingency(classes, clusters)
	if err != nil {
		log.Fatal(err)
	}
	class, err := table.Match()
	if err != nil {
		log.Fatal(err)
	}
	names, sizes := table.Clusters()
	for k, name := range names {
		fmt.Printf("cluster %d of %d samples is class %d\n", name, sizes[k], class[name])
	}
	fmt.Println("samples by class and cluster:", table.Counts())
	fmt.Printf("purity %.3f, NMI %.3f\n", table.Purity(), table.NMI(score.NMIArithmetic))
	fmt.Printf("%v; ARI %.3f\n", table.Pairs(), table.Pairs().ARI())
	fmt.Println(table.BCubed())
	// Output:
	// cluster 3 of 2 samples is class 1
	// cluster 5 of 3 samples is class 0
	// cluster 8 of 3 samples is class 2
	// samples by class and cluster: [[0 3 0] [2 0 1] [0 0 2]]
	// purity 0.875, NMI 0.779
	// pairs in one cluster: 5 of one class, 2 of two; in two clusters: 2 of one class, 19 of two; ARI 0.619
	// B-cubed precision 83.3 %, recall 83.3 %, F 83.3 %
}

// Without classes, indices compare labelings of the same data: here two clusters and three.
func ExampleSilhouette() {
	x := mat.NewDense(6, 2, []float64{0, 0, 0, 1, 1, 0, 9, 9, 9, 8, 8, 9})
	for _, labels := range [][]int{{0, 0, 0, 1, 1, 1}, {0, 0, 1, 1, 2, 2}} {
		s, err := score.Silhouette(context.Background(), x, labels, score.SilhouetteConfig{})
		if err != nil {
			log.Fatal(err)
		}
		ch, err := score.CalinskiHarabasz(x, labels)
		if err != nil {
			log.Fatal(err)
		}
		db, err := score.DaviesBouldin(x, labels)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("silhouette %.2f, Caliński-Harabasz %.1f, Davies-Bouldin %.2f\n", s, ch, db)
	}
	// Output:
	// silhouette 0.90, Caliński-Harabasz 312.5, Davies-Bouldin 0.11
	// silhouette 0.24, Caliński-Harabasz 2.8, Davies-Bouldin 1.18
}

// Two workers are given the tasks that together cost least.
func ExampleAssignment() {
	columns, sum, err := score.Assignment([][]float64{
		{4, 1, 3},
		{2, 0, 5},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(columns, sum)
	// Output: [1 0] 3
}
