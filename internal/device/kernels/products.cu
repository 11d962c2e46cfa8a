#include "products.h"

// The same products in tiles for many columns, for about a hundred, for few (m ≤ 16), and for few rows, where large tiles would
// leave most processors without work.
#define TIMES_TRANSPOSED(name, BM, BN, BK, TM)                                                                                  \
  KERNEL(BM / TM * (BN / 4)) name(int epilogue, real *out, int ldout, const real *a, int lda, const real *b, int ldb, int n,    \
                                  int m, int k, const real *base, const real *row, real theta, u8 *pattern, int first,          \
                                  int one_sided) {                                                                              \
    times_transposed<BM, BN, BK, TM>(epilogue, out, ldout, a, lda, b, ldb, n, m, 0, k, base, row, theta, pattern, first,        \
                                     one_sided);                                                                                \
  }
TIMES_TRANSPOSED(times_transposed_wide, 128, 64, 16, 8)
TIMES_TRANSPOSED(times_transposed_hundred, 64, 104, 8, 8)
TIMES_TRANSPOSED(times_transposed_narrow, 128, 16, 16, 4)
TIMES_TRANSPOSED(times_transposed_small, 32, 16, 8, 2)

#define TRANSPOSED_TIMES(name, BM, BN, BK, TM)                                                                                  \
  KERNEL(BM / TM * (BN / 4)) name(real *part, const real *a, int lda, const real *w, const real *x, int ldx, int n, int m,      \
                                  int d, int chunk) {                                                                           \
    transposed_times<BM, BN, BK, TM>(part, a, lda, w, x, ldx, n, m, d, chunk, BZ);                                              \
  }
TRANSPOSED_TIMES(transposed_times_wide, 64, 128, 16, 8)
TRANSPOSED_TIMES(transposed_times_hundred, 104, 104, 8, 8)
TRANSPOSED_TIMES(transposed_times_narrow, 16, 128, 16, 4)
TRANSPOSED_TIMES(transposed_times_small, 16, 32, 8, 2)

// fold sets dst[i] to the sum over parts of part[p·size + i].
KERNEL(FOLDS *WARP) fold(double *dst, const real *part, int parts, int size) {
  double sum = fold_column(part, parts, size);
  if (TID < WARP && column() < size) dst[column()] = sum;
}

KERNEL(FOLDS *WARP) fold_doubles(double *dst, const double *part, int parts, int size) {
  double sum = fold_column(part, parts, size);
  if (TID < WARP && column() < size) dst[column()] = sum;
}
