// What a pass does to rows between its products. One warp has a row of row state, ld elements of which those beyond m are zero;
// sums along a row are taken in double, and those over rows left to row_sums.
#include "dev.h"

enum { THREADS = 128, ROWS = THREADS / WARP };

// ROW is the row of this warp; a warp beyond the rows has nothing to do.
#define ROW(row, n)                                                                                                             \
  long row = (long)BX * ROWS + (TID >> 5);                                                                                      \
  int lane = TID & (WARP - 1);                                                                                                  \
  if (row >= n) return

// FOURS is every four elements of a row of row state that are this lane's, and four reads them: wide reads keep more of them on
// their way.
#define FOURS(j) for (int j = 4 * lane; j < ld; j += 4 * WARP)
DEVICE real4 four(const real *a, long at) { return *(const real4 *)(a + at); }

// ELEMENT is the number of this thread, one for each of n elements.
#define ELEMENT(i, n)                                                                                                           \
  long i = (long)BX * THREADS + TID;                                                                                            \
  if (i >= n) return

DEVICE double not_negative(double x) { return x < 0 ? 0 : x; } // NaN stays

// squared_norms sets norms[i] = ‖x_i‖².
KERNEL(THREADS) squared_norms(double *norms, const real *x, int ldx, int n, int d) {
  ROW(i, n);
  double s = 0;
  for (int j = lane; j < d; j += WARP) s += (double)x[i * ldx + j] * x[i * ldx + j];
  s = warp_sum(s);
  if (lane == 0) norms[i] = s;
}

// residual sets q[i] = ‖x_i‖² + ⟨h_i, k_i − 2 y_i⟩ = ‖x_i − h_i P‖², for k = HK and y = XPᵀ, and direct[i] to whether it is less
// than share of ‖x_i‖² and so not to be trusted.
KERNEL(THREADS) residual(double *q, u8 *direct, const double *norms, const real *h, const real *k, const real *y, int n, int ld,
                         double share) {
  ROW(i, n);
  double s = 0;
  FOURS(j) {
    long at = i * ld + j;
    real4 hs = four(h, at), ks = four(k, at), ys = four(y, at);
#pragma unroll
    for (int f = 0; f < 4; f++) s += (double)hs[f] * ((double)ks[f] - 2 * (double)ys[f]);
  }
  s = warp_sum(s);
  if (lane != 0) return;
  double xx = norms[i];
  s += xx;
  q[i] = s;
  direct[i] = s < share * xx;
}

// block_sum returns the sum of the threads' s to thread 0.
DEVICE double block_sum(double s) {
  static SHARED double parts[ROWS];
  s = warp_sum(s);
  if ((TID & (WARP - 1)) == 0) parts[TID >> 5] = s;
  SYNC();
  if (TID != 0) return 0;
  for (int w = 1; w < ROWS; w++) s += parts[w];
  return s;
}

// DIRECT is the number of rows that a block looks for direct ones in, which are few: most blocks end when they have read the flags.
constexpr int DIRECT = 64;
#define DIRECT_ROWS(i) for (long i = (long)BX * DIRECT; i < n && i < ((long)BX + 1) * DIRECT; i++)

// none_direct reports whether a whole block of rows has no direct ones, by eight flags at a time.
DEVICE bool none_direct(const u8 *direct, int n) {
  if (((long)BX + 1) * DIRECT > n) return false;
  const u64 *flags = (const u64 *)(direct + (long)BX * DIRECT);
  u64 any = 0;
#pragma unroll
  for (int i = 0; i < DIRECT / 8; i++) any |= flags[i];
  return any == 0;
}

// direct_residual sets q[i] to ‖x_i − h_i P‖² where direct[i], without cancellation. A block has DIRECT rows.
KERNEL(THREADS) direct_residual(double *q, const u8 *direct, const real *x, int ldx, const real *h, int ld, const real *p, int n,
                                int m, int d) {
  if (none_direct(direct, n)) return;
  DIRECT_ROWS(i) {
    if (!direct[i]) continue;
    double s = 0;
    for (int c = TID; c < d; c += THREADS) {
      real hp = 0;
      for (int j = 0; j < m; j++) hp += h[i * ld + j] * p[(long)j * ldx + c];
      real r = x[i * ldx + c] - hp;
      s += (double)r * r;
    }
    s = block_sum(s);
    if (TID == 0) q[i] = s;
    SYNC();
  }
}

