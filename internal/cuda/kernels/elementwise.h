// What the elementwise kernels of Gorgonia's CUDA build have in common: names, parameters and the numbering of elements are those
// that its engine calls. REAL is of no use here: each kernel is there in float and in double, f32 and f64.
#pragma once
#define REAL double
#include "../../device/kernels/dev.h"

// INDEX is the number of the element of a thread, in grids of three dimensions of blocks of one.
#define INDEX                                                                                                                    \
  long long block = BX + (long long)BY * __nvvm_read_ptx_sreg_nctaid_x() +                                                       \
                    (long long)BZ * __nvvm_read_ptx_sreg_nctaid_x() * __nvvm_read_ptx_sreg_nctaid_y();                           \
  long long i = block * WIDTH + TID;                                                                                             \
  if (i >= size) return;

// logarithm returns ln x to a few units of the last place: x = m·2ᵏ with ½√2 ≤ m < √2, ln m = 2·atanh(s), s = (m−1)/(m+1).
DEVICE double logarithm(double x) {
  if (x != x || x < 0) return number(0x7ff8000000000000ull);
  if (x == 0) return number(0xfff0000000000000ull);
  u64 b = bits(x);
  int k = 0;
  if (b >> 52 == 0) { // below the smallest normal number
    b = bits(x * 18014398509481984.0);
    k = -54;
  }
  if (b >> 52 == 0x7ff) return x;
  k += (int)(b >> 52) - 1023;
  double m = number((b & 0xfffffffffffffull) | 0x3ff0000000000000ull);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    k++;
  }
  double s = (m - 1) / (m + 1), z = s * s, p = 1.0 / 23;
  p = p * z + 1.0 / 21;
  p = p * z + 1.0 / 19;
  p = p * z + 1.0 / 17;
  p = p * z + 1.0 / 15;
  p = p * z + 1.0 / 13;
  p = p * z + 1.0 / 11;
  p = p * z + 1.0 / 9;
  p = p * z + 1.0 / 7;
  p = p * z + 1.0 / 5;
  p = p * z + 1.0 / 3;
  return 2 * s + (2 * s * z * p + k * 1.90821492927058770002e-10) + k * 6.93147180369123816490e-01;
}

// logarithm_of_one_more returns ln(1 + x): the quotient cancels what 1 + x has lost.
DEVICE double logarithm_of_one_more(double x) {
  double u = 1 + x;
  if (u == 1) return x;
  if (u == number(0x7ff0000000000000ull)) return u;
  return logarithm(u) * (x / (u - 1));
}

// natural_power returns eˣ with all its digits for negative x, too.
DEVICE double natural_power(double x) {
  if (x < 0) return 1 / (exponential_less_one(-x) + 1);
  return exponential_less_one(x) + 1;
}

DEVICE double whole_below(double x) { return __nvvm_floor_d(x); }

// power returns xʸ; negative x have one for whole y alone. Its error grows with |y ln x|.
DEVICE double power(double x, double y) {
  if (y == 0 || x == 1) return 1;
  if (x != x || y != y) return x + y;
  double a = x < 0 ? -x : x, b = y < 0 ? -y : y;
  bool whole = whole_below(y) == y, odd = whole && whole_below(y * 0.5) * 2 != y;
  if (x < 0 && !whole && a != number(0x7ff0000000000000ull)) return number(0x7ff8000000000000ull);
  double r = 1;
  if (a == 0) r = y > 0 ? 0 : number(0x7ff0000000000000ull);
  else if (a == 1) r = 1;
  else if (whole && b <= 64) {
    for (int left = (int)b; left > 0; left >>= 1, a *= a)
      if (left & 1) r *= a;
    if (y < 0) r = 1 / r;
  } else {
    r = natural_power(y * logarithm(a));
  }
  return x < 0 && odd ? -r : r;
}
