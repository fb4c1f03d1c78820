// What is found by name, the names of errors, and green contexts.

#include <algorithm>

#include "conformance/abi/abi_fixtures.h"
#include "conformance/abi/random/program_world.h"

namespace twinmmu::abi {
namespace {

constexpr int kMultiprocessors = 1;  // CUdevResourceType

// CUdevResource
struct Resource {
  int type;
  unsigned char of_driver[92];
  unsigned count;
  unsigned smallest;
  unsigned alignment;
  unsigned char rest[36];
};

inline constexpr Function<CUresult(CUdevice, Resource*, int)> get_of_device(
    "cuDeviceGetDevResource");
inline constexpr Function<CUresult(void*, Resource*, int)> get_of_context("cuCtxGetDevResource");
inline constexpr Function<CUresult(void*, Resource*, int)> get_of_green("cuGreenCtxGetDevResource");
inline constexpr Function<CUresult(Resource*, unsigned*, const Resource*, Resource*, unsigned,
                                   unsigned)>
    split("cuDevSmResourceSplitByCount");
inline constexpr Function<CUresult(void**, const Resource*, unsigned)> describe(
    "cuDevResourceGenerateDesc");
inline constexpr Function<CUresult(void**, void*, CUdevice, unsigned)> create("cuGreenCtxCreate");
inline constexpr Function<CUresult(void*)> destroy("cuGreenCtxDestroy");
inline constexpr Function<CUresult(CUcontext*, void*)> from_green("cuCtxFromGreenCtx");
inline constexpr Function<CUresult(CUstream*, void*, unsigned, int)> create_stream(
    "cuGreenCtxStreamCreate");
inline constexpr Function<CUresult(CUstream, void**)> get_green("cuStreamGetGreenCtx");
inline constexpr Function<CUresult(void*, CUevent)> record("cuGreenCtxRecordEvent");
inline constexpr Function<CUresult(void*, CUevent)> wait("cuGreenCtxWaitEvent");

void Look(ProgramWorld& world) {
  const char* const name = world.Of({"cuMemAlloc",
                                     "cuMemAlloc_v2",
                                     "cuMemMap",
                                     "cuInit",
                                     "cuCtxCreate",
                                     "cuCtxCreate_v3",
                                     "cuGetProcAddress",
                                     "cuEventElapsedTime",
                                     "cuMemcpyHtoDAsync",
                                     "cuMemcpyHtoDAsync_v2",
                                     "cuMemcpyHtoDAsync_ptsz",
                                     "cuStreamBatchMemOp",
                                     "cuStreamWaitValue32",
                                     "cuLaunchKernelEx",
                                     "cuLibraryLoadData",
                                     "cuKernelGetParamInfo",
                                     "cuGreenCtxCreate",
                                     "cuMulticastCreate",
                                     "cuDevicePrimaryCtxRelease",
                                     "cuGraphInstantiate",
                                     "cuStreamBeginCapture",
                                     "cuMemAdvise",
                                     "cuModuleGetGlobal",
                                     "cuLinkCreate",
                                     "cuTexRefSetAddress",
                                     "cuNope",
                                     "",
                                     "cumemmap",
                                     "cudaMalloc"});
  const int version =
      world.Of({0,     1000,  2000,  3010,  3020,  4000,  6050,  7000,  10010, 10020,
                11000, 11040, 11070, 12000, 12000, 12030, 12050, 12080, -1,    99000});
  const cuuint64_t flags = world.Of<cuuint64_t>({0, 0, 0, 1, 2, 2, 3, 4});
  void* function = nullptr;
  auto found = static_cast<CUdriverProcAddressQueryResult>(3);
  if (world.Say(cuGetProcAddress(name, &function, version, flags, &found), "cuGetProcAddress",
                "'" + std::string(name) + "'", version, flags)) {
    world.Gave(int(found), function != nullptr);
  }
}

void NameError(ProgramWorld& world) {
  const int code =
      world.OneIn(2)
          ? world.Of({0, 1, 2, 100, 200, 209, 300, 400, 500, 600, 700, 719, 801, 999, -1})
          : static_cast<int>(world.Below(1010));
  const char* text = nullptr;
  if (world.OneIn(2)) {
    if (world.Say(cuGetErrorName(static_cast<CUresult>(code), &text), "cuGetErrorName", code)) {
      world.Gave(text);
    }
  } else if (world.Say(cuGetErrorString(static_cast<CUresult>(code), &text), "cuGetErrorString",
                       code)) {
    world.Gave(text);
  }
}

void AskResource(ProgramWorld& world) {
  Resource found = {};
  const int type = world.Of({1, 1, 1, 0, -1});
  const CUdevice device = world.OneIn(5) ? -1 : 0;
  if (world.OneIn(2)) {
    if (world.Say(get_of_device(device, &found, type), "cuDeviceGetDevResource", device, type)) {
      world.Gave(found.type, found.count, found.smallest, found.alignment);
    }
  } else if (world.Say(get_of_context(world.context, &found, type), "cuCtxGetDevResource", type)) {
    world.Gave(found.type, found.count, found.smallest, found.alignment);
  }
}

void Split(ProgramWorld& world) {
  Resource all = {};
  if (get_of_device(0, &all, kMultiprocessors) != CUDA_SUCCESS) return;
  Resource group[2] = {};
  Resource rest = {};
  const bool counts_only = world.OneIn(4);
  unsigned groups = counts_only ? 0 : world.Of({1u, 1u, 2u, 0u});
  const unsigned wanted = groups;
  const unsigned flags = world.Of({0u, 0u, 0u, 1u, 3u});
  const unsigned least = world.Of({8u, 16u, 17u, 32u, 64u, 1000u});
  if (!world.Say(split(counts_only ? nullptr : group, &groups, &all, counts_only ? nullptr : &rest,
                       flags, least),
                 "cuDevSmResourceSplitByCount", wanted, flags, least, counts_only)) {
    return;
  }
  world.Gave(groups, rest.type);
  if (!counts_only) world.Gave(group[0].count, rest.type != 0 ? rest.count : 0);
}

// What a green context is used for before it is gone.
void UseGreen(ProgramWorld& world, void* green, CUcontext as_context) {
  Resource found = {};
  CUstream stream = nullptr;
  CUcontext context = nullptr;
  CUdevice device = -1;
  void* its = nullptr;
  if (world.Say(get_of_green(green, &found, kMultiprocessors), "cuGreenCtxGetDevResource")) {
    world.Gave(found.count, found.smallest);
  }
  const unsigned flags = world.Of({1u, 1u, 0u, 2u});
  const int priority = world.Of({0, -3});
  if (world.Say(create_stream(&stream, green, flags, priority), "cuGreenCtxStreamCreate", flags,
                priority)) {
    if (world.Say(get_green(stream, &its), "cuStreamGetGreenCtx")) world.Gave(its == green);
    if (world.Say(cuStreamGetCtx(stream, &context), "cuStreamGetCtx")) {
      world.Gave(context == as_context);
    }
    if (!world.blocks.empty()) {
      const RandomBlock part = world.Part();
      world.Say(cuMemsetD8Async(part.base, 9, part.size, stream), "cuMemsetD8Async", part.name,
                part.size);
    }
    world.Say(cuStreamSynchronize(stream), "cuStreamSynchronize");
    world.Say(cuStreamDestroy(stream), "cuStreamDestroy");
  }
  CUevent event = nullptr;
  if (world.Say(cuEventCreate(&event, 0), "cuEventCreate", 0)) {
    world.Say(record(green, event), "cuGreenCtxRecordEvent");
    world.Say(wait(green, event), "cuGreenCtxWaitEvent");
    world.Say(cuEventSynchronize(event), "cuEventSynchronize");
    world.Say(cuEventDestroy(event), "cuEventDestroy");
  }
  world.Say(cuCtxSetCurrent(as_context), "cuCtxSetCurrent", "green");
  if (world.Say(cuCtxGetDevice(&device), "cuCtxGetDevice")) world.Gave(device);
  world.Say(cuCtxDestroy(as_context), "cuCtxDestroy", "green");
  world.Say(cuCtxSetCurrent(world.context), "cuCtxSetCurrent", "primary");
  cuCtxSynchronize();
}

void Green(ProgramWorld& world) {
  Resource all = {};
  Resource group = {};
  unsigned groups = 1;
  void* description = nullptr;
  void* green = nullptr;
  CUcontext as_context = nullptr;
  const unsigned least = world.Of({8u, 16u, 32u});
  if (get_of_device(0, &all, kMultiprocessors) != CUDA_SUCCESS || all.count < 32 ||
      split(&group, &groups, &all, nullptr, 0, least) != CUDA_SUCCESS) {
    return;
  }
  if (!world.Say(describe(&description, &group, 1), "cuDevResourceGenerateDesc", least)) return;
  const unsigned flags = world.Of({1u, 1u, 1u, 0u, 3u});
  const CUdevice device = world.OneIn(8) ? -1 : 0;
  if (!world.Say(create(&green, description, device, flags), "cuGreenCtxCreate", device, flags)) {
    return;
  }
  if (world.Say(from_green(&as_context, green), "cuCtxFromGreenCtx")) {
    UseGreen(world, green, as_context);
  }
  world.Say(destroy(green), "cuGreenCtxDestroy");
}

}  // namespace

RandomSteps GreenContextSteps() { return {{2, AskResource}, {2, Split}, {2, Green}}; }

RandomSteps SymbolSteps() { return {{4, Look}, {3, NameError}}; }

}  // namespace twinmmu::abi
