// What stands behind the jumps to cuBLAS, which is looked for when the first handle is made. The names and the table are written
// before this text.
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

enum { NOT_INITIALIZED = 1 };
static int lacking(void) { return NOT_INITIALIZED; }

static const char *const libraries[] = {
  "libcublas.so.13", "libcublas.so.12", "libcublas.so.11", "/usr/local/cuda/lib64/libcublas.so",
};
static int (*create)(void **);

// largemvc_cublas_replace puts f behind the jump of a symbol; tests put products of their own there.
void largemvc_cublas_replace(const char *symbol, void *f) {
  for (int i = 0; i < COUNT; i++)
    if (!strcmp(names[i], symbol)) largemvc_cublas_table[i] = f;
}

static void load(void) {
  void *library = NULL;
  for (size_t i = 0; i < sizeof libraries / sizeof *libraries && !library; i++) library = dlopen(libraries[i], RTLD_LAZY);
  if (!library) return;
  for (int i = 0; i < COUNT; i++) {
    void *f = dlsym(library, names[i]);
    if (f && strcmp(names[i], "cublasCreate_v2")) largemvc_cublas_table[i] = f;
  }
  create = dlsym(library, "cublasCreate_v2");
}

static int first_create(void **handle) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
  return create ? create(handle) : NOT_INITIALIZED;
}

__attribute__((constructor)) static void begin(void) {
  for (int i = 0; i < COUNT; i++)
    largemvc_cublas_table[i] = strcmp(names[i], "cublasCreate_v2") ? (void *)lacking : (void *)first_create;
}
