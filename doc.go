// Package largemvc clusters large multi-view data: samples that several matrices describe, such as an image embedding, a
// text embedding and a price history of the same product.
//
// It implements LargeMvC-Net (Du et al., "LargeMvC-Net: Anchor-based Deep Unfolding Network for Large-scale Multi-view
// Clustering", ACM MM 2025). A clustering objective with anchors has an iterative solver. The network unfolds the solver into
// layers of three modules, and is trained end to end, without labels.
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
//	// c.Labels[i] is the cluster of sample i, from 0; cluster 0 is the largest in the training.
//	labels, err := c.Predict(ctx, newViews) // labels of new samples
//
// Row i of every view must be the same sample. A sample may lack views (View.WithPresent), but not all of them. The zero value
// of each other field of Config stands for a documented default.
//
// # The method
//
// n samples have V views X_v (n×d_v). The model is X_v ≈ H P_v + E_v. All views share the representation H (n×m), each view
// has anchors P_v (m×d_v), and the noise E_v is zero for most samples. The objective
//
//	min Σ_v ½‖X_v − H P_v − E_v‖² + α‖H‖₁ + β‖E_v‖₂,₁    s.t. H ≥ 0, P_v P_vᵀ = I
//
// is solved by alternating steps (studies/internal/classical has this solver). Each of the L layers of the network is one round
// of steps like these. Learnable thresholds θ, ρ and matrices R, U replace the constants (Algorithm 1 of the paper):
//
//	Represent   H   ← 1/V Σ_v S_θ( H R + (X_v − E_v) P_vᵀ U )     S_θ(a) = σ(a−θ) − σ(−a−θ)
//	Noise       E_v ← D_ρ( X_v − H P_v )                          row r → σ(‖r‖−ρ)/‖r‖ · r where ‖r‖ > ρ, else 0
//	Anchor      P_v ← B Cᵀ,  Hᵀ(X_v − E_v) = B Σ Cᵀ               thin SVD: orthogonal Procrustes
//
// Adam trains the network on the loss Σ_v ‖X_v − H P_v‖²/(n d_v) of the last layer. K-means on the last H gives the clusters.
// AMvC-Net omits the noise; RMvC-Net also omits the anchor updates. PaperConfig returns the settings of this network.
//
// # Neighbours
//
// A better reconstruction is not always a better clustering. By default Fit therefore also uses a graph of nearest neighbours
// (package neighbor):
//
//   - Inputs: the network sees every view in two standardisations. A view of up to 16 features has the z-score alone, with one
//     more column that keeps the length of the row. Each input is reduced to its 200 leading singular directions.
//   - Smoothing: each input is smoothed along a graph of mutual nearest neighbours, or of landmarks if there are many samples.
//   - Loss: the reconstruction is relative to the size of the data. Two terms −3·I/log m are added, with soft clusters
//     Q = softmax(h/(0.1‖h‖)) by rows. The first is the mutual information of the clusters of two neighbours. The second is the
//     held-out information: the mutual information of the clusters and their prediction by the other samples, from features
//     before smoothing. Package terms has both as nodes.
//   - Initial clustering: k-means on the first m left singular vectors of all inputs side by side, each times the root of its
//     singular value, rows at norm 1. It has three times Config.KMeansStarts starts. Of the starts within 10 % of the
//     lowest inertia, Fit keeps the one with the highest neighbour information. The last k-means, on H, starts from these
//     labels alone. If Anchors differs from Clusters, k-means on H has several starts and, for up to 5,000 samples, chooses among
//     them in the same way.
//   - Result: if the final clusters have less information than the initial clusters, Fit returns the initial clusters. If there
//     are fewer anchors than clusters, these are a k-means of all clusters on the m vectors of the initial clustering.
//     Clustering.Kept and Clustering.Notes report it.
//
// Without neighbours, the initial clustering is one k-means over all views.
//
// New samples are linked to the stored neighbours or landmarks and smoothed in the same way. Config.Neighborhood has the
// settings; studies/results/quality.md measures what each part is worth.
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
// A custom module is a type that implements Represent, Noise or Anchor with Gorgonia ops (examples/custommodule). It works with
// restarts, early stop, checkpoints and prediction. A model file has its learnable nodes by their names; give Load a module to
// receive them, and set one in the function of Resume. A Represent module that is an Encoder trains an encoder of the views
// (examples/encoder).
//
// # Two levels
//
// Fit, Clustering and Config are the level for users. Below it, Model builds the network in a Gorgonia expression graph, from the
// views (NewData) and the first anchors (StartPoint). θ, ρ, R and U are learnable nodes. H, P and the trust t of the noise module
// are nodes with gradients, for custom loss terms:
//
//	net := &largemvc.LargeMvCNet{}
//	err := net.Build(largemvc.Env{G: graph}, data, start)
//	h, err := net.H(2)                          // a node like any other
//	cost, err := gorgonia.Add(net.Loss(), myTerm(h))
//	_, err = gorgonia.Grad(cost, net.Learnables()...)
//
// Fit trains the same Model. With the modules of this package, Build makes one op that runs all layers in 2L+1 passes over the
// data, forward and backward, and allocates no array of the size of X. With a custom module, Build makes an op for each step,
// which is several times slower. Both give the same losses and gradients up to rounding. The graphs run on Gorgonia's tape
// machine. On its Lisp machine every op returns an error.
//
// # Conventions
//
//   - Rows are samples. Views are n×d_v, H is n×m, anchors are m×d_v. Layers count from 1; views, samples and clusters count
//     from 0.
//   - Arrays that grow with n are float32, or float64 with Config.Float64. Sums over samples are float64.
//   - Config.Seed seeds all random numbers. The same seed and data give the same bits on the same machine, for any Workers
//     and GOMAXPROCS.
//   - Matrix products run in assembly on amd64 (AVX-512 or AVX2) and arm64, and in Go elsewhere or with the build tag noasm. The
//     environment variable LARGEMVC_KERNEL (avx512, avx2, neon or portable) selects the code. Neither cgo nor a C library is
//     needed.
//   - An error about data names the view, the row and the value. Package saved has the errors of files that cannot be read.
//   - Functions that run long take a context.
//
// # Limits
//
// By default a fit trains on all samples at once and holds them in memory: 4 bytes for each value of X and the state of the rows
// (see Config.EstimateMemory). Rows can be read from disk (RowsView), a fit can train on a part of the samples
// (Config.FitSamples), and several processes can share the rows (Config.Machine.Comm). You must give the number of clusters;
// package choose suggests one. Where neighbours mislead, as in graphs with hubs, the defaults can be worse than PaperConfig.
package largemvc
