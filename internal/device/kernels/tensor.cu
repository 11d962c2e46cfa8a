// The products with X on tensor cores, float32 in three products of halves: with x = hi + lo/2¹¹, each of 11 bits,
//
//	x·y ≈ hi·hi + (hi·lo + lo·hi)/2¹¹,
//
// summed in float32. What goes in is scaled by powers of two, so that the largest element is about 2⁸; elements down to 2⁻²¹ of
// it keep 22 bits. Strides and addresses are as in products.h.
#include "dev.h"

#define SPLIT 2048.0f

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
  lo = halves((a - lower(hi)) * SPLIT, (b - upper(hi)) * SPLIT);
}

// multiply_add adds the product of a 16×16 and a 16×8 matrix of halves, as the warp's lanes hold them, to d.
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
#pragma unroll
  for (int mask = WARP / 2; mask > 0; mask >>= 1) {
    float x = __builtin_bit_cast(float, __nvvm_shfl_sync_bfly_i32(ALL, __builtin_bit_cast(u32, m), mask, WARP - 1));
    m = x > m ? x : m;
  }
  if ((TID & (WARP - 1)) == 0) best[TID >> 5] = m;
  SYNC();
  if (TID != 0) return;
  for (int w = 1; w < 8; w++) m = best[w] > m ? best[w] : m;
  part[BX] = m;
}

// power returns the power of two that takes x to [2⁷, 2⁸), or as near as there is one; 1 where x is not finite.
DEVICE float power(float x) {
  int e = (int)(__builtin_bit_cast(u32, x) >> 23 & 255);
  if (e == 255 || e == 0) return e == 255 ? 1 : __builtin_bit_cast(float, 253u << 23);
  e = 254 + 7 - e;
  return __builtin_bit_cast(float, (u32)(e < 1 ? 1 : e > 253 ? 253 : e) << 23);
}

// Steps of BK of the inner dimension go through shared memory, STAGES of them at a time: one at work, the others on their way.
// Three stages of the wide tiles take 109 KB, more than a block may have on cards of the sm_86 kind (99 KB), which get two.
enum { BK = 32 };

