#include "products.h"

// The products of Procrustes steps, of several views in one launch. A view has matrices of k×q in one array, at multiples of k·ld
// elements from `at`; k is the same in all views.
struct View { long at, ld, q; };

enum { COLUMNS = 32 }; // of a part of a product over q

// view_products sets the parts of X·Yᵀ (k×k, stride ldk) of view `first` + z: part y has the columns from y·COLUMNS on. A view has
// room for `parts` of them.
KERNEL(64) view_products(real *part, int ldk, const real *base, const View *views, int first, int x, int y, int k, int parts) {
  View v = views[first + BZ];
  int begin = BY * COLUMNS, q = (int)v.q, ld = (int)v.ld;
  if (begin >= q) return;
  const real *matrices = base + v.at;
  long size = (long)k * ld, at = (long)BZ * parts + BY;
  times_transposed<32, 16, 8, 2>(STORE, part + at * k * ldk, ldk, matrices + x * size, ld, matrices + y * size, ld, k, k, begin,
                                 q - begin < COLUMNS ? q : begin + COLUMNS, 0, 0, 0, 0, 0, 0);
}

// view_fold sets matrix z of dst to scale·s³·(the sum of view z's parts) + shift·s·I, where s is scales[z], or 1 without scales.
KERNEL(FOLDS *WARP) view_fold(real *dst, const real *part, const View *views, int first, const real *scales, int k, int ldk,
                              int parts, real scale, real shift) {
  int i = column(), size = k * ldk, used = (int)((views[first + BZ].q + COLUMNS - 1) / COLUMNS);
  real sum = fold_column(part + (long)BZ * parts * size, used, size);
  if (TID >= WARP || i >= size) return;
  real s = scales ? scales[BZ] : 1;
  dst[(long)BZ * size + i] = scale * s * s * s * sum + (i / ldk == i % ldk ? shift * s : 0);
}

// view_times sets matrix `to` of view `first` + z to factor·AᵀX + keep·(matrix `to`), A being matrix z of a (k×k, stride ldk).
KERNEL(64) view_times(real *base, const real *a, int ldk, const View *views, int first, int x, int to, int k, real factor,
                      real keep) {
  View v = views[first + BZ];
  int ld = (int)v.ld;
  if (BX * 32 >= ld) return;
  long size = (long)k * ld;
  real *matrices = base + v.at;
  transposed_times<16, 32, 8, 2, true>(matrices + to * size, a + (long)BZ * k * ldk, ldk, 0, matrices + x * size, ld, k, k, ld, k,
                                       0, factor, keep);
}

// view_norm sets dst[x] to ‖A − shift·I‖ (Frobenius) for matrix x of a (k×k, stride ldk), or to one divided by its root.
enum { NORM = 256 };
KERNEL(NORM) view_norm(real *dst, const real *a, int k, int ldk, real shift, int root) {
  static SHARED real sums[NORM / WARP];
  real s = 0;
  for (int i = TID; i < k * ldk; i += NORM) {
    real e = a[(long)BX * k * ldk + i];
    if (i / ldk == i % ldk) e -= shift;
    s += e * e;
  }
  s = warp_sum(s);
  if (TID % WARP == 0) sums[TID / WARP] = s;
  SYNC();
  if (TID != 0) return;
  for (int w = 1; w < NORM / WARP; w++) s += sums[w];
  s = square_root(s);
  dst[BX] = root ? 1 / square_root(s) : s;
}

// view_skew sets element (i, j) of matrix y of dst to (q_ij − q_ji)/(σ_i + σ_j), where q is matrix y of the array q and σ is row
// y of values, whose stride is ldk.
KERNEL(128) view_skew(real *dst, const real *q, const real *values, int k, int ldk) {
  int at = BX * 128 + TID, i = at / ldk, j = at % ldk;
  if (i >= k) return;
  long from = (long)BY * k * ldk;
  values += (long)BY * ldk;
  dst[from + at] = j < k ? (q[from + at] - q[from + (long)j * ldk + i]) / (values[i] + values[j]) : 0;
}