// subtract_direct subtracts c[i]·(x_i − h_i P)Pᵀ from row i of dst where direct[i]. A block has DIRECT rows; dynamic shared memory
// holds m elements.
KERNEL(THREADS) subtract_direct(real *dst, const real *c, const u8 *direct, const real *x, int ldx, const real *h, int ld,
                                const real *p, int n, int m, int d) {
  extern SHARED real sums[];
  static SHARED real rest[THREADS];
  if (none_direct(direct, n)) return;
  DIRECT_ROWS(i) {
    real factor = direct[i] ? c[i] : 0;
    if (factor == 0) continue;
    for (int j = TID; j < m; j += THREADS) sums[j] = 0;
    for (int c0 = 0; c0 < d; c0 += THREADS) {
      int col = c0 + TID;
      real r = 0;
      if (col < d) {
        real hp = 0;
        for (int j = 0; j < m; j++) hp += h[i * ld + j] * p[(long)j * ldx + col];
        r = x[i * ldx + col] - hp;
      }
      rest[TID] = r;
      SYNC();
      int width = d - c0 < THREADS ? d - c0 : THREADS;
      for (int j = TID; j < m; j += THREADS) {
        real s = 0;
        for (int q = 0; q < width; q++) s += rest[q] * p[(long)j * ldx + c0 + q];
        sums[j] += s;
      }
      SYNC();
    }
    for (int j = TID; j < m; j += THREADS) dst[i * ld + j] -= factor * sums[j];
  }
}

// trust sets norm to r = √max(q, 0), trust to t = 1 − slope·(r−ρ)/r where r > max(ρ, 0), elsewhere 1, and the weights of the
// sums M and W: b·t and b·(1−t); present may be null.
KERNEL(THREADS) trust(real *norm, real *t, real *by_trust, real *by_rest, const double *q, const real *present, int n, double rho,
                      double slope) {
  ELEMENT(i, n);
  double r = square_root(not_negative(q[i])), value = 1;
  if (r > (rho > 0 ? rho : 0)) value = (1 - slope) + slope * rho / r;
  real b = present ? present[i] : 1, e = (real)value;
  norm[i] = (real)r;
  t[i] = e;
  by_trust[i] = b * e;
  by_rest[i] = b * (1 - e);
}

// one_less sets dst to 1 − src.
KERNEL(THREADS) one_less(real *dst, const real *src, int n) {
  ELEMENT(i, n);
  dst[i] = 1 - src[i];
}

// loss_terms sets loss[i·stride] = b·max(q_i, 0) and, where they are not null, factors[i] = b·factor.
KERNEL(THREADS) loss_terms(double *loss, int stride, real *factors, const double *q, const real *present, int n, real factor) {
  ELEMENT(i, n);
  real b = present ? present[i] : 1;
  loss[i * stride] = b != 0 ? not_negative(q[i]) : 0;
  if (factors) factors[i] = b * factor;
}

// add_residual adds c[i]·(k_i − y_i) to row i of dst, the rows with direct[i] aside, to which subtract_direct adds the same
// without cancellation. With first set dst was zero.
KERNEL(THREADS) add_residual(real *dst, int first, const real *c, const u8 *direct, const real *k, const real *y, int n, int ld) {
  ROW(i, n);
  real factor = direct[i] ? 0 : c[i];
  FOURS(j) {
    long at = i * ld + j;
    real4 sum = {0, 0, 0, 0};
    if (!first) sum = four(dst, at);
    if (factor != 0) sum += factor * (four(k, at) - four(y, at));
    *(real4 *)(dst + at) = sum;
  }
}

