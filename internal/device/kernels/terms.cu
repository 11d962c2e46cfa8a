// The terms of the loss beside the reconstruction, functions of rows of H and of a graph: internal/information has the algebra.
// One warp has a row, of m elements with the stride ld; its arithmetic is in double.
#include "dev.h"

enum { THREADS = 128, ROWS = THREADS / WARP };

#define ROW(row, n)                                                                                                             \
  long row = (long)BX * ROWS + (TID >> 5);                                                                                      \
  int lane = TID & (WARP - 1);                                                                                                  \
  if (row >= n) return

DEVICE double warp_max(double x) {
#pragma unroll
  for (int mask = WARP / 2; mask > 0; mask >>= 1) {
    double y = across(x, mask);
    x = y > x || y != y ? y : x; // NaN stays
  }
  return x;
}

// unit_scale returns 1/‖h‖, 0 for h = 0.
DEVICE double unit_scale(const real *h, int lane, int m) {
  double s = 0;
  for (int j = lane; j < m; j += WARP) s += (double)h[j] * h[j];
  s = square_root(warp_sum(s));
  return s != 0 ? 1 / s : 0;
}

// softmax sets q to the softmax of u(j)/temperature for j < m, and to 0 from there to ld.
template <typename F> DEVICE void softmax(real *q, int lane, int m, int ld, double temperature, F u) {
  double most = -number(0x7ff0000000000000ull), sum = 0, inverse = 1 / temperature;
  for (int j = lane; j < m; j += WARP) {
    double x = u(j);
    most = x > most || x != x ? x : most;
  }
  most = warp_max(most);
  for (int j = lane; j < m; j += WARP) sum += exponential((u(j) - most) * inverse);
  sum = 1 / warp_sum(sum);
  for (int j = lane; j < ld; j += WARP) q[j] = j < m ? (real)(exponential((u(j) - most) * inverse) * sum) : 0;
}

// assign sets the rows of q to the softmax of h/(‖h‖·temperature).
KERNEL(THREADS) assign(real *q, const real *h, int n, int m, int ld, double temperature) {
  ROW(i, n);
  const real *row = h + i * ld;
  double scale = unit_scale(row, lane, m);
  softmax(q + i * ld, lane, m, ld, temperature, [&](int j) { return row[j] * scale; });
}

// gather sets row i of dst to the sum of values[e]·(row columns[e] of table) for e from begin[i] to begin[i+1].
KERNEL(THREADS) gather(real *dst, const long *begin, const int *columns, const real *values, const real *table, int n, int ld) {
  ROW(i, n);
  long lo = begin[i], hi = begin[i + 1];
  for (int j = lane; j < ld; j += WARP) {
    real s = 0;
    for (long e = lo; e < hi; e++) s += values[e] * table[(long)columns[e] * ld + j];
    dst[i * ld + j] = s;
  }
}

// predict takes the rows of guess from YC to the softmax of the predictions (YC − h q)/(1 − h) without the sample itself.
KERNEL(THREADS) predict(real *guess, const real *q, const real *leverage, const real *rest, int n, int m, int ld,
                        double temperature) {
  ROW(i, n);
  real *g = guess + i * ld;
  const real *own = q + i * ld;
  double h = leverage[i], inverse = 1 / (double)rest[i];
  // Every lane writes what it alone reads.
  softmax(g, lane, m, ld, temperature, [&](int j) { return (g[j] - h * own[j]) * inverse; });
}

// guess_cotangent takes the rows of guess, and their cotangents d, to the cotangents of the predictions over 1 − h.
KERNEL(THREADS) guess_cotangent(real *guess, const real *d, const real *rest, int n, int m, int ld, double temperature) {
  ROW(i, n);
  double mean = 0, scale = 1 / (temperature * rest[i]);
  for (int j = lane; j < m; j += WARP) mean += (double)d[i * ld + j] * guess[i * ld + j];
  mean = warp_sum(mean);
  for (int j = lane; j < m; j += WARP) {
    double g = guess[i * ld + j];
    guess[i * ld + j] = (real)(g * (d[i * ld + j] - mean) * scale);
  }
}

// term_cotangent adds to dh the cotangent of h for that of its q, which is d, or d + dq − leverage·back.
KERNEL(THREADS) term_cotangent(real *dh, const real *d, const real *dq, const real *back, const real *leverage, const real *h,
                               const real *q, int n, int m, int ld, double temperature) {
  ROW(i, n);
  const real *row = h + i * ld;
  double scale = unit_scale(row, lane, m), mean = 0, along = 0, inverse = 1 / temperature;
  if (scale == 0) return;
  auto at = [&](int j) {
    double e = d[i * ld + j];
    if (dq) e += (double)dq[i * ld + j] - (double)leverage[i] * back[i * ld + j];
    return e;
  };
  for (int j = lane; j < m; j += WARP) mean += at(j) * q[i * ld + j];
  mean = warp_sum(mean);
  for (int j = lane; j < m; j += WARP) along += q[i * ld + j] * (at(j) - mean) * inverse * (row[j] * scale);
  along = warp_sum(along);
  for (int j = lane; j < m; j += WARP) {
    double dz = q[i * ld + j] * (at(j) - mean) * inverse;
    dh[i * ld + j] += (real)((dz - along * (row[j] * scale)) * scale);
  }
}
