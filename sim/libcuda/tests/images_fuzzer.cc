// Any file as an image: loaded, and its kernels launched; or, as an object file or a library, given
// to the linker, and what that makes is loaded. A fault ends no more than the machine.

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/process.h"
#include "sim/profile/profile.h"

namespace twinmmu::libcuda {

// What the backend does not call.
struct CUlinkState_st;
extern "C" CUresult cuCtxSetCurrent(CUcontext);
extern "C" CUresult cuMemAlloc_v2(CUdeviceptr*, size_t);
extern "C" CUresult cuModuleLoad(CUmodule*, const char*);
extern "C" CUresult cuModuleLoadData(CUmodule*, const void*);
extern "C" CUresult cuModuleGetFunctionCount(unsigned int*, CUmodule);
extern "C" CUresult cuModuleEnumerateFunctions(CUfunction*, unsigned int, CUmodule);
extern "C" CUresult cuFuncGetParamInfo(CUfunction, size_t, size_t*, size_t*);
extern "C" CUresult cuLinkCreate_v2(unsigned int, int*, void**, CUlinkState_st**);
extern "C" CUresult cuLinkAddFile_v2(CUlinkState_st*, int, const char*, unsigned int, int*, void**);
extern "C" CUresult cuLinkComplete(CUlinkState_st*, void**, size_t*);
extern "C" CUresult cuLinkDestroy(CUlinkState_st*);

namespace {

constexpr size_t kMemory = size_t{1} << 20;
constexpr unsigned int kMostKernels = 16;
constexpr int kObject = 3;   // CU_JIT_INPUT_OBJECT
constexpr int kLibrary = 4;  // CU_JIT_INPUT_LIBRARY

// Every parameter is memory, or a number as that has.
void Launch(CUfunction function, CUdeviceptr memory) {
  size_t count = 0;
  size_t room = 0;
  for (size_t offset = 0, size = 0;
       cuFuncGetParamInfo(function, count, &offset, &size) == CUDA_SUCCESS; ++count) {
    room = std::max(room, size);
  }
  std::vector<CUdeviceptr> value(room / sizeof(memory) + 1, memory);
  std::vector<void*> parameters(count + 1, value.data());
  cuLaunchKernel(function, 2, 1, 1, 40, 1, 1, 0, nullptr, parameters.data(), nullptr);
  cuStreamSynchronize(nullptr);
}

void LaunchAll(CUmodule module) {
  CUdeviceptr memory = 0;
  cuMemAlloc_v2(&memory, kMemory);
  unsigned int count = 0;
  cuModuleGetFunctionCount(&count, module);
  std::vector<CUfunction> functions(std::min(count, kMostKernels));
  cuModuleEnumerateFunctions(functions.data(), static_cast<unsigned int>(functions.size()), module);
  for (const CUfunction function : functions) Launch(function, memory);
}

void Link(int type, const char* path) {
  CUlinkState_st* state = nullptr;
  if (cuLinkCreate_v2(0, nullptr, nullptr, &state) != CUDA_SUCCESS) std::abort();
  void* image = nullptr;
  size_t size = 0;
  CUmodule module = nullptr;
  if (cuLinkAddFile_v2(state, type, path, 0, nullptr, nullptr) == CUDA_SUCCESS &&
      cuLinkComplete(state, &image, &size) == CUDA_SUCCESS &&
      cuModuleLoadData(&module, image) == CUDA_SUCCESS) {
    LaunchAll(module);
  }
  cuLinkDestroy(state);
}

void Restart() {
  Profile profile = Profile::ReferenceH200(1);
  profile.kernel_instruction_budget = 100'000;
  Process::Get().Restart(profile);
  CUcontext context = nullptr;
  if (cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS) std::abort();
  cuCtxSetCurrent(context);
}

void Try(absl::string_view file) {
  static const CUresult ready = cuInit(0);
  if (ready != CUDA_SUCCESS) std::abort();
  Restart();
  const int descriptor = memfd_create("image", MFD_CLOEXEC);
  const auto size = static_cast<ssize_t>(file.size());
  if (descriptor < 0 || write(descriptor, file.data(), file.size()) != size) std::abort();
  char path[32];
  std::snprintf(path, sizeof(path), "/proc/self/fd/%d", descriptor);
  CUmodule module = nullptr;
  if (cuModuleLoad(&module, path) == CUDA_SUCCESS) LaunchAll(module);
  if (absl::StartsWith(file, "!<arch>\n")) Link(kLibrary, path);
  if (absl::StartsWith(file,
                       "\x7f"
                       "ELF"))
    Link(kObject, path);
  close(descriptor);
}

}  // namespace
}  // namespace twinmmu::libcuda

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  twinmmu::libcuda::Try({reinterpret_cast<const char*>(data), size});
  return 0;
}