// scale_add sets dst to scale·dst + add, where a scale of 0 means that dst may hold anything; add may be null.
KERNEL(THREADS) scale_add(real *dst, real scale, const real *add, long n) {
  ELEMENT(i, n);
  real s = scale == 0 ? 0 : scale * dst[i];
  dst[i] = add ? s + add[i] : s;
}

// narrow sets dst to src.
KERNEL(THREADS) narrow(real *dst, const double *src, long n) {
  ELEMENT(i, n);
  dst[i] = (real)src[i];
}

// anchor_cotangent is the share of M = diag(b t H)ᵀX + W P in the cotangents of H and t, with a = X dMᵀ and g = H S:
//
//	dH += b (t a + (1−t) g)      dt += b (⟨h, a⟩ − ½⟨h, g⟩)
//
// Without noise t is null, and dH += b a.
KERNEL(THREADS) anchor_cotangent(real *dh, real *dt, const real *a, const real *g, const real *h, const real *t,
                                 const real *present, int n, int ld) {
  ROW(i, n);
  real b = present ? present[i] : 1;
  if (b == 0) return;
  if (!t) {
    for (int j = lane; j < ld; j += WARP) dh[i * ld + j] += a[i * ld + j];
    return;
  }
  real e = t[i], rest = 1 - e;
  double s = 0;
  FOURS(j) {
    long at = i * ld + j;
    real4 u = four(a, at), v = four(g, at), hs = four(h, at);
    *(real4 *)(dh + at) = four(dh, at) + e * u + rest * v;
#pragma unroll
    for (int f = 0; f < 4; f++) s += (double)hs[f] * ((double)v[f] - 2 * (double)u[f]);
  }
  s = warp_sum(s);
  if (lane == 0) dt[i] -= (real)(s / 2);
}

// noise_cotangent is the backward pass of trust by way of q: where r > max(ρ, 0), with x = dt·slope·ρ/r³,
//
//	c = −x (the factor of HK − Y in dH)      minus = x (that of H in dY)      half = −x/2 (of HᵀH in dK)
//	rho[i·stride] = dt·slope/r
//
// and elsewhere 0. half may be null.
KERNEL(THREADS) noise_cotangent(real *c, real *minus, real *half, double *rho_terms, int stride, const real *norm, const real *dt,
                                int n, double rho, double slope) {
  ELEMENT(i, n);
  double r = norm[i], x = 0, part = 0;
  if (r > (rho > 0 ? rho : 0)) {
    double inverse = 1 / r;
    part = dt[i] * slope * inverse;
    x = part * rho * inverse * inverse;
  }
  c[i] = (real)(0 - x);
  minus[i] = (real)x;
  if (half) half[i] = (real)x / -2;
  rho_terms[i * stride] = part;
}

// threshold_cotangent sets g to the cotangent of A for that of H, g = w·dh·(up + down) by the pattern, adds it to sum unless
// that is null, and its share of dθ, Σ w·dh·(down − up), to theta[i·stride]. With first set, sum and theta were zero.
KERNEL(THREADS) threshold_cotangent(real *g, real *sum, double *theta, int stride, int first, const real *dh, const real *w,
                                    const u8 *pattern, int n, int ld) {
  ROW(i, n);
  real weight = w[i];
  double s = 0;
  FOURS(j) {
    long at = i * ld + j;
    u32 active = pattern[i * (ld / 4) + j / 4];
    real4 v = weight * four(dh, at), e, before = {0, 0, 0, 0};
    if (sum && !first) before = four(sum, at);
#pragma unroll
    for (int f = 0; f < 4; f++) {
      int up = active >> f & 1, down = active >> (4 + f) & 1;
      e[f] = v[f] * (real)(up + down);
      s += v[f] * (real)(down - up);
    }
    *(real4 *)(g + at) = e;
    if (sum) *(real4 *)(sum + at) = e + before;
  }
  s = warp_sum(s);
  if (lane == 0) theta[i * stride] = first ? s : theta[i * stride] + s;
}

// The constants of SELU (Klambauer et al., 2017).
#define SELU_ALPHA 1.6732632423543772848170429916717
#define SELU_SCALE 1.0507009873554804934193349852946

