//go:build cuda

// The functions of libcuda that are called, with the current context of each thread. What they do is in Go.
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "_cgo_export.h"

extern void *largemvc_cuda_replace(const char *symbol, void *f);
extern void largemvc_cuda_begun(void);

static _Thread_local uintptr_t current, below; // below: what a push has covered

#define NEED                                         \
  if (!current) return CUDA_ERROR_INVALID_CONTEXT;

static CUresult fake_cuInit(unsigned flags) { return CUDA_SUCCESS; }
static CUresult fake_cuDriverGetVersion(int *v) { return *v = 12040, CUDA_SUCCESS; }
static CUresult fake_cuDeviceGetCount(int *n) { return *n = 1, CUDA_SUCCESS; }
static CUresult fake_cuDeviceGet(CUdevice *d, int i) { return i ? CUDA_ERROR_INVALID_DEVICE : (*d = 0, CUDA_SUCCESS); }
static CUresult fake_cuDeviceGetName(char *s, int n, CUdevice d) { return snprintf(s, n, "a card of the simulator"), CUDA_SUCCESS; }
static CUresult fake_cuDeviceTotalMem(size_t *n, CUdevice d) { return *n = fakeMemory(1), CUDA_SUCCESS; }
static CUresult fake_cuDeviceGetAttribute(int *v, CUdevice_attribute a, CUdevice d) {
  switch (a) {
  case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y: *v = 1024; break;
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z: *v = 64; break;
  case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X: *v = 2147483647; break;
  case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
  case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z: *v = 65535; break;
  case CU_DEVICE_ATTRIBUTE_WARP_SIZE: *v = 32; break;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *v = fakeCapability() / 10; break;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *v = fakeCapability() % 10; break;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: *v = fakeMostShared(); break;
  default: *v = 0;
  }
  return CUDA_SUCCESS;
}
static CUresult fake_cuGetErrorString(CUresult e, const char **text) { return *text = "an error of the simulator", CUDA_SUCCESS; }
static CUresult fake_cuCtxPushCurrent(CUcontext c) { return below = current, current = (uintptr_t)c, CUDA_SUCCESS; }
static CUresult fake_cuCtxPopCurrent(CUcontext *c) { NEED return *c = (CUcontext)current, current = below, below = 0, CUDA_SUCCESS; }
static CUresult fake_cuCtxCreate(CUcontext *c, unsigned flags, CUdevice d) {
  below = current;
  current = fakeNewContext();
  *c = (CUcontext)current;
  return CUDA_SUCCESS;
}
static CUresult fake_cuCtxDestroy(CUcontext c) {
  if (current == (uintptr_t)c) current = 0;
  return fakeDropContext((uintptr_t)c);
}
static CUresult fake_cuCtxSetCurrent(CUcontext c) { return current = (uintptr_t)c, CUDA_SUCCESS; }
static CUresult fake_cuCtxGetCurrent(CUcontext *c) { return *c = (CUcontext)current, CUDA_SUCCESS; }
static CUresult fake_cuCtxGetDevice(CUdevice *d) { NEED return *d = 0, CUDA_SUCCESS; }
static CUresult fake_cuCtxSynchronize(void) { NEED return fakeState(current); }
static CUresult fake_cuMemGetInfo(size_t *f, size_t *n) { NEED return *f = fakeMemory(0), *n = fakeMemory(1), CUDA_SUCCESS; }
static CUresult fake_cuMemAlloc(CUdeviceptr *p, size_t n) { NEED return fakeAlloc(current, (void *)p, n, 0); }
static CUresult fake_cuMemAllocManaged(CUdeviceptr *p, size_t n, unsigned flags) { NEED return fakeAlloc(current, (void *)p, n, 1); }
static CUresult fake_cuMemFree(CUdeviceptr p) { NEED return fakeFree(current, p); }
static CUresult fake_cuMemcpy(CUdeviceptr d, CUdeviceptr s, size_t n) { NEED return fakeCopy(current, d, s, n); }
static CUresult fake_cuMemcpyDtoD(CUdeviceptr d, CUdeviceptr s, size_t n) { NEED return fakeCopy(current, d, s, n); }
static CUresult fake_cuMemHostAlloc(void **p, size_t n, unsigned flags) { NEED return (*p = malloc(n)) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY; }
static CUresult fake_cuMemFreeHost(void *p) { NEED return free(p), CUDA_SUCCESS; }
static CUresult fake_cuMemcpyHtoD(CUdeviceptr d, const void *s, size_t n) { NEED return fakeUpload(current, d, (void *)s, n); }
static CUresult fake_cuMemcpyDtoH(void *d, CUdeviceptr s, size_t n) { NEED return fakeDownload(current, d, s, n); }
static CUresult fake_cuMemsetD8(CUdeviceptr d, unsigned char x, size_t n) { NEED return fakeFill(current, d, x, n); }
static CUresult load(CUmodule *m, const void *text, void *log, size_t size) {
  NEED return fakeLoad(current, (void *)m, (void *)text, log, size);
}
static CUresult fake_cuModuleLoadData(CUmodule *m, const void *text) { return load(m, text, 0, 0); }
static CUresult fake_cuModuleLoadDataEx(CUmodule *m, const void *text, unsigned n, CUjit_option *o, void **v) {
  void *log = 0;
  size_t size = 0;
  for (unsigned i = 0; i < n; i++) {
    if (o[i] == CU_JIT_ERROR_LOG_BUFFER) log = v[i];
    if (o[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) size = (size_t)v[i];
  }
  return load(m, text, log, size);
}
static CUresult fake_cuModuleUnload(CUmodule m) { NEED return CUDA_SUCCESS; }
static CUresult fake_cuModuleGetFunction(CUfunction *f, CUmodule m, const char *name) {
  NEED return fakeFunction(current, (void *)f, (uintptr_t)m, (char *)name);
}
static CUresult fake_cuFuncSetAttribute(CUfunction f, CUfunction_attribute a, int value) {
  NEED return a == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES ? fakeShared(current, (uintptr_t)f, value) : CUDA_ERROR_INVALID_VALUE;
}
static CUresult fake_cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                                    unsigned shared, CUstream stream, void **params, void **extra) {
  NEED return fakeLaunch(current, (uintptr_t)f, gx, gy, gz, bx, by, bz, shared, params);
}

