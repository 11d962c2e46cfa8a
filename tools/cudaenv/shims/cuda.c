// What stands behind the jumps to libcuda. The names and the table are written before this text.
//
// Where libcuda.so.1 is missing or cannot begin, what is here answers instead of it, as a device that has memory and computes
// nothing: a program that initialises CUDA when it starts then starts all the same, and asks largemvc_cuda_status.
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT(x) #x
#define SYMBOL(x) TEXT(x)

static char reason[512];
static CUresult status = CUDA_ERROR_NOT_INITIALIZED;
static CUresult (*begin)(unsigned);

// largemvc_cuda_status returns 0 where there is a driver that has begun, otherwise CUDA's number of what failed, with a sentence.
int largemvc_cuda_status(const char **why) {
  *why = reason;
  return status;
}

// largemvc_cuda_replace puts f behind the jump of a symbol and returns what was there; tests put a driver of their own there.
void *largemvc_cuda_replace(const char *symbol, void *f) {
  for (int i = 0; i < COUNT; i++)
    if (!strcmp(names[i], symbol)) {
      void *old = largemvc_cuda_table[i];
      largemvc_cuda_table[i] = f;
      return old;
    }
  return NULL;
}

// largemvc_cuda_begun says that the functions which were replaced are a driver that works.
void largemvc_cuda_begun(void) {
  status = CUDA_SUCCESS;
  reason[0] = 0;
}

static CUresult lacking(void) { return CUDA_ERROR_NOT_SUPPORTED; }

// A device without a driver.

static int context;
static _Thread_local CUcontext current;

static CUresult none_cuInit(unsigned flags) { return CUDA_SUCCESS; }
static CUresult none_cuDriverGetVersion(int *v) { return *v = 0, CUDA_SUCCESS; }
static CUresult none_cuDeviceGetCount(int *n) { return *n = 1, CUDA_SUCCESS; }
static CUresult none_cuDeviceGet(CUdevice *d, int ordinal) { return *d = 0, CUDA_SUCCESS; }
static CUresult none_cuDeviceGetName(char *s, int n, CUdevice d) { return snprintf(s, n, "no device"), CUDA_SUCCESS; }
static CUresult none_cuDeviceTotalMem(size_t *n, CUdevice d) { return *n = (size_t)1 << 36, CUDA_SUCCESS; }
static CUresult none_cuDeviceGetAttribute(int *v, CUdevice_attribute a, CUdevice d) {
  switch (a) {
  case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y: *v = 1024; break;
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z: *v = 64; break;
  case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X: *v = 2147483647; break;
  case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
  case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z: *v = 65535; break;
  case CU_DEVICE_ATTRIBUTE_WARP_SIZE: *v = 32; break;
  default: *v = 0;
  }
  return CUDA_SUCCESS;
}
static CUresult none_cuCtxCreate(CUcontext *c, unsigned flags, CUdevice d) { return *c = current = (CUcontext)&context, CUDA_SUCCESS; }
static CUresult none_cuCtxDestroy(CUcontext c) { return CUDA_SUCCESS; }
static CUresult none_cuCtxSetCurrent(CUcontext c) { return current = c, CUDA_SUCCESS; }
static CUresult none_cuCtxGetCurrent(CUcontext *c) { return *c = current, CUDA_SUCCESS; }
static CUresult none_cuCtxGetDevice(CUdevice *d) { return *d = 0, CUDA_SUCCESS; }
static CUresult none_cuCtxSynchronize(void) { return CUDA_SUCCESS; }
static CUresult none_cuMemGetInfo(size_t *f, size_t *n) { return *f = *n = (size_t)1 << 36, CUDA_SUCCESS; }
static CUresult none_cuMemAlloc(CUdeviceptr *p, size_t n) {
  *p = (CUdeviceptr)aligned_alloc(256, (n + 255) / 256 * 256);
  return *p ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
static CUresult none_cuMemAllocManaged(CUdeviceptr *p, size_t n, unsigned flags) { return none_cuMemAlloc(p, n); }
static CUresult none_cuMemFree(CUdeviceptr p) { return free((void *)p), CUDA_SUCCESS; }
static CUresult none_cuMemcpy(CUdeviceptr d, CUdeviceptr s, size_t n) { return memmove((void *)d, (void *)s, n), CUDA_SUCCESS; }
static CUresult none_cuMemcpyHtoD(CUdeviceptr d, const void *s, size_t n) { return memmove((void *)d, s, n), CUDA_SUCCESS; }
static CUresult none_cuMemcpyDtoH(void *d, CUdeviceptr s, size_t n) { return memmove(d, (void *)s, n), CUDA_SUCCESS; }
static CUresult none_cuMemcpyDtoD(CUdeviceptr d, CUdeviceptr s, size_t n) { return none_cuMemcpy(d, s, n); }
static CUresult none_cuMemsetD8(CUdeviceptr d, unsigned char x, size_t n) { return memset((void *)d, x, n), CUDA_SUCCESS; }
static CUresult nothing(void) { return CUDA_ERROR_NO_DEVICE; }

#define NONE(f) {SYMBOL(f), (void *)none_##f}
static const struct { const char *symbol; void *f; } none[] = {
  NONE(cuInit), NONE(cuDriverGetVersion), NONE(cuDeviceGetCount), NONE(cuDeviceGet), NONE(cuDeviceGetName),
  NONE(cuDeviceTotalMem), NONE(cuDeviceGetAttribute), NONE(cuCtxCreate), NONE(cuCtxDestroy), NONE(cuCtxSetCurrent),
  NONE(cuCtxGetCurrent), NONE(cuCtxGetDevice), NONE(cuCtxSynchronize), NONE(cuMemGetInfo), NONE(cuMemAlloc),
  NONE(cuMemAllocManaged), NONE(cuMemFree), NONE(cuMemcpy), NONE(cuMemcpyHtoD), NONE(cuMemcpyDtoH), NONE(cuMemcpyDtoD),
  NONE(cuMemsetD8),
};

static void stand_in(void) {
  for (int i = 0; i < COUNT; i++) largemvc_cuda_table[i] = (void *)nothing;
  for (size_t i = 0; i < sizeof none / sizeof *none; i++) largemvc_cuda_replace(none[i].symbol, none[i].f);
}

// first_init is what cuInit calls: a driver that cannot begin is no driver.
static CUresult first_init(unsigned flags) {
  status = begin(flags);
  if (status == CUDA_SUCCESS) {
    largemvc_cuda_replace("cuInit", (void *)begin);
    return CUDA_SUCCESS;
  }
  const char *text = "an unknown error";
  CUresult (*describe)(CUresult, const char **) = dlsym(RTLD_DEFAULT, "cuGetErrorString");
  if (describe) describe(status, &text);
  snprintf(reason, sizeof reason, "libcuda.so.1 does not begin: %s (CUDA error %d)", text, status);
  stand_in();
  return CUDA_SUCCESS;
}

__attribute__((constructor)) static void load(void) {
  void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_GLOBAL);
  if (library) begin = dlsym(library, "cuInit");
  if (!begin) {
    const char *text = dlerror();
    status = CUDA_ERROR_NO_DEVICE;
    snprintf(reason, sizeof reason, "no NVIDIA driver: %s", text ? text : "libcuda.so.1 has no cuInit");
    stand_in();
    return;
  }
  for (int i = 0; i < COUNT; i++) {
    void *f = dlsym(library, names[i]);
    largemvc_cuda_table[i] = f ? f : (void *)lacking;
  }
  largemvc_cuda_replace("cuInit", (void *)first_init);
}
