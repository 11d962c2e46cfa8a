// Matrix products by fused multiply-add, for float and double: every thread holds a tile of TM×4 of the result, every block
// one of BM×BN, and steps of BK of the inner dimension go through shared memory while the next are on their way in registers.
//
// All matrices are row-major with strides that are multiples of 4 elements, at addresses that are multiples of 4 elements, and
// what lies between a row's end and its stride is zero. So four elements are always read at once.
#pragma once
#include "dev.h"

DEVICE real4 zero4() { real4 z = {0, 0, 0, 0}; return z; }

// read copies N elements, an even number, from an address that is a multiple of 4 of them, or of 2.
template <int N> DEVICE void read(real *to, const real *from) {
  if (N % 4 == 0) {
#pragma unroll
    for (int i = 0; i < N; i += 4) {
      real4 x = *(const real4 *)(from + i);
      to[i] = x[0], to[i + 1] = x[1], to[i + 2] = x[2], to[i + 3] = x[3];
    }
    return;
  }
#pragma unroll
  for (int i = 0; i < N; i += 2) {
    real2 x = *(const real2 *)(from + i);
    to[i] = x[0], to[i + 1] = x[1];
  }
}

// What times_transposed does with the products.
enum Epilogue {
  STORE = 0,     // out = s
  ADD = 1,       // out = s + base, base may be null
  LERP = 2,      // out = row·base + (1 − row)·s
  THRESHOLD = 3, // out += row·S_θ(s + base), base may be null; and the pattern
};

// part_above returns max(x, 0), NaN for NaN.
DEVICE real part_above(real x) { return x <= 0 ? 0 : x; }

// times_transposed sets rows of out (n×ldout) to A·Bᵀ, A being n×k and B m×k, with an epilogue; columns from m to ldout become
// zero. The inner dimension begins at `begin`, a multiple of 4. Blocks are counted along the columns first: blocks of the same rows run side by side, and read them from memory once.
template <int BM, int BN, int BK, int TM>
DEVICE void times_transposed(int epilogue, real *out, int ldout, const real *a, int lda, const real *b, int ldb, int n, int m,
                             int begin, int k, const real *base, const real *row, real theta, u8 *pattern, int first,
                             int one_sided) {
  enum { TX = BN / 4, THREADS = BM / TM * TX, K4 = BK / 4, FA = (BM * K4 + THREADS - 1) / THREADS,
         FB = (BN * K4 + THREADS - 1) / THREADS };
  static SHARED real4 as4[BK][BM / 4 + 1];
  static SHARED real4 bs4[BK][BN / 4 + 1];
  real(*as)[BM + 4] = (real(*)[BM + 4]) as4, (*bs)[BN + 4] = (real(*)[BN + 4]) bs4;
  int tid = TID, tx = tid % TX, ty = tid / TX, tiles = (ldout + BN - 1) / BN, col0 = BX % tiles * BN;
  long row0 = (long)(BX / tiles) * BM;
  real acc[TM][4];
#pragma unroll
  for (int i = 0; i < TM; i++)
#pragma unroll
    for (int j = 0; j < 4; j++) acc[i][j] = 0;
  real4 fa[FA], fb[FB];
  auto fetch = [&](int k0) {
#pragma unroll
    for (int f = 0; f < FA; f++) {
      int i = tid + f * THREADS, r = i / K4, q = k0 + i % K4 * 4;
      fa[f] = i < BM * K4 && row0 + r < n && q < k ? *(const real4 *)(a + (row0 + r) * lda + q) : zero4();
    }
#pragma unroll
    for (int f = 0; f < FB; f++) {
      int i = tid + f * THREADS, r = i / K4, q = k0 + i % K4 * 4;
      fb[f] = i < BN * K4 && col0 + r < m && q < k ? *(const real4 *)(b + (long)(col0 + r) * ldb + q) : zero4();
    }
  };
  fetch(begin);
  for (int k0 = begin; k0 < k; k0 += BK) {
#pragma unroll
    for (int f = 0; f < FA; f++) {
      int i = tid + f * THREADS, r = i / K4, q = i % K4 * 4;
      if (i < BM * K4)
#pragma unroll
        for (int j = 0; j < 4; j++) as[q + j][r] = fa[f][j];
    }
#pragma unroll
    for (int f = 0; f < FB; f++) {
      int i = tid + f * THREADS, r = i / K4, q = i % K4 * 4;
      if (i < BN * K4)
#pragma unroll
        for (int j = 0; j < 4; j++) bs[q + j][r] = fb[f][j];
    }
    SYNC();
    if (k0 + BK < k) fetch(k0 + BK);
#pragma unroll
    for (int kk = 0; kk < BK; kk++) {
      real x[TM];
      read<TM>(x, &as[kk][ty * TM]);
      real4 y = bs4[kk][tx];
#pragma unroll
      for (int i = 0; i < TM; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) acc[i][j] += x[i] * y[j];
    }
    SYNC();
  }
  int col = col0 + tx * 4;
  if (col >= ldout) return;
#pragma unroll
  for (int i = 0; i < TM; i++) {
    long at = row0 + ty * TM + i;
    if (at >= n) return;
    real4 s = {acc[i][0], acc[i][1], acc[i][2], acc[i][3]};
    real4 *dst = (real4 *)(out + at * ldout + col);
    if (epilogue != STORE && base) {
      real4 c = *(const real4 *)(base + at * ldout + col);
      if (epilogue == LERP) {
        real t = row[at], rest = 1 - t;
        s = t * c + rest * s;
      } else {
        s += c;
      }
    }
    if (epilogue != THRESHOLD) {
      *dst = s;
      continue;
    }
    real w = row[at];
    real4 h = first ? zero4() : *dst;
    u32 active = 0;
#pragma unroll
    for (int j = 0; j < 4; j++) {
      if (col + j >= m) continue; // S_θ(0) is not 0 on one side with θ < 0
      real up = part_above(s[j] - theta), down = one_sided ? 0 : part_above(-s[j] - theta);
      active |= (u32)(up != 0) << j | (u32)(down != 0) << (4 + j);
      h[j] += w * (up - down);
    }
    *dst = h;
    pattern[at * (ldout / 4) + col / 4] = (u8)active;
  }
}

