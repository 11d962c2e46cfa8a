// What the stages around the epochs do with products of all rows.
#include "dev.h"

enum { THREADS = 128, ROWS = THREADS / WARP };

DEVICE double infinity() { return number(0x7ff0000000000000ull); }

// lowest finds, for every row and each of some groups of columns, the `keep` lowest scores in order, of equal ones the lower column
// first: score = y + the sum of bias over the views that the row has (bits of has; null: all), bias being views × columns. A
// column equal to the row's number less `self` is left out where self is not negative. What there is not has the column −1 and
// an infinite score. A warp has a row and a group; NaN is no score.
KERNEL(THREADS) lowest(int *column, double *score, const real *y, const double *bias, const u32 *has, int views, int n,
                       int columns, int ld, int group, int groups, int keep, int self) {
  long at = (long)BX * ROWS + (TID >> 5);
  int lane = TID & (WARP - 1);
  if (at >= (long)n * groups) return;
  long i = at / groups;
  int from = (int)(at % groups) * group, to = from + group < columns ? from + group : columns;
  u32 own = has ? has[i] : ALL;
  double last = -infinity();
  int last_column = -1;
  for (int k = 0; k < keep; k++) {
    double best = infinity();
    int best_column = 0x7fffffff;
    for (int j = from + lane; j < to; j += WARP) {
      double s = y[i * ld + j];
      for (int v = 0; v < views; v++)
        if (own >> v & 1) s += bias[(long)v * columns + j];
      bool later = s > last || (s == last && j > last_column);
      if (later && s < best && !(self >= 0 && j == i - self)) best = s, best_column = j;
    }
#pragma unroll
    for (int mask = WARP / 2; mask > 0; mask >>= 1) {
      double s = across(best, mask);
      int c = (int)__nvvm_shfl_sync_bfly_i32(ALL, (u32)best_column, mask, WARP - 1);
      if (s < best || (s == best && c < best_column)) best = s, best_column = c;
    }
    if (lane == 0) {
      column[at * keep + k] = best_column == 0x7fffffff ? -1 : best_column;
      score[at * keep + k] = best;
    }
    last = best, last_column = best_column;
  }
}

typedef double double4 __attribute__((ext_vector_type(4)));

enum { SHORT = 64 }; // links of a row that are summed in the type of the data

// filter sets row i of dst to product·scale[i]·Σ_e values[e]·(row columns[e] of x), e from begin[i] to begin[i+1], plus multiples of
// row i of start, last and before. Each of these may be null, and so may begin (no links) and scale. dst may be before. A warp has
// 128 columns of a row.
KERNEL(THREADS) filter(real *dst, const long *begin, const int *columns, const real *values, const real *x, const real *scale,
                       const real *start, const real *last, const real *before, int n, int ld, int slabs, double product,
                       double by_start, double by_last, double by_before) {
  long at = (long)BX * ROWS + (TID >> 5);
  if (at >= (long)n * slabs) return;
  long i = at / slabs;
  int j = ((int)(at % slabs) * WARP + (TID & (WARP - 1))) * 4;
  if (j >= ld) return;
  double4 sum = 0;
  for (long e = begin ? begin[i] : 0, end = begin ? begin[i + 1] : 0; e < end;) {
    long stop = e + SHORT < end ? e + SHORT : end;
    real4 part = 0;
#pragma unroll 4
    for (; e < stop; e++) part += values[e] * *(const real4 *)(x + (long)columns[e] * ld + j);
    sum += __builtin_convertvector(part, double4);
  }
  sum *= scale ? product * scale[i] : product;
  auto add = [&](const real *other, double by) {
    if (other) sum += by * __builtin_convertvector(*(const real4 *)(other + i * ld + j), double4);
  };
  add(start, by_start), add(last, by_last), add(before, by_before);
  *(real4 *)(dst + i * ld + j) = __builtin_convertvector(sum, real4);
}
