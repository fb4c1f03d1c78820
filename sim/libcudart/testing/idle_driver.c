/* A driver that does nothing, with the functions that runtime_benchmark needs: what a call costs
 * over it is the runtime's own. */

#include <stddef.h>

static int anything;

int cuInit(unsigned int flags) { return (int)flags; }

int cuDeviceGetCount(int* count) {
  *count = 1;
  return 0;
}

int cuDevicePrimaryCtxRetain(void** context, int device) {
  *context = &anything;
  return device;
}

int cuCtxSetCurrent(void* context) { return context == NULL; }

int cuCtxGetCurrent(void** context) {
  *context = &anything;
  return 0;
}

int twinmmuContext(void** context) { return cuCtxGetCurrent(context); }

int cuMemAlloc_v2(void** address, size_t size) {
  static char memory[4096];
  *address = memory;
  return size > sizeof(memory);
}

int cuMemcpyHtoD_v2(void* to, const void* from, size_t size) {
  return to == NULL || from == NULL || size == 0;
}

int cuMemsetD8_v2(void* to, unsigned char value, size_t size) {
  return to == NULL || value == 0 || size == 0;
}

int cuStreamQuery(void* stream) { return stream != NULL; }

int cuLibraryLoadData(void** library) {
  *library = &anything;
  return 0;
}

int cuLibraryGetKernel(void** kernel) {
  *kernel = &anything;
  return 0;
}

int cuLaunchKernel(void* kernel) { return kernel == NULL; }
