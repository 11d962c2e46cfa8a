// A libcuda that has a card, takes every call and computes nothing: what the driver does without a GPU is tested with it.
// -DLACKING leaves out a function, -DEMPTY the card. NULL_CUDA_TRACE has it say when it starts.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local void *current;
static int context;
#define NEED if (!current) return 201; // no context

int cuInit(unsigned flags) {
  if (getenv("NULL_CUDA_TRACE")) fputs("cuInit\n", stderr);
#ifdef EMPTY
  return 100;
#endif
  return 0;
}
int cuDriverGetVersion(int *v) { return *v = 12040, 0; }
int cuGetErrorString(int e, const char **t) { return *t = e == 100 ? "no card is to be seen" : e == 201 ? "no context" : "wrong", 0; }
int cuDeviceGetCount(int *n) { return *n = 1, 0; }
int cuDeviceGet(int *d, int i) { return *d = 0; }
int cuDeviceGetName(char *s, int n, int d) { return snprintf(s, n, "null card"), 0; }
int cuDeviceGetAttribute(int *v, int a, int d) { return *v = a == 75 ? 9 : a == 76 ? 0 : a == 97 ? 232448 : -1, 0; }
int cuCtxCreate_v2(void **c, unsigned flags, int d) { return *c = current = &context, 0; }
int cuCtxDestroy_v2(void *c) { return c == &context ? 0 : 201; }
int cuCtxPushCurrent_v2(void *c) { return current = c, 0; }
int cuCtxPopCurrent_v2(void **c) { NEED return *c = current, current = 0, 0; }
int cuCtxSynchronize(void) { NEED return 0; }
int cuMemAlloc_v2(uint64_t *p, size_t n) { NEED return (*p = (uint64_t)calloc(1, n)) ? 0 : 2; }
int cuMemFree_v2(uint64_t p) { NEED return free((void *)p), 0; }
int cuMemGetInfo_v2(size_t *f, size_t *n) { NEED return *f = *n = (size_t)80 << 30, 0; }
int cuMemHostAlloc(void **p, size_t n, unsigned flags) { NEED return flags == 0 && (*p = malloc(n)) ? 0 : 2; }
int cuMemFreeHost(void *p) { NEED return free(p), 0; }
int cuMemcpyHtoD_v2(uint64_t d, const void *s, size_t n) { NEED return memcpy((void *)d, s, n), 0; }
int cuMemcpyDtoH_v2(void *d, uint64_t s, size_t n) { NEED return memcpy(d, (void *)s, n), 0; }
int cuMemsetD8_v2(uint64_t d, unsigned char x, size_t n) { NEED return memset((void *)d, x, n), 0; }
int cuModuleLoadDataEx(void **m, const char *t, unsigned n, int *o, void **v) {
  NEED if (n == 2 && o[0] == 5 && (size_t)v[1] > 8) strcpy(v[0], "a log\n");
  return *m = &context, strstr(t, ".entry") ? 0 : 218;
}
int cuModuleGetFunction(void **f, void *m, const char *name) { NEED return *f = &context, strcmp(name, "nosuch") ? 0 : 500; }
#ifndef LACKING
int cuFuncSetAttribute(void *f, int a, int v) { NEED return a == 8 && v <= 232448 ? 0 : 1; }
#endif
int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void *stream,
                   void **params, void **extra) {
  NEED return gx && bx <= 1024 && by == 1 && bz == 1 && params && params[0] && !stream && !extra ? 0 : 1;
}