// The products of cuBLAS that Gorgonia calls, by columns. Its operands lie in managed memory.

extern void largemvc_cublas_replace(const char *symbol, void *f);

// A handle belongs to the context in which it was made, and products to that; a product with memory of another one fails.
typedef struct { uintptr_t context; } fake_handle;

static int fake_create(void **handle) {
  fake_handle *h = malloc(sizeof *h);
  h->context = current;
  *handle = h;
  return 0;
}
static int fake_destroy(void *handle) { return free(handle), 0; }
static int fake_well(void) { return 0; }

#define PRODUCTS(type, letter)                                                                                                   \
  static int fake_##letter##gemm(void *h, int ta, int tb, int m, int n, int k, const type *alpha, const type *a, int lda,        \
                                 const type *b, int ldb, const type *beta, type *c, int ldc) {                                   \
    int status = fakeProduct(((fake_handle *)h)->context, (void *)a, (void *)b, (void *)c);                                      \
    if (status) return status;                                                                                                   \
    for (int j = 0; j < n; j++)                                                                                                  \
      for (int i = 0; i < m; i++) {                                                                                              \
        double s = 0;                                                                                                            \
        for (int p = 0; p < k; p++)                                                                                              \
          s += (double)(ta ? a[p + (size_t)i * lda] : a[i + (size_t)p * lda]) *                                                  \
               (tb ? b[j + (size_t)p * ldb] : b[p + (size_t)j * ldb]);                                                           \
        type *to = &c[i + (size_t)j * ldc];                                                                                      \
        *to = *alpha * s + (*beta == 0 ? 0 : *beta * *to);                                                                       \
      }                                                                                                                          \
    return 0;                                                                                                                    \
  }                                                                                                                              \
  static int fake_##letter##gemv(void *h, int t, int m, int n, const type *alpha, const type *a, int lda, const type *x, int dx, \
                                 const type *beta, type *y, int dy) {                                                            \
    int status = fakeProduct(((fake_handle *)h)->context, (void *)a, (void *)x, (void *)y);                                      \
    if (status) return status;                                                                                                   \
    int rows = t ? n : m, columns = t ? m : n;                                                                                   \
    for (int i = 0; i < rows; i++) {                                                                                             \
      double s = 0;                                                                                                              \
      for (int j = 0; j < columns; j++)                                                                                          \
        s += (double)(t ? a[j + (size_t)i * lda] : a[i + (size_t)j * lda]) * x[(size_t)j * dx];                                  \
      y[(size_t)i * dy] = *alpha * s + (*beta == 0 ? 0 : *beta * y[(size_t)i * dy]);                                             \
    }                                                                                                                            \
    return 0;                                                                                                                    \
  }
PRODUCTS(float, S)
PRODUCTS(double, D)

static void install_products(void) {
  largemvc_cublas_replace("cublasCreate_v2", fake_create);
  largemvc_cublas_replace("cublasDestroy_v2", fake_destroy);
  largemvc_cublas_replace("cublasSetStream_v2", fake_well);
  largemvc_cublas_replace("cublasSgemm_v2", fake_Sgemm);
  largemvc_cublas_replace("cublasDgemm_v2", fake_Dgemm);
  largemvc_cublas_replace("cublasSgemv_v2", fake_Sgemv);
  largemvc_cublas_replace("cublasDgemv_v2", fake_Dgemv);
}

#define TEXT(x) #x
#define SYMBOL(x) TEXT(x)
#define PUT(f) {SYMBOL(f), (void *)fake_##f}
static const struct { const char *name; void *f; } functions[] = {
  PUT(cuInit), PUT(cuDriverGetVersion), PUT(cuDeviceGetCount), PUT(cuDeviceGet), PUT(cuDeviceGetName), PUT(cuDeviceTotalMem),
  PUT(cuDeviceGetAttribute), PUT(cuCtxCreate), PUT(cuCtxDestroy), PUT(cuCtxSetCurrent), PUT(cuCtxGetCurrent),
  PUT(cuCtxGetDevice), PUT(cuCtxSynchronize), PUT(cuMemGetInfo), PUT(cuMemAlloc), PUT(cuMemAllocManaged), PUT(cuMemFree),
  PUT(cuMemcpy), PUT(cuMemcpyDtoD), PUT(cuMemHostAlloc), PUT(cuMemFreeHost), PUT(cuMemcpyHtoD), PUT(cuMemcpyDtoH), PUT(cuMemsetD8), PUT(cuModuleLoadData),
  PUT(cuModuleLoadDataEx), PUT(cuModuleUnload), PUT(cuModuleGetFunction), PUT(cuFuncSetAttribute), PUT(cuLaunchKernel),
  PUT(cuGetErrorString), PUT(cuCtxPushCurrent), PUT(cuCtxPopCurrent),
};

void *fake_symbol(const char *name) {
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
    if (!strcmp(functions[i].name, name)) return functions[i].f;
  return 0;
}

void fake_install(void) {
  install_products();
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) largemvc_cuda_replace(functions[i].name, functions[i].f);
  largemvc_cuda_begun();
}
