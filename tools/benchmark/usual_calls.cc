#include "tools/benchmark/usual_calls.h"

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <limits>

#include "tools/benchmark/calls.h"

namespace twinmmu {
namespace {

using cuda_abi::CUdeviceptr;
using cuda_abi::CUresult;
using cuda_abi::CUstream;
using MemoryPool = struct CUmemPoolHandle_st*;

constexpr int kReleaseThreshold = 4;      // CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
constexpr unsigned int kNonBlocking = 1;  // CU_STREAM_NON_BLOCKING

void RequireSuccess(const char* call, CUresult result) {
  if (result == cuda_abi::CUDA_SUCCESS) return;
  std::cerr << call << " gave " << result << "\n";
  std::exit(1);
}

void* Find(const char* name) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  void* function = library == nullptr ? nullptr : dlsym(library, name);
  if (function != nullptr) return function;
  std::cerr << "the driver has no " << name << "\n";
  std::exit(1);
}

}  // namespace

// As cuda.h declares them.
struct UsualCalls::Functions {
#define TWINMMU_FUNCTION(name, parameters) \
  CUresult(*name) parameters = reinterpret_cast<CUresult(*) parameters>(Find(#name))
  TWINMMU_FUNCTION(cuMemAlloc_v2, (CUdeviceptr*, size_t));
  TWINMMU_FUNCTION(cuMemFree_v2, (CUdeviceptr));
  TWINMMU_FUNCTION(cuMemAllocAsync, (CUdeviceptr*, size_t, CUstream));
  TWINMMU_FUNCTION(cuMemFreeAsync, (CUdeviceptr, CUstream));
  TWINMMU_FUNCTION(cuDeviceGetDefaultMemPool, (MemoryPool*, int));
  TWINMMU_FUNCTION(cuMemPoolSetAttribute, (MemoryPool, int, void*));
  TWINMMU_FUNCTION(cuMemPoolTrimTo, (MemoryPool, size_t));
  TWINMMU_FUNCTION(cuMemcpyDtoD_v2, (CUdeviceptr, CUdeviceptr, size_t));
  TWINMMU_FUNCTION(cuStreamCreate, (CUstream*, unsigned int));
  TWINMMU_FUNCTION(cuStreamSynchronize, (CUstream));
  TWINMMU_FUNCTION(cuCtxSynchronize, ());
#undef TWINMMU_FUNCTION

  MemoryPool Pool() const {
    MemoryPool pool = nullptr;
    RequireSuccess("cuDeviceGetDefaultMemPool", cuDeviceGetDefaultMemPool(&pool, kDevice.value()));
    return pool;
  }
};

UsualCalls::UsualCalls() : functions_(*new Functions) {
  uint64_t keep_all = std::numeric_limits<uint64_t>::max();
  RequireSuccess("cuMemPoolSetAttribute",
                 functions_.cuMemPoolSetAttribute(functions_.Pool(), kReleaseThreshold, &keep_all));
  RequireSuccess("cuStreamCreate", functions_.cuStreamCreate(&stream_, kNonBlocking));
}

DeviceAddress UsualCalls::Allocate(Bytes size) {
  CUdeviceptr address = 0;
  RequireSuccess("cuMemAlloc", functions_.cuMemAlloc_v2(&address, size.value()));
  return DeviceAddress(address);
}

void UsualCalls::Free(DeviceAddress address) {
  RequireSuccess("cuMemFree", functions_.cuMemFree_v2(address.value()));
}

DeviceAddress UsualCalls::AllocateAsync(Bytes size) {
  CUdeviceptr address = 0;
  RequireSuccess("cuMemAllocAsync", functions_.cuMemAllocAsync(&address, size.value(), stream_));
  return DeviceAddress(address);
}

void UsualCalls::FreeAsync(DeviceAddress address) {
  RequireSuccess("cuMemFreeAsync", functions_.cuMemFreeAsync(address.value(), stream_));
}

void UsualCalls::Copy(DeviceAddress to, DeviceAddress from, Bytes size) {
  RequireSuccess("cuMemcpyDtoD",
                 functions_.cuMemcpyDtoD_v2(to.value(), from.value(), size.value()));
  RequireSuccess("cuCtxSynchronize", functions_.cuCtxSynchronize());
}

void UsualCalls::Trim() {
  RequireSuccess("cuStreamSynchronize", functions_.cuStreamSynchronize(stream_));
  RequireSuccess("cuMemPoolTrimTo", functions_.cuMemPoolTrimTo(functions_.Pool(), 0));
}

}  // namespace twinmmu
