package largemvc

import (
	"runtime"
	"testing"
)

// Nothing of the size of X lives on through the result. A predictor keeps nothing that grows with n, but for the stored
// samples, their neighbours and what the filter needs of them where neighbours are searched.
func TestFitReleasesData(t *testing.T) {
	const d = 300
	for name, test := range map[string]struct {
		n         int
		config    Config
		perSample int64 // bytes that a predictor may keep
	}{
		"no neighbours": {4000, Config{Neighborhood: Neighborhood{Neighbors: None}}, 0},
		"neighbours":    {3000, Config{Neighborhood: Neighborhood{Directions: 10, Steps: 2}}, 2600},
		"landmarks":     {12000, Config{Neighborhood: Neighborhood{Directions: 10, Steps: 2, Exact: None, Landmarks: 40}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			n := test.n
			x := make([]float32, n*d)
			views, _ := blobViews(n, 4, 1, 11, d)
			for i := range x {
				x[i] = float32(views[0].in.F64[i])
			}
			views = nil
			before := liveBytes()
			var progress [1 << 20]byte
			config := test.config
			config.Clusters, config.Epochs, config.Restarts = 4, 2, 2
			config.Progress = func(Progress) error { progress[0]++; return nil }
			c := mustFit(t, []View{DenseView(n, d, x)}, config)
			config.Progress = nil
			after := liveBytes()
			most := int64(n)*test.perSample + 1<<20
			if kept, most := after-before, most+int64(n*(16*4+2*8+8+8+8)); kept > most {
				t.Errorf("the clustering keeps %d bytes, want at most %d; X has %d", kept, most, 4*len(x))
			}
			p := c.Predictor
			runtime.KeepAlive(c)
			c = nil
			if kept := liveBytes() - before; kept > most {
				t.Errorf("the predictor keeps %d bytes, want at most %d", kept, most)
			}
			runtime.KeepAlive(p)
			runtime.KeepAlive(x)
		})
	}
}
