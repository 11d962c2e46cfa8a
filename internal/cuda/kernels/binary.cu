// Operations of two operands: of vectors, of a vector and the number behind a pointer, and of two numbers. The result takes the
// place of the first operand, or of the vector.
#include "elementwise.h"

#define TYPED(name, suffix, type, expression)                                                                                    \
  KERNEL(1024) name##_vv_##suffix(type *a, const type *b, int size) {                                                            \
    INDEX;                                                                                                                       \
    type x = a[i], y = b[i];                                                                                                     \
    a[i] = (type)(expression);                                                                                                   \
  }                                                                                                                              \
  KERNEL(1024) name##_vs_##suffix(type *a, const type *b, int size) {                                                            \
    INDEX;                                                                                                                       \
    type x = a[i], y = b[0];                                                                                                     \
    a[i] = (type)(expression);                                                                                                   \
  }                                                                                                                              \
  KERNEL(1024) name##_sv_##suffix(const type *a, type *b, int size) {                                                            \
    INDEX;                                                                                                                       \
    type x = a[0], y = b[i];                                                                                                     \
    b[i] = (type)(expression);                                                                                                   \
  }                                                                                                                              \
  KERNEL(1024) name##_ss_##suffix(type *a, const type *b, int size) {                                                            \
    INDEX;                                                                                                                       \
    if (i > 0) return;                                                                                                           \
    type x = a[0], y = b[0];                                                                                                     \
    a[0] = (type)(expression);                                                                                                   \
  }
#define BINARY(name, expression) TYPED(name, f32, float, expression) TYPED(name, f64, double, expression)

BINARY(add, x + y)
BINARY(sub, x - y)
BINARY(mul, x * y)
BINARY(div, x / y)
BINARY(pow, power(x, y))
BINARY(lt, x < y ? 1 : 0)
BINARY(gt, x > y ? 1 : 0)
BINARY(lte, x <= y ? 1 : 0)
BINARY(gte, x >= y ? 1 : 0)
BINARY(eq, x == y ? 1 : 0)
BINARY(ne, x != y ? 1 : 0)
