#include "conformance/abi/values/cases/case_objects.h"

#include <cstdlib>
#include <cstring>

namespace twinmmu::abi {
namespace {

// Makes an object by a call whose first argument is where it goes.
template <typename Object, typename... Arguments>
Object Made(const char* symbol, Arguments... arguments) {
  Object object = {};
  Must(symbol, &object, arguments...);
  return object;
}

CUarray ArrayOf(size_t height, size_t depth, unsigned int flags) {
  const CUDA_ARRAY3D_DESCRIPTOR shape = {64, height, depth, 3, 1, flags};
  return Made<CUarray>("cuArray3DCreate_v2", &shape);
}

constexpr unsigned int kLayered = 1;
constexpr unsigned int kSurface = 2;

}  // namespace

const char* const kKernelCode = R"(
.version 7.8
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p, .param .u32 n, .param .align 8 .b8 s[24]) {
  .reg .b32 %r;
  .shared .align 4 .b8 shared[128];
  mov.u32 %r, 1;
  st.shared.u32 [shared], %r;
  ret;
}
)";

void BeginCase() {
  Must("cuInit", 0);
  Must("cuCtxSetCurrent", PrimaryContext());
}

CUcontext PrimaryContext() {
  static const auto context = Made<CUcontext>("cuDevicePrimaryCtxRetain", 0);
  return context;
}

CUstream Stream() {
  static const auto stream = Made<CUstream>("cuStreamCreate", CU_STREAM_NON_BLOCKING);
  return stream;
}
CUstream OtherStream() {
  static const auto stream = Made<CUstream>("cuStreamCreate", 0);
  return stream;
}
CUevent Event() {
  static const auto event = Made<CUevent>("cuEventCreate", 0);
  return event;
}

CUdeviceptr Memory() {
  static const auto memory = Made<CUdeviceptr>("cuMemAlloc_v2", kBytes);
  return memory;
}
CUdeviceptr OtherMemory() {
  static const auto memory = Made<CUdeviceptr>("cuMemAlloc_v2", kBytes);
  return memory;
}
CUdeviceptr ManagedMemory() {
  static const auto memory = Made<CUdeviceptr>("cuMemAllocManaged", kBytes, 1);
  return memory;
}
char* HostMemory() {
  static const auto memory = Made<char*>("cuMemHostAlloc", kBytes, 0);
  return memory;
}
char* PageableHostMemory() {
  static char* const memory = [] {
    void* const made = std::aligned_alloc(4096, 2 * kBytes);
    return static_cast<char*>(std::memset(made, 0, 2 * kBytes));
  }();
  return memory;
}

CUarray Row() {
  static const CUarray array = ArrayOf(0, 0, 0);
  return array;
}
CUarray Plane() {
  static const CUarray array = ArrayOf(32, 0, kSurface);
  return array;
}
CUarray Volume() {
  static const CUarray array = ArrayOf(32, 8, kSurface);
  return array;
}
CUarray Layers() {
  static const CUarray array = ArrayOf(32, 8, kLayered);
  return array;
}
CUmipmappedArray Levels() {
  static const CUDA_ARRAY3D_DESCRIPTOR shape = {64, 32, 0, 3, 1, 0};
  static const auto mipmap = Made<CUmipmappedArray>("cuMipmappedArrayCreate", &shape, 4);
  return mipmap;
}

CUmodule Module() {
  static const auto module = Made<CUmodule>("cuModuleLoadData", kKernelCode);
  return module;
}
CUfunction Kernel() {
  static const auto kernel = Made<CUfunction>("cuModuleGetFunction", Module(), "k");
  return kernel;
}
CUlib_st* Library() {
  static auto* const library =
      Made<CUlib_st*>("cuLibraryLoadData", kKernelCode, nullptr, nullptr, 0, nullptr, nullptr, 0);
  return library;
}
CUkernel LibraryKernel() {
  static const auto kernel = Made<CUkernel>("cuLibraryGetKernel", Library(), "k");
  return kernel;
}
void** KernelParameters() {
  static uint64_t first = 0;
  static uint32_t second = 0;
  static char third[24] = {};
  static void* parameters[] = {&first, &second, third};
  return parameters;
}

CUmemoryPool Pool() {
  static const CUmemoryPool pool = [] {
    CUmemPoolProps properties = {};
    properties.allocType = 1;
    properties.location = OnDevice();
    properties.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    return Made<CUmemoryPool>("cuMemPoolCreate", &properties);
  }();
  return pool;
}

CUmemAllocationProp PinnedProperties() {
  CUmemAllocationProp properties = {};
  properties.type = 1;
  properties.location = OnDevice();
  return properties;
}

}  // namespace twinmmu::abi
