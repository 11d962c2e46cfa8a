// The products with X on tensor cores, float32 in three products of halves: with x = hi + lo, each of 11 bits,
//
//	x·y ≈ hi·hi + hi·lo + lo·hi.
//
// What goes in is scaled by powers of two, so that the largest element is about 2¹⁴; elements down to 2⁻¹⁷ of it keep 22 bits.
// Tensor cores cut their sums towards zero. So they add only 16 products of each kind, the small ones first, and float32
// additions, which round, sum the rest. Strides and addresses are as in products.h.
#include "dev.h"

DEVICE u32 halves(float lo, float hi) {
  u32 r;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(hi), "f"(lo));
  return r;
}

DEVICE float lower(u32 r) {
  float f;
  asm("{.reg .b16 a,b; mov.b32 {a,b}, %1; cvt.f32.f16 %0, a;}" : "=f"(f) : "r"(r));
  return f;
}

DEVICE float upper(u32 r) {
  float f;
  asm("{.reg .b16 a,b; mov.b32 {a,b}, %1; cvt.f32.f16 %0, b;}" : "=f"(f) : "r"(r));
  return f;
}

// split sets hi and lo to the halves of a and b, a in the lower ones.
DEVICE void split(float a, float b, u32 &hi, u32 &lo) {
  hi = halves(a, b);
  lo = halves(a - lower(hi), b - upper(hi));
}

// multiply sets d to the product of a 16×16 and a 16×8 matrix of halves, as the warp's lanes hold them. multiply_add adds it.
DEVICE void multiply(float *d, const u32 *a, const u32 *b) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%10,%10,%10};"
               : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(0.0f));
}
DEVICE void multiply_add(float *d, const u32 *a, const u32 *b) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// load sets d to what a lane holds of four 8×8 matrices of halves, as multiply_add takes them, and load_transposed of their
// transposes. Every lane names eight halves in a row: lanes 0 to 7 the rows of the first matrix, 8 to 15 of the second, and so on.
DEVICE void load(u32 *d, const u32 *from) {
  u32 at = (u32)(u64)(__attribute__((address_space(3))) const void *)from;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]) : "r"(at) : "memory");
}
DEVICE void load_transposed(u32 *d, const u32 *from) {
  u32 at = (u32)(u64)(__attribute__((address_space(3))) const void *)from;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]) : "r"(at) : "memory");
}