// transposed_times sets part z to (w ⊙ A)ᵀ·X (m×d, without gaps) over rows from z·chunk to (z+1)·chunk; A is n×m, X n×d. w may
// be null. Block (x, y) makes columns from x·BN, rows from y·BM. With MIX the result is factor·(w ⊙ A)ᵀ·X + keep·part, where a keep
// of 0 means that part may hold anything.
template <int BM, int BN, int BK, int TM, bool MIX = false>
DEVICE void transposed_times(real *part, const real *a, int lda, const real *w, const real *x, int ldx, int n, int m, int d,
                             int chunk, int z, real factor = 1, real keep = 0) {
  enum { TX = BN / 4, THREADS = BM / TM * TX, M4 = BM / 4, N4 = BN / 4, FA = (BK * M4 + THREADS - 1) / THREADS,
         FX = (BK * N4 + THREADS - 1) / THREADS };
  static SHARED real4 as[BK][M4];
  static SHARED real4 xs[BK][N4];
  int tid = TID, tx = tid % TX, ty = tid / TX, col0 = BX * BN, row0 = BY * BM;
  long lo = (long)z * chunk, hi = lo + chunk < n ? lo + chunk : n;
  real acc[TM][4];
#pragma unroll
  for (int i = 0; i < TM; i++)
#pragma unroll
    for (int j = 0; j < 4; j++) acc[i][j] = 0;
  real4 fa[FA], fx[FX];
  auto fetch = [&](long i0) {
#pragma unroll
    for (int f = 0; f < FA; f++) {
      int i = tid + f * THREADS, q = row0 + i % M4 * 4;
      long r = i0 + i / M4;
      fa[f] = zero4();
      if (i < BK * M4 && r < hi && q < lda) {
        fa[f] = *(const real4 *)(a + r * lda + q);
        if (w) fa[f] *= w[r];
      }
    }
#pragma unroll
    for (int f = 0; f < FX; f++) {
      int i = tid + f * THREADS, q = col0 + i % N4 * 4;
      long r = i0 + i / N4;
      fx[f] = i < BK * N4 && r < hi && q < ldx ? *(const real4 *)(x + r * ldx + q) : zero4();
    }
  };
  fetch(lo);
  for (long i0 = lo; i0 < hi; i0 += BK) {
#pragma unroll
    for (int f = 0; f < FA; f++) {
      int i = tid + f * THREADS;
      if (i < BK * M4) as[i / M4][i % M4] = fa[f];
    }
#pragma unroll
    for (int f = 0; f < FX; f++) {
      int i = tid + f * THREADS;
      if (i < BK * N4) xs[i / N4][i % N4] = fx[f];
    }
    SYNC();
    if (i0 + BK < hi) fetch(i0 + BK);
#pragma unroll
    for (int kk = 0; kk < BK; kk++) {
      real4 y = xs[kk][tx];
      real u[TM];
      read<TM>(u, (const real *)as[kk] + ty * TM);
#pragma unroll
      for (int i = 0; i < TM; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) acc[i][j] += u[i] * y[j];
    }
    SYNC();
  }
  real *out = part + (long)z * m * d;
#pragma unroll
  for (int i = 0; i < TM; i++)
#pragma unroll
    for (int j = 0; j < 4; j++) {
      int r = row0 + ty * TM + i, c = col0 + tx * 4 + j;
      if (r >= m || c >= d) continue;
      real *dst = out + (long)r * d + c;
      if (MIX) acc[i][j] = factor * acc[i][j] + (keep == 0 ? 0 : keep * *dst);
      *dst = acc[i][j];
    }
}

