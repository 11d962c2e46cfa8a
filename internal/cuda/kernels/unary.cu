// Operations of one operand, in its place. Sines and cosines are not here: where a kernel is missing, Gorgonia computes on the CPU.
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
