// What the simulator cannot do: exported, so that programs load, and NOT_SUPPORTED.

#include "sim/libcuda/call.h"
#include "sim/libcuda/entry_points.h"

namespace twinmmu::libcuda {
namespace {

CUresult Unsupported(const CallSite& site) {
  return EnterInContext(site, [](Machine&, Context&) { return DriverCode::kNotSupported; });
}

}  // namespace

// Those that the backend calls too, with their parameters.

extern "C" CUresult cuModuleLoadDataEx(CUmodule*, const void*, unsigned int, CUjit_option*,
                                       void**) {
  return Unsupported(TWINMMU_HERE(cuModuleLoadDataEx));
}
extern "C" CUresult cuModuleUnload(CUmodule) { return Unsupported(TWINMMU_HERE(cuModuleUnload)); }
extern "C" CUresult cuModuleGetFunction(CUfunction*, CUmodule, const char*) {
  return Unsupported(TWINMMU_HERE(cuModuleGetFunction));
}
extern "C" CUresult cuLaunchKernel(CUfunction, unsigned int, unsigned int, unsigned int,
                                   unsigned int, unsigned int, unsigned int, unsigned int, CUstream,
                                   void**, void**) {
  return Unsupported(TWINMMU_HERE(cuLaunchKernel));
}
TWINMMU_ALIAS(cuLaunchKernel_ptsz, cuLaunchKernel);

// The others, which nothing here declares: their parameters stay where the caller put them.
#define TWINMMU_UNSUPPORTED(symbol) \
  extern "C" CUresult symbol() { return Unsupported(TWINMMU_HERE(symbol)); }

TWINMMU_UNSUPPORTED(cuModuleLoad)
TWINMMU_UNSUPPORTED(cuModuleLoadData)
TWINMMU_UNSUPPORTED(cuModuleLoadFatBinary)
TWINMMU_UNSUPPORTED(cuModuleGetGlobal_v2)
TWINMMU_ALIAS(cuModuleGetGlobal, cuModuleGetGlobal_v2);
TWINMMU_UNSUPPORTED(cuLibraryLoadData)
TWINMMU_UNSUPPORTED(cuLibraryUnload)
TWINMMU_UNSUPPORTED(cuLibraryGetKernel)
TWINMMU_UNSUPPORTED(cuLaunchKernelEx)
TWINMMU_ALIAS(cuLaunchKernelEx_ptsz, cuLaunchKernelEx);
TWINMMU_UNSUPPORTED(cuLaunchCooperativeKernel)
TWINMMU_ALIAS(cuLaunchCooperativeKernel_ptsz, cuLaunchCooperativeKernel);

TWINMMU_UNSUPPORTED(cuMemAllocManaged)
TWINMMU_UNSUPPORTED(cuMemAllocAsync)
TWINMMU_ALIAS(cuMemAllocAsync_ptsz, cuMemAllocAsync);
TWINMMU_UNSUPPORTED(cuMemFreeAsync)
TWINMMU_ALIAS(cuMemFreeAsync_ptsz, cuMemFreeAsync);
TWINMMU_UNSUPPORTED(cuMemGetHandleForAddressRange)
TWINMMU_UNSUPPORTED(cuIpcGetMemHandle)
TWINMMU_UNSUPPORTED(cuIpcOpenMemHandle_v2)
TWINMMU_ALIAS(cuIpcOpenMemHandle, cuIpcOpenMemHandle_v2);
TWINMMU_UNSUPPORTED(cuIpcCloseMemHandle)

TWINMMU_UNSUPPORTED(cuMemMapArrayAsync)
TWINMMU_ALIAS(cuMemMapArrayAsync_ptsz, cuMemMapArrayAsync);
TWINMMU_UNSUPPORTED(cuMulticastCreate)
TWINMMU_UNSUPPORTED(cuMulticastAddDevice)
TWINMMU_UNSUPPORTED(cuMulticastBindMem)
TWINMMU_UNSUPPORTED(cuMulticastBindAddr)
TWINMMU_UNSUPPORTED(cuMulticastUnbind)
TWINMMU_UNSUPPORTED(cuMulticastGetGranularity)

}  // namespace twinmmu::libcuda