// tensor_times sets the n rows of out (stride ldout) to X·Bᵀ, X being n×k and B m×k in halves as split_rows makes them; columns
// from m to ldout become zero. in is the scale of X, back 1/(that · the scale of B). A block makes 128 rows and 8·NT columns,
// each of its 8 warps 16 rows; blocks are counted along the columns first.
template <int NT, int STAGES>
DEVICE void tensor_times(float *out, int ldout, const float *x, int ldx, const u32 *bh, const u32 *bl, int n, int m, int kp,
                         float in, float back) {
  enum { BM = 128, BN = 8 * NT, LDX = BK + 8, LDB = BK / 2 + 4 }; // rows begin in banks that no two lanes share
  struct Stage { float x[BM * LDX]; u32 b[2][BN * LDB]; };
  extern SHARED real4 raw[];
  Stage *s = (Stage *)raw;
  int tid = TID, warp = tid >> 5, lane = tid & 31, g = lane >> 2, t = lane & 3;
  int tiles = (ldout + BN - 1) / BN, col0 = BX % tiles * BN;
  int corner = lane / 16 * BN * LDB + lane % 8 * LDB + lane / 8 % 2 * 4; // of the lane's row of four 8×8 matrices
  long row0 = (long)(BX / tiles) * BM;
  float c[NT][4], e[NT][4];
#pragma unroll
  for (int j = 0; j < NT; j++)
#pragma unroll
    for (int q = 0; q < 4; q++) c[j][q] = 0, e[j][q] = 0;
  auto fetch = [&](int k, Stage &st) {
    for (int i = tid; i < BM * (BK / 4); i += 256) {
      int r = i / (BK / 4), q = i % (BK / 4) * 4, col = k * BK + q;
      bool there = row0 + r < n && col < ldx;
      copy_async(&st.x[r * LDX + q], there ? x + (row0 + r) * ldx + col : x, there ? 16 : 0);
    }
    for (int i = tid; i < BN * (BK / 8); i += 256) {
      int r = i / (BK / 8), q = i % (BK / 8) * 4;
      long at = (long)(col0 + r) * (kp / 2) + k * (BK / 2) + q;
      bool there = col0 + r < m;
      copy_async(&st.b[0][r * LDB + q], there ? bh + at : bh, there ? 16 : 0);
      copy_async(&st.b[1][r * LDB + q], there ? bl + at : bl, there ? 16 : 0);
    }
  };
  int steps = kp / BK;
  for (int k = 0; k < STAGES - 1; k++) {
    if (k < steps) fetch(k, s[k]);
    copies_commit();
  }
  for (int k = 0; k < steps; k++) {
    copies_wait<STAGES - 2>();
    SYNC(); // what the step before has read may be written now
    if (k + STAGES - 1 < steps) fetch(k + STAGES - 1, s[(k + STAGES - 1) % STAGES]);
    copies_commit();
    Stage &st = s[k % STAGES];
    const float *xs = &st.x[warp * 16 * LDX];
#pragma unroll
    for (int kk = 0; kk < BK; kk += 16) {
      u32 ah[4], al[4];
      const float *p = xs + g * LDX + kk + 2 * t;
#pragma unroll
      for (int q = 0; q < 4; q++) {
        real2 at = *(const real2 *)(p + (q & 1) * 8 * LDX + (q >> 1) * 8);
        split(at[0] * in, at[1] * in, ah[q], al[q]);
      }
#pragma unroll
      for (int j = 0; j < NT; j++) {
        u32 b[4]; // two registers of hi and two of lo
        load(b, st.b[0] + corner + j * 8 * LDB + kk / 2);
        multiply_add(c[j], ah, b);
        multiply_add(e[j], ah, b + 2);
        multiply_add(e[j], al, b);
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
      real2 y = {(c[j][2 * h] + e[j][2 * h] * (1 / SPLIT)) * back, (c[j][2 * h + 1] + e[j][2 * h + 1] * (1 / SPLIT)) * back};
      *(real2 *)(out + row * ldout + col) = y;
    }
}

#define TENSOR_TIMES(name, NT, STAGES)                                                                                          \
  KERNEL(256) name(float *out, int ldout, const float *x, int ldx, const u32 *bh, const u32 *bl, int n, int m, int kp, float in, \
                   float back) {                                                                                                \
    tensor_times<NT, STAGES>(out, ldout, x, ldx, bh, bl, n, m, kp, in, back);                                                   \
  }
TENSOR_TIMES(tensor_times_wide, 13, 3)
TENSOR_TIMES(tensor_times_lean, 13, 2)
TENSOR_TIMES(tensor_times_narrow, 2, 3)

// tensor_sums sets part z to (w ⊙ A)ᵀ·X (m×d, without gaps) over rows from z·chunk to (z+1)·chunk. in is the scale of X, that
// of A follows from the maxima in `most`; 0: X is A. w may be null. A block makes 16·MT rows and 16·WARPS columns, 16 of
// them each warp. Block (x, y, z): columns from 16·WARPS·x, rows from 16·MT·y. All warps need all of A, which the block splits into halves
// once a step; what a warp needs of X it splits itself.
template <int MT, int WARPS, int STAGES>
DEVICE void tensor_sums(float *part, const float *a, int lda, const float *w, const float *x, int ldx, int n, int m, int d,
                        int chunk, float in, const float *most, int maxima) {
  enum { BM = 16 * MT, BN = 16 * WARPS, THREADS = 32 * WARPS, LDX = BN + 4, LDA = BM + 4, LDH = BM / 2 + 4 };
  struct Stage { float x[BK * LDX], a[BK * LDA], w[BK]; };
  extern SHARED real4 raw[];
  Stage *s = (Stage *)raw;
  u32 *high = (u32 *)(s + STAGES), *low = high + BK * LDH; // rows of A in halves
  int tid = TID, warp = tid >> 5, lane = tid & 31, g = lane >> 2, t = lane & 3, col0 = BX * BN, row0 = BY * BM;
  int corner = (lane % 8 + lane / 16 * 8) * LDH + lane / 8 % 2 * 4; // of the lane's row of four 8×8 matrices
  long lo = (long)BZ * chunk, hi = lo + chunk < n ? lo + chunk : n;
  float top = 0;
  for (int i = 0; i < maxima; i++) top = most[i] > top ? most[i] : top;
  float own = power(top);
  if (in == 0) in = own;
  float back = (1 / own) * (1 / in);
  float c[MT][2][4], e[MT][2][4];
#pragma unroll
  for (int i = 0; i < MT; i++)
#pragma unroll
    for (int j = 0; j < 2; j++)
#pragma unroll
      for (int q = 0; q < 4; q++) c[i][j][q] = 0, e[i][j][q] = 0;
  auto fetch = [&](int k, Stage &st) {
    for (int i = tid; i < BK * (BN / 4); i += THREADS) {
      int r = i / (BN / 4), q = i % (BN / 4) * 4;
      long row = lo + k * BK + r;
      bool there = row < hi && col0 + q < ldx;
      copy_async(&st.x[r * LDX + q], there ? x + row * ldx + col0 + q : x, there ? 16 : 0);
    }
    for (int i = tid; i < BK * (BM / 4); i += THREADS) {
      int r = i / (BM / 4), q = i % (BM / 4) * 4;
      long row = lo + k * BK + r;
      bool there = row < hi && row0 + q < lda;
      copy_async(&st.a[r * LDA + q], there ? a + row * lda + row0 + q : a, there ? 16 : 0);
    }
    if (tid < BK) {
      long row = lo + k * BK + tid;
      st.w[tid] = row >= hi ? 0 : w ? w[row] * own : own;
    }
  };
  int steps = (int)((hi - lo + BK - 1) / BK);
  for (int k = 0; k < STAGES - 1; k++) {
    if (k < steps) fetch(k, s[k]);
    copies_commit();
  }
  for (int k = 0; k < steps; k++) {
    copies_wait<STAGES - 2>();
    SYNC();
    if (k + STAGES - 1 < steps) fetch(k + STAGES - 1, s[(k + STAGES - 1) % STAGES]);
    copies_commit();
    Stage &st = s[k % STAGES];
#pragma unroll
    for (int f = 0; f < BK * BM / 2 / THREADS; f++) {
      int i = tid + f * THREADS, r = i / (BM / 2), q = i % (BM / 2);
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
#pragma unroll
        for (int j = 0; j < 2; j++) {
          multiply_add(c[i][j], ah, bh[j]);
          multiply_add(e[i][j], ah, bl[j]);
          multiply_add(e[i][j], al, bh[j]);
        }
      }
    }
  }
  float *out = part + (long)BZ * m * d;
#pragma unroll
  for (int i = 0; i < MT; i++)
#pragma unroll
    for (int j = 0; j < 2; j++)
#pragma unroll
      for (int q = 0; q < 4; q++) {
        int row = row0 + i * 16 + g + 8 * (q >> 1), col = col0 + warp * 16 + j * 8 + 2 * t + (q & 1);
        if (row < m && col < d) out[(long)row * d + col] = (c[i][j][q] + e[i][j][q] * (1 / SPLIT)) * back;
      }
}

#define TENSOR_SUMS(name, MT, WARPS, STAGES)                                                                                    \
  KERNEL(32 * WARPS) name(float *part, const float *a, int lda, const float *w, const float *x, int ldx, int n, int m, int d,   \
                   int chunk, float in, const float *most, int maxima) {                                                        \
    tensor_sums<MT, WARPS, STAGES>(part, a, lda, w, x, ldx, n, m, d, chunk, in, most, maxima);                                  \
  }
TENSOR_SUMS(tensor_sums_wide, 7, 8, 3)
TENSOR_SUMS(tensor_sums_lean, 7, 8, 2)
TENSOR_SUMS(tensor_sums_narrow, 1, 4, 3)
