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
