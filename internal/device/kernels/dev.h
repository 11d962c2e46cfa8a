// What the kernels need of CUDA, without its headers: clang knows the built-ins, and nothing else is used. Compile with
// -DREAL=float or -DREAL=double, the type of data and row state; sums over samples are double whatever it is.
#pragma once

typedef REAL real;
typedef unsigned u32;
typedef unsigned long long u64;
typedef unsigned char u8;
typedef real real2 __attribute__((ext_vector_type(2)));
typedef real real4 __attribute__((ext_vector_type(4)));

// KERNEL begins a kernel whose blocks have the given number of threads at most.
#define KERNEL(threads) extern "C" __attribute__((global)) __attribute__((launch_bounds(threads))) void
// KERNELS leaves enough registers for that number of blocks on a processor.
#define KERNELS(threads, blocks) extern "C" __attribute__((global)) __attribute__((launch_bounds(threads, blocks))) void
#define DEVICE static inline __attribute__((device)) __attribute__((always_inline))
#define SHARED __attribute__((shared))
#define TID ((int)__nvvm_read_ptx_sreg_tid_x())
#define BX ((int)__nvvm_read_ptx_sreg_ctaid_x())
#define BY ((int)__nvvm_read_ptx_sreg_ctaid_y())
#define BZ ((int)__nvvm_read_ptx_sreg_ctaid_z())
#define WIDTH ((int)__nvvm_read_ptx_sreg_ntid_x())
#define SYNC() __nvvm_bar_sync(0)
#define ALL 0xffffffffu

enum { WARP = 32 };

DEVICE double square_root(double x) { return __nvvm_sqrt_rn_d(x); }

// bits and number are the same 64 bits.
DEVICE u64 bits(double x) { return __builtin_bit_cast(u64, x); }
DEVICE double number(u64 b) { return __builtin_bit_cast(double, b); }

// across returns the x of the lane whose number differs by the bits of mask. All lanes of the warp call it.
DEVICE double across(double x, int mask) {
  u64 b = bits(x);
  u32 lo = __nvvm_shfl_sync_bfly_i32(ALL, (u32)b, mask, WARP - 1);
  u32 hi = __nvvm_shfl_sync_bfly_i32(ALL, (u32)(b >> 32), mask, WARP - 1);
  return number((u64)hi << 32 | lo);
}

// warp_sum returns the sum of the lanes' x, the same bits in each: addition commutes, and both partners add the same two.
DEVICE double warp_sum(double x) {
#pragma unroll
  for (int mask = WARP / 2; mask > 0; mask >>= 1) x += across(x, mask);
  return x;
}

// exponential_less_one returns eˣ − 1 to a few units of the last place: x = k·ln 2 + r with |r| ≤ ½ ln 2, the series of eʳ − 1,
// and 2ᵏ(eʳ − 1) + (2ᵏ − 1). Below −745 it is −1, NaN stays; above 709 it is infinite.
DEVICE double exponential_less_one(double x) {
  if (x > 709.75) return number(0x7ff0000000000000ull);
  if (x < -745.0) return -1;
  double kd = x * 1.4426950408889634;
  int k = (int)(kd + (kd < 0 ? -0.5 : 0.5));
  double r = x - k * 6.93147180369123816490e-01; // exact: the constant has few bits
  r -= k * 1.90821492927058770002e-10;
  double s = 1.0 / 6227020800.0; // 1/13!
  s = s * r + 1.0 / 479001600.0;
  s = s * r + 1.0 / 39916800.0;
  s = s * r + 1.0 / 3628800.0;
  s = s * r + 1.0 / 362880.0;
  s = s * r + 1.0 / 40320.0;
  s = s * r + 1.0 / 5040.0;
  s = s * r + 1.0 / 720.0;
  s = s * r + 1.0 / 120.0;
  s = s * r + 1.0 / 24.0;
  s = s * r + 1.0 / 6.0;
  s = s * r + 0.5;
  s = s * r * r + r;
  if (k == 0 || x != x) return s;
  // 2ᵏ in two factors, for k from −1075 to 1024.
  int half = k / 2, rest = k - half;
  double a = number((u64)(1023 + half) << 52), b = number((u64)(1023 + rest) << 52);
  if (k > 60) return (s + 1) * a * b;
  return s * a * b + (a * b - 1);
}

DEVICE double exponential(double x) {
  if (x < -40) { // eˣ − 1 + 1 would have few bits left
    double h = exponential_less_one(-x);
    return 1 / (h + 1);
  }
  return exponential_less_one(x) + 1;
}
