// Libraries of PTX text, their kernels and variables.

#include <algorithm>

#include "conformance/runtime/runtime_kernels.h"
#include "conformance/runtime/runtime_world.h"

namespace random_runtime {
namespace {

// Two kernels and variables of each kind.
constexpr char kText[] = R"(.version 8.0
.target sm_90
.address_size 64
.visible .global .align 4 .u32 number = 7;
.visible .global .align 4 .u32 several[4] = {1, 2, 3, 4};
.visible .const .align 4 .u32 fixed = 11;
.visible .global .attribute(.managed) .align 4 .u32 shared_number = 8;
.visible .entry store(.param .u64 to, .param .u32 count, .param .u32 value) {
  .reg .b64 %to;
  .reg .b32 %count, %value, %more;
  .reg .pred %none;
  ld.param.u64 %to, [to];
  ld.param.u32 %count, [count];
  ld.param.u32 %value, [value];
  setp.eq.u32 %none, %count, 0;
  @%none ret;
  ld.global.u32 %more, [number];
  add.u32 %value, %value, %more;
  ld.const.u32 %more, [fixed];
  add.u32 %value, %value, %more;
  st.global.u32 [%to], %value;
  ret;
}
.visible .entry nothing(.param .u64 to, .param .u32 count, .param .u32 value) {
  ret;
}
)";

Objects<cudaLibrary_t> libraries{"l"};
Objects<cudaKernel_t> kernels{"k"};  // their kind: the library

void Load(RuntimeWorld& world) {
  if (libraries.size() >= 3) return;
  cudaLibrary_t library = nullptr;
  switch (world.Below(8)) {
    case 0:
      world.Say(cudaLibraryLoadData(nullptr, kText, nullptr, nullptr, 0, nullptr, nullptr, 0),
                "cudaLibraryLoadData", "null");
      return;
    case 1:
      world.Say(cudaLibraryLoadData(&library, nullptr, nullptr, nullptr, 0, nullptr, nullptr, 0),
                "cudaLibraryLoadData", "no text");
      return;
    case 2: {
      const char* const file = world.OneIn(2) ? "/nowhere" : nullptr;
      world.Say(cudaLibraryLoadFromFile(&library, file, nullptr, nullptr, 0, nullptr, nullptr, 0),
                "cudaLibraryLoadFromFile", file != nullptr);
      return;
    }
    default:
      if (world.Say(cudaLibraryLoadData(&library, kText, nullptr, nullptr, 0, nullptr, nullptr, 0),
                    "cudaLibraryLoadData")) {
        world.Gave(libraries.Add(library));
      }
  }
}

void Unload(RuntimeWorld& world) {
  if (libraries.empty()) return;
  if (world.OneIn(4)) {
    world.Say(cudaLibraryUnload(nullptr), "cudaLibraryUnload", "none");
    return;
  }
  const Object<cudaLibrary_t> library = world.One(libraries);
  if (!world.Say(cudaLibraryUnload(library.handle), "cudaLibraryUnload", library.name)) return;
  for (size_t i = kernels.size(); i-- > 0;) {
    if (kernels[i].kind == library.name) kernels.Remove(std::string(kernels[i].name));
  }
  libraries.Remove(library.name);
}

const char* AnyName(RuntimeWorld& world) {
  return world.Of({"store", "store", "store", "number", "several", "fixed", "shared_number",
                   "nothing", "unknown"});
}

void GetKernel(RuntimeWorld& world) {
  if (libraries.empty()) return;
  const Object<cudaLibrary_t>& library = world.One(libraries);
  const char* const name = world.OneIn(10) ? nullptr : AnyName(world);
  const bool none = world.OneIn(10);
  cudaKernel_t kernel = nullptr;
  if (!world.Say(cudaLibraryGetKernel(&kernel, none ? nullptr : library.handle, name),
                 "cudaLibraryGetKernel", none ? "none" : library.name.c_str(),
                 name == nullptr ? "null" : name)) {
    return;
  }
  const bool known = kernels.NameOf(kernel) != "unknown";
  world.Gave(known ? kernels.NameOf(kernel) : kernels.Add(kernel, library.name));
}

void AskLibrary(RuntimeWorld& world) {
  if (libraries.empty()) return;
  const Object<cudaLibrary_t>& library = world.One(libraries);
  unsigned count = 0;
  switch (world.Below(3)) {
    case 0:
      if (world.Say(cudaLibraryGetKernelCount(&count, library.handle), "cudaLibraryGetKernelCount",
                    library.name)) {
        world.Gave(count);
      }
      return;
    case 1: {
      const char* const name = AnyName(world);
      void* function = nullptr;
      world.Say(cudaLibraryGetUnifiedFunction(&function, library.handle, name),
                "cudaLibraryGetUnifiedFunction", library.name, name);
      return;
    }
    default: {
      cudaKernel_t found[4] = {};
      const unsigned room = world.Of({0u, 1u, 4u});
      if (!world.Say(cudaLibraryEnumerateKernels(found, room, library.handle),
                     "cudaLibraryEnumerateKernels", library.name, room)) {
        return;
      }
      // The order of kernels is the driver's business.
      std::vector<std::string> names;
      for (const cudaKernel_t kernel : found) {
        const char* name = nullptr;
        if (kernel == nullptr) continue;
        cudaFuncGetName(&name, reinterpret_cast<const void*>(kernel));
        names.push_back(name == nullptr ? "?" : name);
      }
      std::sort(names.begin(), names.end());
      world.Gave(names.size());
      for (const std::string& name : names) {
        if (room == 4) world.Gave(name);
      }
    }
  }
}

// Asked for, changed and read.
void UseVariable(RuntimeWorld& world) {
  if (libraries.empty()) return;
  const Object<cudaLibrary_t>& library = world.One(libraries);
  const char* const name = world.OneIn(12) ? nullptr : AnyName(world);
  const bool managed = world.OneIn(4);
  void* address = nullptr;
  size_t size = 0;
  const cudaError_t error = managed ? cudaLibraryGetManaged(&address, &size, library.handle, name)
                                    : cudaLibraryGetGlobal(&address, &size, library.handle, name);
  if (!world.Say(error, managed ? "cudaLibraryGetManaged" : "cudaLibraryGetGlobal", library.name,
                 name == nullptr ? "null" : name)) {
    return;
  }
  world.Gave(size);
  unsigned value = static_cast<unsigned>(world.Below(100));
  if (world.OneIn(2)) {
    world.Say(cudaMemcpy(address, &value, 4, cudaMemcpyHostToDevice), "cudaMemcpy", "to", name,
              value);
  } else if (world.Say(cudaMemcpy(&value, address, 4, cudaMemcpyDeviceToHost), "cudaMemcpy", "from",
                       name)) {
    world.Gave(value);
  }
}

void UseKernel(RuntimeWorld& world) {
  if (kernels.empty()) return;
  const Object<cudaKernel_t>& kernel = world.One(kernels);
  const void* const function = reinterpret_cast<const void*>(kernel.handle);
  if (world.OneIn(3)) {
    const char* name = nullptr;
    cudaFuncAttributes found = {};
    if (world.Say(cudaFuncGetName(&name, function), "cudaFuncGetName", kernel.name)) {
      world.Gave(name);
    }
    if (world.Say(cudaFuncGetAttributes(&found, function), "cudaFuncGetAttributes", kernel.name)) {
      world.Gave(found.maxThreadsPerBlock, found.sharedSizeBytes, found.maxDynamicSharedSizeBytes);
    }
    return;
  }
  Arguments arguments;
  FindArguments(world, &arguments);
  std::string stream_name;
  const cudaStream_t stream = StreamFor(world, &stream_name);
  const unsigned threads = world.Of({1u, 1u, 32u, 2000u});
  if (!world.Say(
          cudaLaunchKernel(function, {1, 1, 1}, {threads, 1, 1}, arguments.pointers, 0, stream),
          "cudaLaunchKernel", kernel.name, threads, stream_name, arguments.words)) {
    return;
  }
  unsigned word = 0;
  if (arguments.count == 0 || cudaDeviceSynchronize() != cudaSuccess) return;
  cudaMemcpy(&word, arguments.to, 4, cudaMemcpyDeviceToHost);
  world.Gave(word);
}

}  // namespace

Steps LibrarySteps() {
  return {{4, Load},       {1, Unload},      {7, GetKernel},
          {4, AskLibrary}, {6, UseVariable}, {7, UseKernel}};
}

}  // namespace random_runtime
