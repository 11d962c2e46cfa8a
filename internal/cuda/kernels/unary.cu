// Operations of one operand, in its place.
#include "elementwise.h"

#define TYPED(name, suffix, type, expression)                                                                                    \
  KERNEL(1024) name##_##suffix(type *a, int size) {                                                                              \
    INDEX;                                                                                                                       \
    type x = a[i];                                                                                                               \
    a[i] = (type)(expression);                                                                                                   \
  }
#define UNARY(name, expression) TYPED(name, f32, float, expression) TYPED(name, f64, double, expression)

DEVICE double hyperbolic_tangent(double x) {
  if (x > 22) return 1;
  if (x < -22) return -1;
  double e = exponential_less_one(2 * x);
  return e / (e + 2);
}

DEVICE double softplus(double x) {
  if (x > 0) return x + logarithm_of_one_more(natural_power(-x));
  return logarithm_of_one_more(natural_power(x));
}

// sine returns sin(x + quarter·π/2): x less the nearest multiple of π/2, which is taken off in three parts, and a series. Digits get
// lost where |x| is above a million.
DEVICE double sine(double x, int quarter) {
  if (x - x != 0) return number(0x7ff8000000000000ull);
  double k = whole_below(x * 0.63661977236758134308 + 0.5);
  double r = ((x - k * 1.57079632673412561417) - k * 6.07710050630396597660e-11) - k * 2.02226624879595063154e-21;
  double z = r * r;
  int turn = ((int)(k - 4 * whole_below(k * 0.25)) + quarter) & 3;
  double s;
  if (turn & 1) {
    s = 1.0 / 20922789888000.0;
    s = s * z - 1.0 / 87178291200.0;
    s = s * z + 1.0 / 479001600.0;
    s = s * z - 1.0 / 3628800.0;
    s = s * z + 1.0 / 40320.0;
    s = s * z - 1.0 / 720.0;
    s = s * z + 1.0 / 24.0;
    s = s * z * z - 0.5 * z + 1;
  } else {
    s = -1.0 / 1307674368000.0;
    s = s * z + 1.0 / 6227020800.0;
    s = s * z - 1.0 / 39916800.0;
    s = s * z + 1.0 / 362880.0;
    s = s * z - 1.0 / 5040.0;
    s = s * z + 1.0 / 120.0;
    s = s * z - 1.0 / 6.0;
    s = s * z * r + r;
  }
  return turn & 2 ? -s : s;
}

UNARY(sin, sine(x, 0))
UNARY(cos, sine(x, 1))
UNARY(abs, x < 0 ? -x : x == 0 ? 0 : x)
UNARY(sign, x > 0 ? 1 : x < 0 ? -1 : x)
UNARY(ceil, -whole_below(-(double)x))
UNARY(floor, whole_below(x))
UNARY(exp, natural_power(x))
UNARY(ln, logarithm(x))
UNARY(log2, logarithm(x) * 1.4426950408889634)
UNARY(neg, -x)
UNARY(square, x *x)
UNARY(sqrt, square_root(x))
UNARY(inv, 1 / x)
UNARY(invSqrt, 1 / square_root(x))
UNARY(inverse, 1 / x)
UNARY(cube, x *x *x)
UNARY(tanh, hyperbolic_tangent(x))
UNARY(sigmoid, 1 / (1 + natural_power(-(double)x)))
UNARY(log1p, logarithm_of_one_more(x))
UNARY(expm1, exponential_less_one(x))
UNARY(softplus, softplus(x))
