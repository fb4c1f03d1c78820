// Memory of devices and hosts.

#include "conformance/abi/values/cases/all_cases.h"
#include "conformance/abi/values/cases/case_objects.h"

namespace twinmmu::abi {
namespace {

void Free(CUdeviceptr address) { Must("cuMemFree_v2", address); }

void Allocate(Trial& trial) {
  size_t size = 100;
  trial.Memory(FIELD(size));
  CUdeviceptr address = 0;
  const CUresult result = Call("cuMemAlloc_v2", &address, size);
  trial.Answer(result);
  if (result != CUDA_SUCCESS) return;
  CUdeviceptr base = 0;
  size_t told = 0;
  Must("cuMemGetAddressRange_v2", &base, &told, address);
  if (base != address || told != size) trial.Tell(address - base, told);
  Free(address);
}
void AllocatePitch(Trial& trial) {
  size_t width = 100;
  size_t height = 10;
  unsigned int element = 4;
  trial.UpTo(4096, FIELD(width));
  trial.OneOf({0, 1, 16, 4096, 65536, kLargestSize}, FIELD(height));
  trial.Any(FIELD(element));
  CUdeviceptr address = 0;
  size_t pitch = 0;
  const CUresult result = Call("cuMemAllocPitch_v2", &address, &pitch, width, height, element);
  trial.Answer(result);
  if (result != CUDA_SUCCESS) return;
  trial.Tell(pitch);
  Free(address);
}
void FreeInside(Trial& trial) {
  CUdeviceptr address = 0;
  Must("cuMemAlloc_v2", &address, 4096);
  const CUdeviceptr whole = address;
  trial.Offset(4096, FIELD(address));
  const CUresult result = Call("cuMemFree_v2", address);
  trial.Answer(result);
  if (result != CUDA_SUCCESS) Free(whole);
}
void AddressRange(Trial& trial) {
  CUdeviceptr address = Memory();
  trial.Offset(kBytes, FIELD(address));
  CUdeviceptr base = 0;
  size_t size = 0;
  const CUresult result = Call("cuMemGetAddressRange_v2", &base, &size, address);
  trial.Answer(result);
  if (result == CUDA_SUCCESS) trial.Tell(base - Memory(), size);
}

void TellFlags(Trial& trial, void* memory) {
  unsigned int flags = 0;
  Must("cuMemHostGetFlags", &flags, memory);
  trial.Tell(flags);
}
void AllocateHost(Trial& trial) {
  unsigned int flags = 0;
  size_t size = 100;
  trial.Any(FIELD(flags));
  trial.UpTo(16 * kMiB, FIELD(size));
  void* memory = nullptr;
  const CUresult result = Call("cuMemHostAlloc", &memory, size, flags);
  trial.Answer(result);
  if (result != CUDA_SUCCESS || memory == nullptr) return;
  TellFlags(trial, memory);
  Must("cuMemFreeHost", memory);
}
void RegisterHost(Trial& trial) {
  unsigned int flags = 0;
  size_t size = 4096;
  trial.Any(FIELD(flags));
  trial.UpTo(2 * kBytes, FIELD(size));
  const CUresult result = Call("cuMemHostRegister_v2", PageableHostMemory(), size, flags);
  trial.Answer(result);
  if (result != CUDA_SUCCESS) return;
  TellFlags(trial, PageableHostMemory());
  Must("cuMemHostUnregister", PageableHostMemory());
}
void HostPointer(Trial& trial) {
  unsigned int flags = 0;
  trial.Any(FIELD(flags));
  CUdeviceptr address = 0;
  trial.Answer(Call("cuMemHostGetDevicePointer_v2", &address, HostMemory(), flags));
}
void AllocateManaged(Trial& trial) {
  unsigned int flags = 1;
  size_t size = 100;
  trial.Any(FIELD(flags));
  trial.UpTo(kLargestMemory, FIELD(size));
  CUdeviceptr address = 0;
  const CUresult result = Call("cuMemAllocManaged", &address, size, flags);
  trial.Answer(result);
  if (result == CUDA_SUCCESS) Free(address);
}

}  // namespace

std::vector<Case> AllocationCases() {
  return {{"cuMemAlloc", Allocate},
          {"cuMemAllocPitch", AllocatePitch},
          {"cuMemFree", FreeInside},
          {"cuMemGetAddressRange", AddressRange},
          {"cuMemHostAlloc", AllocateHost},
          {"cuMemHostRegister", RegisterHost},
          {"cuMemHostGetDevicePointer", HostPointer},
          {"cuMemAllocManaged", AllocateManaged}};
}

}  // namespace twinmmu::abi