DEVICE double selu(double x) { return x > 0 ? SELU_SCALE * x : SELU_SCALE * SELU_ALPHA * exponential_less_one(x); }
DEVICE double selu_slope(double x) { return x > 0 ? SELU_SCALE : SELU_SCALE * SELU_ALPHA * exponential(x); }

// selu_threshold adds w·(σ(a−θ) − σ(−a−θ)) to h, or the first part alone. With first set h was zero.
KERNEL(THREADS) selu_threshold(real *h, int first, const real *a, const real *w, double theta, int one_sided, int n, int m,
                               int ld) {
  ROW(i, n);
  real weight = w[i];
  for (int j = lane; j < ld; j += WARP) {
    long at = i * ld + j;
    real before = first ? 0 : h[at];
    if (j < m) {
      double s = selu(a[at] - theta);
      if (!one_sided) s -= selu(-(double)a[at] - theta);
      before += weight * (real)s;
    }
    h[at] = before;
  }
}

// selu_cotangent is threshold_cotangent for SELU: g = w·dh·(σ'(a−θ) + σ'(−a−θ)), theta Σ w·dh·(σ'(−a−θ) − σ'(a−θ)).
KERNEL(THREADS) selu_cotangent(real *g, real *sum, double *theta_terms, int stride, int first, const real *dh, const real *w,
                               const real *a, double theta, int one_sided, int n, int m, int ld) {
  ROW(i, n);
  double weight = w[i], s = 0;
  for (int j = lane; j < ld; j += WARP) {
    long at = i * ld + j;
    real e = 0;
    if (j < m) {
      double up = selu_slope(a[at] - theta), down = one_sided ? 0 : selu_slope(-(double)a[at] - theta);
      double v = weight * dh[at];
      e = (real)(v * (up + down));
      s += v * (down - up);
    }
    g[at] = e;
    if (sum) sum[at] = first ? e : sum[at] + e;
  }
  s = warp_sum(s);
  if (lane == 0) theta_terms[i * stride] = first ? s : theta_terms[i * stride] + s;
}

// represent_cotangent takes dz = g Uᵀ and zc = g (C U)ᵀ on:
//
//	dt = ⟨dz, y⟩ − ⟨zc, prev⟩      carry += (1−t) zc      dz ← t dz + minus·h, the cotangent of Y
//
// With first set carry was zero. The last is left out where h is null.
KERNEL(THREADS) represent_cotangent(real *dt, real *carry, int first, real *dz, const real *zc, const real *y, const real *prev,
                                    const real *t, const real *h, const real *minus, int n, int ld) {
  ROW(i, n);
  real e = t[i], rest = 1 - e, factor = h ? minus[i] : 0;
  double s = 0;
  FOURS(j) {
    long at = i * ld + j;
    real4 u = four(dz, at), v = four(zc, at), ys = four(y, at), before = four(prev, at), sum = rest * v, hs = {0, 0, 0, 0};
    if (!first) sum += four(carry, at);
    if (h) hs = four(h, at);
    *(real4 *)(carry + at) = sum;
    if (h) *(real4 *)(dz + at) = e * u + factor * hs;
#pragma unroll
    for (int f = 0; f < 4; f++) s += (double)u[f] * ys[f] - (double)v[f] * before[f];
  }
  s = warp_sum(s);
  if (lane == 0) dt[i] = (real)s;
}

// row_sums sets part[x·columns + y] to the sum of values[i·columns + y] over the rows of chunk x. Every thread takes each
// THREADS-th row, and the threads' sums are added up in a fixed order.
KERNEL(THREADS) row_sums(double *part, const double *values, int columns, int n, int chunk) {
  long lo = (long)BX * chunk, hi = lo + chunk < n ? lo + chunk : n;
  double s = 0;
  for (long i = lo + TID; i < hi; i += THREADS) s += values[i * columns + BY];
  s = block_sum(s);
  if (TID == 0) part[(long)BX * columns + BY] = s;
}
