/* What these programs share: the words for a call that failed, and a device to work on. */

#ifndef TWINMMU_TOOLS_EXAMPLES_CHECK_H_
#define TWINMMU_TOOLS_EXAMPLES_CHECK_H_

#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* CHECK(cuMemMap(address, size, 0, handle, 0)): ends the program where the call fails. */
#define CHECK(call) check((call), #call)

static inline void check(CUresult result, const char* call) {
  const char* name = "unknown";
  const char* text = "unknown";
  if (result == CUDA_SUCCESS) return;
  cuGetErrorName(result, &name);
  cuGetErrorString(result, &text);
  fflush(stdout);
  fprintf(stderr, "%s failed: %s, %s\n", call, name, text);
  exit(1);
}

/* For what is no call: EXPECT(data == 7, "the data is lost"). */
#define EXPECT(condition, otherwise) \
  do {                               \
    if (!(condition)) {              \
      fflush(stdout);                \
      fputs(otherwise "\n", stderr); \
      exit(1);                       \
    }                                \
  } while (0)

/* Makes the device's primary context current. */
static inline CUdevice use_device(int ordinal) {
  CUdevice device;
  CUcontext context;
  int supported = 0;
  CHECK(cuDeviceGet(&device, ordinal));
  CHECK(cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
                             device));
  EXPECT(supported, "the device has no virtual memory management");
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  return device;
}

/* Pinned memory of the device. */
static inline CUmemAllocationProp memory_of(CUdevice device) {
  CUmemAllocationProp properties;
  memset(&properties, 0, sizeof(properties));
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  return properties;
}

static inline CUmemAccessDesc grant_to(CUdevice device, CUmemAccess_flags flags) {
  CUmemAccessDesc grant;
  grant.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  grant.location.id = device;
  grant.flags = flags;
  return grant;
}

static inline size_t granularity_of(CUdevice device) {
  const CUmemAllocationProp properties = memory_of(device);
  size_t granularity;
  CHECK(cuMemGetAllocationGranularity(&granularity, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  return granularity;
}

static inline size_t free_memory(void) {
  size_t free_bytes;
  size_t total_bytes;
  CHECK(cuMemGetInfo(&free_bytes, &total_bytes));
  return free_bytes;
}

/* A driver takes memory for itself when it first fills and copies: for programs that look at how
 * much is free. */
static inline void warm_up(CUdevice device) {
  const CUmemAllocationProp properties = memory_of(device);
  const CUmemAccessDesc grant = grant_to(device, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  const size_t size = granularity_of(device);
  void* data = malloc(size);
  CUmemGenericAllocationHandle handle;
  CUdeviceptr address;
  EXPECT(data != NULL, "no memory of the host");
  CHECK(cuMemAddressReserve(&address, size, 0, 0, 0));
  CHECK(cuMemCreate(&handle, size, &properties, 0));
  CHECK(cuMemMap(address, size, 0, handle, 0));
  CHECK(cuMemSetAccess(address, size, &grant, 1));
  CHECK(cuMemsetD8(address, 0, size));
  CHECK(cuMemcpyDtoH(data, address, size));
  CHECK(cuMemcpyHtoD(address, data, size));
  CHECK(cuCtxSynchronize());
  CHECK(cuMemUnmap(address, size));
  CHECK(cuMemRelease(handle));
  CHECK(cuMemAddressFree(address, size));
  free(data);
}

#endif /* TWINMMU_TOOLS_EXAMPLES_CHECK_H_ */
