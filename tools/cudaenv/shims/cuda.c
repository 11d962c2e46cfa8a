// What stands behind the jumps to libcuda. The names and the table are written before this text.
//
// Where libcuda.so.1 is missing or cannot begin, cuInit is no error, since gorgonia.org/cu calls it when a program starts, and all
// else says that there is no device. The program asks largemvc_cuda_status for the reason.
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

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

static CUresult none_cuInit(unsigned flags) { return CUDA_SUCCESS; }
static CUresult nothing(void) { return CUDA_ERROR_NO_DEVICE; }

static void stand_in(void) {
  for (int i = 0; i < COUNT; i++) largemvc_cuda_table[i] = (void *)nothing;
  largemvc_cuda_replace("cuInit", (void *)none_cuInit);
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
