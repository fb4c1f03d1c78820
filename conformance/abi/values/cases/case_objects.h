// What cases need, each made when it is first asked for, in the primary context of device 0.

#ifndef TWINMMU_CONFORMANCE_ABI_VALUES_CASES_CASE_OBJECTS_H_
#define TWINMMU_CONFORMANCE_ABI_VALUES_CASES_CASE_OBJECTS_H_

#include <cstddef>
#include <cstdint>

#include "conformance/abi/values/symbol_call.h"

namespace twinmmu::abi {

// Initialises the driver, and makes the context current.
void BeginCase();
CUcontext PrimaryContext();

CUstream Stream();       // waits for nobody
CUstream OtherStream();  // waits for the legacy stream
CUevent Event();

inline constexpr uint64_t kMiB = uint64_t{1} << 20;
inline constexpr uint64_t kBytes = 4 * kMiB;  // of each of these
CUdeviceptr Memory();
CUdeviceptr OtherMemory();
CUdeviceptr ManagedMemory();
char* HostMemory();          // pinned, and mapped
char* PageableHostMemory();  // twice as large, at an address of whole pages

// Of integers of 32 bits; the plane and the volume may be surfaces.
CUarray Row();              // 64
CUarray Plane();            // 64 by 32
CUarray Volume();           // 64 by 32 by 8
CUarray Layers();           // 8 of 64 by 32
CUmipmappedArray Levels();  // 4, of 64 by 32

// A kernel that does nothing, has 128 bytes of shared memory, and parameters of 8, 4 and 24 bytes.
extern const char* const kKernelCode;
CUmodule Module();
CUfunction Kernel();
struct CUlib_st;
CUlib_st* Library();
CUkernel LibraryKernel();
void** KernelParameters();

CUmemoryPool Pool();  // shareable by descriptors

// Of memory of the device, pinned.
CUmemAllocationProp PinnedProperties();
inline CUmemLocation OnDevice() { return {1, 0}; }
inline CUmemAccessDesc ReadWrite() { return {OnDevice(), 3}; }

}  // namespace twinmmu::abi

#endif  // TWINMMU_CONFORMANCE_ABI_VALUES_CASES_CASE_OBJECTS_H_
