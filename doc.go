// Package largemvc clusters large multi-view data: samples that are seen in several ways at once, such as an image
// embedding, a text embedding and a price history of the same product.
//
// It implements LargeMvC-Net (Du et al., "LargeMvC-Net: Anchor-based Deep Unfolding Network for Large-scale Multi-view
// Clustering", ACM MM 2025): a clustering objective with anchors whose solver is unfolded into a network of three modules,
// which is trained end to end, without labels, through a singular value decomposition.
//
// # Clustering
//
// Fit takes the views and the number of clusters and returns labels:
//
//	views := []largemvc.View{
//		largemvc.MatrixView(images),            // any gonum matrix, n×d_1: a row a sample
//		largemvc.DenseView(n, 384, embeddings), // or a row-major slice, n×d_2
//	}
//	c, err := largemvc.Fit(ctx, views, largemvc.Config{Clusters: 10})
//	// c.Labels[i] is the cluster of sample i, from 0; cluster 0 is the largest.
//	labels, err := c.Predict(ctx, newViews) // samples that were not there in training
//
// The zero value of every other field of Config means a documented default. Row i of every view must be the same sample. A
// sample may lack views (View.WithPresent), but not all of them.
//
// # The method
//
// n samples have V views X_v (n×d_v). A representation H (n×m) shared by the views and anchors P_v (m×d_v) of each view
// are to reproduce the data, X_v ≈ H P_v + E_v, up to noise E_v that is zero for most samples. The objective
//
//	min Σ_v ½‖X_v − H P_v − E_v‖² + α‖H‖₁ + β‖E_v‖₂,₁    s.t. H ≥ 0, P_v P_vᵀ = I
//
// is solved by alternating steps (as package studies/classical does). The network has L layers, each one round of these steps
// with learnable thresholds θ, ρ and matrices R, U in place of the constants (Algorithm 1 of the paper):
//
//	Represent   H   ← 1/V Σ_v S_θ( H R + (X_v − E_v) P_vᵀ U )     S_θ(a) = σ(a−θ) − σ(−a−θ)
//	Noise       E_v ← D_ρ( X_v − H P_v )                          row r → σ(‖r‖−ρ)/‖r‖ · r where ‖r‖ > ρ, else 0
//	Anchor      P_v ← B Cᵀ,  Hᵀ(X_v − E_v) = B Σ Cᵀ               thin SVD: orthogonal Procrustes
//
// and is trained by Adam on the loss Σ_v ‖X_v − H P_v‖²/(n d_v) of the last layer. The clusters are those of k-means on
// the last H. AMvC-Net leaves the noise out, RMvC-Net the anchor updates too. PaperConfig has this network.
//
// # Neighbours
//
// By itself, a better reconstruction is not a better clustering. By default the network is told which samples are
// neighbours (package neighbor): every view enters in two standardisations (of up to 16 features in z-scores alone, with a
// further column that keeps the length of their rows), in its 200 leading directions, smoothed along a
// graph A of mutual nearest neighbours or, for many samples, of landmarks; and the loss, with the reconstruction relative to
// the data, has two terms −3·I/log m with Q = softmax(h/(0.1‖h‖)) by rows: the mutual information of the clusters of two
// neighbours, and that of the clusters and of what the other samples predict for each from its features, before smoothing
// (package terms has both as nodes). Among the starts of k-means for the first anchors, the one with the highest neighbour
// information is kept, of those of nearly the lowest inertia; the clusters come from k-means on H that begins with its labels.
// Where these have less information than the labels of the start, Fit keeps the clusters of the start, and Clustering.Kept and
// Notes say so. New samples are joined to the stored neighbours or landmarks and smoothed alike. Each part is
// a field of Config.Neighborhood; docs/study.md has what each is worth.
//
// # Modules
//
// Config takes the modules of the network as values; nil means the default:
//
//	largemvc.Config{
//		Clusters:  10,
//		Represent: &largemvc.SoftThreshold{OneSided: true}, // H ≥ 0
//		Noise:     &largemvc.NoNoise{},                     // AMvC-Net
//	}
//
// A type of your own that implements Represent, Noise or Anchor with Gorgonia ops takes part in everything that Fit does:
// start, restarts, early stop, checkpoints, clusters and prediction. Its learnable nodes are saved by their names; Load and
// Resume are given a module to put them into. A Represent module that is an Encoder trains a network before the network.
// The directories examples/custommodule and examples/encoder have both.
//
// # Two levels
//
// Fit, Clustering and Config are the level for users. Below it, Model builds the network from module types in a Gorgonia
// expression graph, where θ, ρ, R and U are learnable nodes, H, P and the trust t of the noise module are nodes with
// gradients, and custom loss terms fit in:
//
//	net := &largemvc.LargeMvCNet{}
//	err := net.Build(largemvc.Env{G: graph}, data, start)
//	h, err := net.H(2)                          // a node like any other
//	cost, err := gorgonia.Add(net.Loss(), myTerm(h))
//	_, err = gorgonia.Grad(cost, net.Learnables()...)
//
// Fit trains that same Model. With the stock modules, Build makes one op that runs all layers in 2L+1 passes over the
// data, forward and backward, without any array of the size of X besides X itself; with a custom module it makes an op for
// each step, which takes several times as long. Both give the same losses and gradients up to rounding. The graphs run on
// Gorgonia's tape machine; on its Lisp machine every op returns an error in place of a gradient.
//
// # Conventions
//
//   - Rows are samples. Views are n×d_v, H is n×m, anchors are m×d_v. Layers count from 1, views, samples and clusters
//     from 0.
//   - What grows with n is held in float32, or in float64 with Config.Float64; sums over samples are folded in float64.
//   - Everything random comes from Config.Seed. The same seed and data give the same bits on the same machine, whatever
//     Workers and GOMAXPROCS are.
//   - The products run in assembly on amd64 (AVX-512 or AVX2, found out at run time) and arm64, in Go elsewhere or with the
//     build tag noasm. Neither cgo nor a library is needed. The environment variable LARGEMVC_KERNEL (avx512, avx2, neon or
//     portable) forces a path.
//   - Wrong input is an error that names the view, the row and the value; of a file that cannot be read, package saved tells
//     programs what the matter is. Functions that work for long take a context.
//
// # Limits
//
// Unless told otherwise, a fit trains on all samples at once and holds them in memory: 4 bytes for each value of X and the
// state of the rows (Config.EstimateMemory says how much). Rows can be read from disk (RowsView), a fit can train on some of the
// samples (Config.FitSamples), and several processes can share the rows (Config.Machine.Comm). The number of clusters must be
// given; package choose helps. Labels come from k-means, so clusters that H does not separate are not found. Where neighbours
// mislead, as in graphs with hubs, the defaults can be worse than PaperConfig.
package largemvc