// copy_async starts a copy of 16 bytes to shared memory, of which those beyond `bytes` become zero.
DEVICE void copy_async(void *to, const void *from, int bytes) {
  u32 at = (u32)(u64)(__attribute__((address_space(3))) void *)to;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(bytes) : "memory");
}
DEVICE void copies_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N> DEVICE void copies_wait() { asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory"); }

// split_rows sets the rows of hi and lo, kp/2 pairs each, to the halves of scale·b; kp is a multiple of 32, b has m rows of k
// elements with the stride ldb, and what lies between k and kp becomes zero. Block (x, y) has a part of row y.
KERNEL(128) split_rows(u32 *hi, u32 *lo, const float *b, int ldb, int k, int kp, float scale) {
  int pair = BX * 128 + TID, j = 2 * pair;
  if (j >= kp) return;
  const float *row = b + (long)BY * ldb;
  float x = j < k ? row[j] * scale : 0, y = j + 1 < k ? row[j + 1] * scale : 0;
  long at = (long)BY * (kp / 2) + pair;
  split(x, y, hi[at], lo[at]);
}

// warp_most returns the largest of the lanes' x.
DEVICE float warp_most(float x) {
#pragma unroll
  for (int mask = WARP / 2; mask > 0; mask >>= 1) {
    float y = __builtin_bit_cast(float, __nvvm_shfl_sync_bfly_i32(ALL, __builtin_bit_cast(u32, x), mask, WARP - 1));
    x = y > x ? y : x;
  }
  return x;
}

// largest sets part[x] to the largest absolute value among the elements that block x reads, a share of n, infinite where one
// is not finite.
KERNEL(256) largest(float *part, const float *a, long n, long share) {
  static SHARED float best[8];
  long lo = BX * share, hi = lo + share < n ? lo + share : n;
  float m = 0;
  for (long i = lo + TID; i < hi; i += 256) {
    float x = a[i] < 0 ? -a[i] : a[i];
    m = x <= m ? m : x; // NaN becomes m, and stays
    m = m == m ? m : __builtin_bit_cast(float, 0x7f800000);
  }
  m = warp_most(m);
  if ((TID & (WARP - 1)) == 0) best[TID >> 5] = m;
  SYNC();
  if (TID != 0) return;
  for (int w = 1; w < 8; w++) m = best[w] > m ? best[w] : m;
  part[BX] = m;
}

// power returns the power of two that takes x to [2¹³, 2¹⁴), or as near as there is one; 1 where x is not finite.
DEVICE float power(float x) {
  int e = (int)(__builtin_bit_cast(u32, x) >> 23 & 255);
  if (e == 255 || e == 0) return e == 255 ? 1 : __builtin_bit_cast(float, 253u << 23);
  e = 254 + 13 - e;
  return __builtin_bit_cast(float, (u32)(e < 1 ? 1 : e > 253 ? 253 : e) << 23);
}

// Steps of BK of the inner dimension go through shared memory, STAGES of them at a time: one at work, the others on their way.
// Three stages of the wide tiles take 109 KB, more than a block may have on cards of the sm_86 kind (99 KB), which get two.
enum { BK = 32 };

// tensor_times sets the n rows of out (stride ldout) to X·Bᵀ, X being n×k and B m×k in halves as split_rows makes them; columns
// from m to ldout become zero. in is the scale of X, back 1/(that · the scale of B). A block makes 16·WARPS rows and 8·NT
// columns, each of its warps 16 rows; blocks are counted along the columns first.
template <int NT, int WARPS, int STAGES>
DEVICE void tensor_times(float *out, int ldout, const float *x, int ldx, const u32 *bh, const u32 *bl, int n, int m, int kp,
                         float in, float back) {
  enum { BM = 16 * WARPS, BN = 8 * NT, THREADS = 32 * WARPS, LDX = BK + 8, LDB = BK / 2 + 4 }; // no two lanes share a bank
  struct Stage { float x[BM * LDX]; u32 b[2][BN * LDB]; };
  extern SHARED real4 raw[];
  Stage *s = (Stage *)raw;
  int tid = TID, warp = tid >> 5, lane = tid & 31, g = lane >> 2, t = lane & 3;
  int tiles = (ldout + BN - 1) / BN, col0 = BX % tiles * BN;
  int corner = lane / 16 * BN * LDB + lane % 8 * LDB + lane / 8 % 2 * 4; // of the lane's row of four 8×8 matrices
  int row0 = BX / tiles * BM;
  float c[NT][4];
#pragma unroll
  for (int j = 0; j < NT; j++)
#pragma unroll
    for (int q = 0; q < 4; q++) c[j][q] = 0;
  // A thread copies 16 bytes of a row of X and of B, and the same of the rows after it.
  int xr = tid / (BK / 4), xq = tid % (BK / 4) * 4, br = tid / (BK / 8), bq = tid % (BK / 8) * 4;
  const float *xp = x + (long)(row0 + xr) * ldx + xq;
  long bp = (long)(col0 + br) * (kp / 2) + bq;
  auto fetch = [&](int k, Stage &st) {
#pragma unroll
    for (int r = 0; r < BM; r += THREADS * 4 / BK) {
      bool there = row0 + xr + r < n && k * BK + xq < ldx;
      copy_async(&st.x[(xr + r) * LDX + xq], there ? xp + (long)r * ldx + k * BK : x, there ? 16 : 0);
    }
#pragma unroll
    for (int r = 0; r < BN; r += THREADS * 8 / BK) {
      if (br + r >= BN) break;
      bool there = col0 + br + r < m;
      long at = there ? bp + r * (kp / 2) + k * (BK / 2) : 0;
      copy_async(&st.b[0][(br + r) * LDB + bq], bh + at, there ? 16 : 0);
      copy_async(&st.b[1][(br + r) * LDB + bq], bl + at, there ? 16 : 0);
    }
  };
  int steps = kp / BK;
  for (int k = 0; k < STAGES - 1; k++) {
    if (k < steps) fetch(k, s[k]);
    copies_commit();
  }
  for (int k = 0, now = 0; k < steps; k++, now = now == STAGES - 1 ? 0 : now + 1) {
    copies_wait<STAGES - 2>();
    SYNC(); // what the step before has read may be written now
    if (k + STAGES - 1 < steps) fetch(k + STAGES - 1, s[now == 0 ? STAGES - 1 : now - 1]);
    copies_commit();
    Stage &st = s[now];
    const float *xs = &st.x[warp * 16 * LDX];
#pragma unroll 1
    for (int kk = 0; kk < BK; kk += 16) {
      u32 ah[4], al[4];
      const float *p = xs + g * LDX + kk + 2 * t;
#pragma unroll
      for (int q = 0; q < 4; q++) {
        real2 at = *(const real2 *)(p + (q & 1) * 8 * LDX + (q >> 1) * 8);
        split(at[0] * in, at[1] * in, ah[q], al[q]);
      }
#pragma unroll
      for (int j = 0; j < NT; j += 2) { // two chains of products run side by side
        enum { SIDE = 2 };
        u32 b[SIDE][4]; // two registers of hi and two of lo
        float d[SIDE][4];
#pragma unroll
        for (int i = 0; i < SIDE; i++)
          if (j + i < NT) load(b[i], st.b[0] + corner + (j + i) * 8 * LDB + kk / 2);
#pragma unroll
        for (int i = 0; i < SIDE; i++)
          if (j + i < NT) multiply(d[i], al, b[i]);
#pragma unroll
        for (int i = 0; i < SIDE; i++)
          if (j + i < NT) multiply_add(d[i], ah, b[i] + 2);
#pragma unroll
        for (int i = 0; i < SIDE; i++)
          if (j + i < NT) multiply_add(d[i], ah, b[i]);
#pragma unroll
        for (int i = 0; i < SIDE; i++)
#pragma unroll
          for (int q = 0; q < 4; q++)
            if (j + i < NT) c[j + i][q] += d[i][q];
      }
    }
  }
#pragma unroll
  for (int j = 0; j < NT; j++)
#pragma unroll
    for (int h = 0; h < 2; h++) {
      long row = row0 + warp * 16 + g + 8 * h;
      int col = col0 + j * 8 + 2 * t;
      if (row >= n || col >= ldout) continue;
      real2 y = {c[j][2 * h] * back, c[j][2 * h + 1] * back};
      *(real2 *)(out + row * ldout + col) = y;
    }
}

#define TENSOR_TIMES(name, NT, WARPS, STAGES)                                                                                   \
  KERNELS(32 * WARPS, 2) name(float *out, int ldout, const float *x, int ldx, const u32 *bh, const u32 *bl, int n, int m,       \
                              int kp, float in, float back) {                                                                   \
    tensor_times<NT, WARPS, STAGES>(out, ldout, x, ldx, bh, bl, n, m, kp, in, back);                                            \
  }
TENSOR_TIMES(tensor_times_wide, 13, 8, 3)
TENSOR_TIMES(tensor_times_lean, 13, 8, 2)
TENSOR_TIMES(tensor_times_narrow, 2, 4, 3)

// tensor_sums sets part z to (w ⊙ A)ᵀ·X (m×d, without gaps) over rows from z·chunk to (z+1)·chunk. in is the scale of X; 0: X is A.
// The scale of w ⊙ A follows from the maxima of A in `most`, and of w after them, if that is above 1; w may be null. A block makes
// 16·MT rows and 16·WARPS columns, 16 of them each warp. Block (x, y, z): columns from 16·WARPS·x, rows from 16·MT·y. All warps need
// all of A, which the block splits into halves once a step; what a warp needs of X it splits itself.
template <int MT, int WARPS, int STAGES>
DEVICE void tensor_sums(float *part, const float *a, int lda, const float *w, const float *x, int ldx, int n, int m, int d,
                        int chunk, float in, const float *most, int maxima) {
  enum { BM = 16 * MT, BN = 16 * WARPS, THREADS = 32 * WARPS, LDX = BN + 4, LDA = BM + 4, LDH = BM / 2 + 4,
         XQ = BN / 4, AQ = MT == 1 ? 4 : 32, HQ = 2 * AQ }; // threads for a row of X, of A, and of halves of A
  struct Stage { float x[BK * LDX], a[BK * LDA], w[BK]; };
  extern SHARED real4 raw[];
  Stage *s = (Stage *)raw;
  u32 *high = (u32 *)(s + STAGES), *low = high + BK * LDH; // rows of A in halves
  int tid = TID, warp = tid >> 5, lane = tid & 31, g = lane >> 2, t = lane & 3, col0 = BX * BN, row0 = BY * BM;
  int corner = (lane % 8 + lane / 16 * 8) * LDH + lane / 8 % 2 * 4; // of the lane's row of four 8×8 matrices
  long lo = (long)BZ * chunk;
  int rows = n - lo < chunk ? (int)(n - lo) : chunk;
  float top = 0, heaviest = 1;
  for (int i = lane; i < maxima; i += WARP) {
    top = most[i] > top ? most[i] : top;
    if (w) heaviest = most[maxima + i] > heaviest ? most[maxima + i] : heaviest;
  }
  top = warp_most(top), heaviest = warp_most(heaviest);
  if (top < 0x1p-100f) top = 0x1p-100f; // or weights overflow where A is zero
  float own = power(top * heaviest);
  if (in == 0) in = power(top);
  float c[MT][2][4];
#pragma unroll
  for (int i = 0; i < MT; i++)
#pragma unroll
    for (int j = 0; j < 2; j++)
#pragma unroll
      for (int q = 0; q < 4; q++) c[i][j][q] = 0;
  int xr = tid / XQ, xq = tid % XQ * 4, ar = tid / AQ, aq = tid % AQ * 4;
  const float *xp = x + (lo + xr) * ldx + col0 + xq, *ap = a + (lo + ar) * lda + row0 + aq, *wp = w + lo + tid;
  auto fetch = [&](int k, Stage &st) {
    int left = rows - k * BK;
#pragma unroll
    for (int r = 0; r < BK; r += THREADS / XQ) {
      bool there = xr + r < left && col0 + xq < ldx;
      copy_async(&st.x[(xr + r) * LDX + xq], there ? xp + (long)(k * BK + r) * ldx : x, there ? 16 : 0);
    }
#pragma unroll
    for (int r = 0; r < BK; r += THREADS / AQ) {
      bool there = ar + r < left && row0 + aq < lda;
      if (aq < BM) copy_async(&st.a[(ar + r) * LDA + aq], there ? ap + (long)(k * BK + r) * lda : a, there ? 16 : 0);
    }
    if (tid < BK) st.w[tid] = tid >= left ? 0 : w ? wp[k * BK] * own : own;
  };
  int steps = (rows + BK - 1) / BK;
  for (int k = 0; k < STAGES - 1; k++) {
    if (k < steps) fetch(k, s[k]);
    copies_commit();
  }
  for (int k = 0, now = 0; k < steps; k++, now = now == STAGES - 1 ? 0 : now + 1) {
    copies_wait<STAGES - 2>();
    SYNC();
    if (k + STAGES - 1 < steps) fetch(k + STAGES - 1, s[now == 0 ? STAGES - 1 : now - 1]);
    copies_commit();
    Stage &st = s[now];
    int q = tid % HQ;
    if (q < BM / 2)
#pragma unroll 4
      for (int f = 0; f < BK * HQ / THREADS; f++) {
        int r = tid / HQ + f * (THREADS / HQ);
        real2 p = *(const real2 *)(st.a + r * LDA + 2 * q);
        split(p[0] * st.w[r], p[1] * st.w[r], high[r * LDH + q], low[r * LDH + q]);
      }
    SYNC();
#pragma unroll
    for (int kk = 0; kk < BK; kk += 16) {
      u32 bh[2][2], bl[2][2];
#pragma unroll
      for (int j = 0; j < 2; j++)
#pragma unroll
        for (int q = 0; q < 2; q++) {
          const float *p = st.x + (kk + 2 * t + 8 * q) * LDX + warp * 16 + j * 8 + g;
          split(p[0] * in, p[LDX] * in, bh[j][q], bl[j][q]);
        }
#pragma unroll
      for (int i = 0; i < MT; i++) {
        u32 ah[4], al[4];
        load_transposed(ah, high + corner + kk * LDH + i * 8);
        load_transposed(al, low + corner + kk * LDH + i * 8);
        float d[2][4];
#pragma unroll
        for (int j = 0; j < 2; j++) multiply(d[j], al, bh[j]);
#pragma unroll
        for (int j = 0; j < 2; j++) multiply_add(d[j], ah, bl[j]);
#pragma unroll
        for (int j = 0; j < 2; j++) multiply_add(d[j], ah, bh[j]);
#pragma unroll
        for (int j = 0; j < 2; j++)
#pragma unroll
          for (int q = 0; q < 4; q++) c[i][j][q] += d[j][q];
      }
    }
  }
  float *out = part + (long)BZ * m * d, back = (1 / own) * (1 / in);
#pragma unroll
  for (int i = 0; i < MT; i++)
#pragma unroll
    for (int j = 0; j < 2; j++)
#pragma unroll
      for (int q = 0; q < 4; q++) {
        int row = row0 + i * 16 + g + 8 * (q >> 1), col = col0 + warp * 16 + j * 8 + 2 * t + (q & 1);
        if (row < m && col < d) out[(long)row * d + col] = c[i][j][q] * back;
      }
}

#define TENSOR_SUMS(name, MT, WARPS, STAGES, BLOCKS)                                                                            \
  KERNELS(32 * WARPS, BLOCKS) name(float *part, const float *a, int lda, const float *w, const float *x, int ldx, int n, int m, \
                                   int d, int chunk, float in, const float *most, int maxima) {                                 \
    tensor_sums<MT, WARPS, STAGES>(part, a, lda, w, x, ldx, n, m, d, chunk, in, most, maxima);                                  \
  }
TENSOR_SUMS(tensor_sums_wide, 7, 8, 3, 2)
TENSOR_SUMS(tensor_sums_lean, 7, 8, 2, 1)
TENSOR_SUMS(tensor_sums_narrow, 1, 4, 3, 4)