// A grid has at most 65,535 blocks along z, so there are at most 2¹³ eights of parts.
enum { LEVELS = 13 };

// tree_sum returns the sum of part[0], part[stride], … in the binary tree of the engine: two neighbours of a level are added as
// soon as both are there, and in the end what is left, from the right. Eight parts are read at a time.
template <typename P> DEVICE double tree_sum(const P *part, int parts, long stride) {
  double node[LEVELS]; // of 8, 16, 32, … parts
#pragma unroll
  for (int level = 0; level < LEVELS; level++) node[level] = 0;
  int eights = parts / 8;
  for (int i = 0; i < eights; i++) {
    P x[8];
#pragma unroll
    for (int j = 0; j < 8; j++) x[j] = part[(8 * (long)i + j) * stride];
    double s = (((double)x[0] + x[1]) + ((double)x[2] + x[3])) + (((double)x[4] + x[5]) + ((double)x[6] + x[7]));
    bool carried = true;
#pragma unroll
    for (int level = 0; level < LEVELS; level++) {
      bool both = i >> level & 1;
      double sum = node[level] + s;
      node[level] = carried && !both ? s : node[level];
      s = sum;
      carried = carried && both;
    }
  }
  int rest = parts % 8;
  double total = 0;
  P x[7];
#pragma unroll
  for (int j = 0; j < 7; j++) x[j] = j < rest ? part[(8 * (long)eights + j) * stride] : 0;
  bool any = rest > 0;
  int after = rest & 4; // four of the rest come first
  double one = (rest & 2) ? (after ? x[6] : x[2]) : (after ? x[4] : x[0]);
  double two = after ? (double)x[4] + x[5] : (double)x[0] + x[1];
  double four = ((double)x[0] + x[1]) + ((double)x[2] + x[3]);
  if (rest & 1) total = one;
  if (rest & 2) total = (rest & 1) ? two + total : two;
  if (after) total = (rest & 3) ? four + total : four;
#pragma unroll
  for (int level = 0; level < LEVELS; level++) {
    if (!(eights >> level & 1)) continue;
    total = any ? node[level] + total : node[level];
    any = true;
  }
  return total;
}

// A block of FOLDS·32 threads sums 32 columns of parts. Its warps share the parts among them.
enum { FOLDS = 8 };

// column is the column of a thread of such a block.
DEVICE int column() { return BX * WARP + TID % WARP; }

// fold_column returns tree_sum in the first warp of the block, for a column below size and one part at least. All threads of the
// block call it.
template <typename P> DEVICE double fold_column(const P *part, int parts, int size) {
  static SHARED double sums[FOLDS][WARP];
  int lane = TID % WARP, warp = TID / WARP, share = 1, i = column();
  while (share * FOLDS < parts) share *= 2; // a power of two, so that a share is a node of the tree
  int begin = warp * share, own = parts - begin < share ? parts - begin : share;
  sums[warp][lane] = i < size && own > 0 ? tree_sum(part + (long)begin * size + i, own, size) : 0;
  SYNC();
  if (warp != 0) return 0;
  // What is left of the parts after whole shares is a share of its own, the last one, and added first.
  int whole = parts / share;
  double total = 0, nodes[4];
  bool any = parts % share != 0;
  if (any) total = sums[whole % FOLDS][lane];
  nodes[0] = sums[(whole - 1) % FOLDS][lane];
  nodes[1] = sums[(whole & 4) % FOLDS][lane] + sums[(whole & 4) + 1][lane];
  nodes[2] = (sums[0][lane] + sums[1][lane]) + (sums[2][lane] + sums[3][lane]);
  nodes[3] = nodes[2] + ((sums[4][lane] + sums[5][lane]) + (sums[6][lane] + sums[7][lane]));
#pragma unroll
  for (int level = 0; level < 4; level++) {
    if (!(whole >> level & 1)) continue;
    total = any ? nodes[level] + total : nodes[level];
    any = true;
  }
  return total;
}
