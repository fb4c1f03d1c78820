// Contexts beside the primary one, and the stack of them. Each step ends as it has begun, with the
// primary context alone on the stack.

#include <algorithm>

#include "conformance/abi/abi_fixtures.h"
#include "conformance/abi/random/program_world.h"

namespace twinmmu::abi {
namespace {

constexpr size_t kMostContexts = 2;
constexpr int kAll = 8;

inline constexpr Function<CUresult(CUcontext*, void*, int, unsigned, CUdevice)> create_third(
    "cuCtxCreate_v3");
inline constexpr Function<CUresult(CUcontext*, void*, unsigned, CUdevice)> create_fourth(
    "cuCtxCreate_v4");
inline constexpr Function<CUresult(CUcontext*, unsigned)> attach("cuCtxAttach");
inline constexpr Function<CUresult(CUcontext)> detach("cuCtxDetach");
using WithEvent = Function<CUresult(CUcontext, CUevent)>;
inline constexpr WithEvent record_event("cuCtxRecordEvent");
inline constexpr WithEvent wait_event("cuCtxWaitEvent");
inline constexpr Function<CUresult(int*, int)> get_affinity("cuCtxGetExecAffinity");

void Restore(ProgramWorld& world) {
  while (cuCtxPopCurrent(nullptr) == CUDA_SUCCESS) {
  }
  cuCtxPushCurrent(world.context);
}

std::string NameOf(const ProgramWorld& world, CUcontext context) {
  return context == world.context ? "primary" : world.other_contexts.NameOf(context);
}

// The primary one where there is no other.
CUcontext AnyContext(ProgramWorld& world) {
  if (world.other_contexts.empty() || world.OneIn(3)) return world.context;
  return world.One(world.other_contexts).handle;
}

void Create(ProgramWorld& world) {
  if (world.other_contexts.size() >= kMostContexts) return;
  const unsigned flags = world.Of({0u, 0u, 1u, 2u, 4u, 8u, 16u, 3u, 0x80000000u});
  const CUdevice device = world.OneIn(6) ? 99 : 0;
  CUcontext context = nullptr;
  bool made = false;
  switch (world.Below(3)) {
    case 0:
      made = world.Say(cuCtxCreate(&context, flags, device), "cuCtxCreate", flags, device);
      break;
    case 1:
      made = world.Say(create_third(&context, nullptr, 0, flags, device), "cuCtxCreate_v3", flags,
                       device);
      break;
    default:
      made = world.Say(create_fourth(&context, nullptr, flags, device), "cuCtxCreate_v4", flags,
                       device);
  }
  if (!made) return;
  world.Gave(world.other_contexts.Add(context));
  CUcontext current = nullptr;
  if (world.Say(cuCtxGetCurrent(&current), "cuCtxGetCurrent")) world.Gave(NameOf(world, current));
  if (world.Say(cuCtxPopCurrent(&current), "cuCtxPopCurrent")) world.Gave(NameOf(world, current));
}

void Destroy(ProgramWorld& world) {
  if (world.other_contexts.empty() || world.OneIn(4)) {
    const bool none = world.OneIn(2);
    world.Say(cuCtxDestroy(none ? nullptr : world.context), "cuCtxDestroy",
              none ? "none" : "primary");
    return;
  }
  const auto context = world.One(world.other_contexts);
  const bool current = world.OneIn(2);  // then it leaves the stack
  if (current) world.Say(cuCtxPushCurrent(context.handle), "cuCtxPushCurrent", context.name);
  if (world.Say(cuCtxDestroy(context.handle), "cuCtxDestroy", context.name)) {
    world.other_contexts.Remove(context.name);
  }
  CUcontext now = nullptr;
  if (world.Say(cuCtxGetCurrent(&now), "cuCtxGetCurrent")) world.Gave(NameOf(world, now));
  Restore(world);
}

void UseStack(ProgramWorld& world) {
  for (size_t i = 1 + world.Below(kAll); i-- > 0;) {
    const CUcontext context = AnyContext(world);
    const std::string name = NameOf(world, context);
    CUcontext now = nullptr;
    CUdevice device = -1;
    switch (world.Below(7)) {
      case 0:
      case 1:
        world.Say(cuCtxPushCurrent(context), "cuCtxPushCurrent", name);
        break;
      case 2:
        world.Say(cuCtxSetCurrent(context), "cuCtxSetCurrent", name);
        break;
      case 3:
        if (world.OneIn(3)) {
          world.Say(cuCtxPushCurrent(nullptr), "cuCtxPushCurrent", "none");
        } else {
          world.Say(cuCtxSetCurrent(nullptr), "cuCtxSetCurrent", "none");
        }
        break;
      case 4:
        if (world.Say(cuCtxPopCurrent(&now), "cuCtxPopCurrent")) world.Gave(NameOf(world, now));
        break;
      case 5:
        if (world.Say(cuCtxGetDevice(&device), "cuCtxGetDevice")) world.Gave(device);
        break;
      default:
        if (world.Say(cuCtxGetCurrent(&now), "cuCtxGetCurrent")) world.Gave(NameOf(world, now));
    }
  }
  Restore(world);
}

void AskContext(ProgramWorld& world) {
  const CUcontext context = AnyContext(world);
  const std::string name = NameOf(world, context);
  unsigned long long id = 0;
  unsigned long long of_primary = 0;
  unsigned version = 0;
  switch (world.Below(3)) {
    case 0: {
      const CUresult result = cuCtxGetId(context, &id);
      cuCtxGetId(world.context, &of_primary);
      if (world.Say(result, "cuCtxGetId", name)) world.Gave(id == of_primary);
      return;
    }
    case 1:
      if (world.Say(cuCtxGetApiVersion(context, &version), "cuCtxGetApiVersion", name)) {
        world.Gave(version);
      }
      return;
    default: {
      int affinity[2] = {-1, -1};
      const int type = world.Of({0, 0, 1, -1});
      if (world.Say(get_affinity(affinity, type), "cuCtxGetExecAffinity", type)) {
        world.Gave(affinity[0], affinity[1]);
      }
    }
  }
}

// What the current context says of itself, and what is made in it and gone again.
void UseCurrent(ProgramWorld& world) {
  unsigned flags = 0;
  size_t size = 0;
  CUdeviceptr memory = 0;
  CUstream stream = nullptr;
  CUcontext context = nullptr;
  uint32_t word = 0;
  const unsigned wanted = world.Of({0u, 1u, 2u, 4u, 4u, 3u, 8u, 16u, 0x80000000u});
  switch (world.Below(6)) {
    case 0:
      if (world.Say(cuCtxGetFlags(&flags), "cuCtxGetFlags")) world.Gave(flags);
      return;
    case 1:
      world.Say(cuCtxSetFlags(wanted), "cuCtxSetFlags", wanted);
      return;
    case 2:
      world.Say(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, wanted * 100 % 4096), "cuCtxSetLimit",
                wanted * 100 % 4096);
      if (world.Say(cuCtxGetLimit(&size, CU_LIMIT_STACK_SIZE), "cuCtxGetLimit")) world.Gave(size);
      return;
    case 3:
      if (!world.Say(cuMemAlloc(&memory, 4096), "cuMemAlloc", 4096)) return;
      world.Say(cuMemsetD32(memory, wanted, 1024), "cuMemsetD32", wanted);
      if (world.Say(cuMemcpyDtoH(&word, memory + 4092, 4), "cuMemcpyDtoH")) world.Gave(word);
      if (world.Say(cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, memory),
                    "cuPointerGetAttribute", "CONTEXT")) {
        world.Gave(NameOf(world, context));
      }
      world.Say(cuMemFree(memory), "cuMemFree");
      return;
    case 4:
      if (!world.Say(cuStreamCreate(&stream, 1), "cuStreamCreate", 1)) return;
      if (world.Say(cuStreamGetCtx(stream, &context), "cuStreamGetCtx")) {
        world.Gave(NameOf(world, context));
      }
      world.Say(cuStreamDestroy(stream), "cuStreamDestroy");
      return;
    default:
      if (world.Say(cuStreamGetCtx(nullptr, &context), "cuStreamGetCtx", "none")) {
        world.Gave(NameOf(world, context));
      }
  }
}

// Objects of the primary context while another is current.
void UseFromOutside(ProgramWorld& world) {
  const CUstream stream = world.AnyStream();
  const std::string name = world.streams.NameOf(stream);
  CUcontext context = nullptr;
  if (stream != nullptr) {
    world.Say(cuStreamSynchronize(stream), "cuStreamSynchronize", name);
    if (world.Say(cuStreamGetCtx(stream, &context), "cuStreamGetCtx", name)) {
      world.Gave(NameOf(world, context));
    }
  }
  if (world.events.empty()) return;
  const auto& event = world.One(world.events);
  if (event.kind == kShared) return;
  world.Say(cuEventRecord(event.handle, nullptr), "cuEventRecord", event.name, "none");
  world.Say(cuStreamWaitEvent(nullptr, event.handle, 0), "cuStreamWaitEvent", "none", event.name);
  world.Say(cuEventSynchronize(event.handle), "cuEventSynchronize", event.name);
  world.Say(cuEventQuery(event.handle), "cuEventQuery", event.name);
}

void Visit(ProgramWorld& world) {
  if (world.other_contexts.empty()) return UseCurrent(world);
  const auto& context = world.One(world.other_contexts);
  if (!world.Say(cuCtxPushCurrent(context.handle), "cuCtxPushCurrent", context.name)) return;
  for (size_t i = 1 + world.Below(3); i-- > 0;) UseCurrent(world);
  if (world.OneIn(3)) UseFromOutside(world);
  if (world.OneIn(4)) {
    CUcontext attached = nullptr;
    const unsigned flags = world.OneIn(3) ? 1 : 0;
    if (world.Say(attach(&attached, flags), "cuCtxAttach", flags)) {
      world.Gave(NameOf(world, attached));
      world.Say(detach(attached), "cuCtxDetach");
    }
  }
  world.Say(cuCtxSynchronize(), "cuCtxSynchronize");
  Restore(world);
}

// Events of all streams of a context.
void UseEvent(ProgramWorld& world) {
  if (world.events.empty()) return;
  const auto& event = world.One(world.events);
  const bool no_context = world.OneIn(8);
  const bool no_event = world.OneIn(8) && !no_context;
  const CUcontext context = no_context ? nullptr : AnyContext(world);
  const std::string name = no_context ? "none" : NameOf(world, context);
  const CUevent handle = no_event ? nullptr : event.handle;
  const std::string event_name = no_event ? "none" : event.name;
  if (event.kind == kShared && context != world.context) return;
  if (world.OneIn(2)) {
    world.Say(record_event(context, handle), "cuCtxRecordEvent", name, event_name);
  } else {
    world.Say(wait_event(context, handle), "cuCtxWaitEvent", name, event_name);
  }
}

void UsePrimary(ProgramWorld& world) {
  const CUdevice device = world.OneIn(6) ? 99 : 0;
  const unsigned wanted = world.Of({0u, 1u, 2u, 4u, 3u, 8u, 16u, 0x80000000u});
  CUcontext context = nullptr;
  unsigned flags = 0;
  int active = 0;
  switch (world.Below(3)) {
    case 0:
      if (world.Say(cuDevicePrimaryCtxGetState(device, &flags, &active),
                    "cuDevicePrimaryCtxGetState", device)) {
        world.Gave(flags, active);
      }
      return;
    case 1:
      world.Say(cuDevicePrimaryCtxSetFlags(device, wanted), "cuDevicePrimaryCtxSetFlags", device,
                wanted);
      return;
    default:
      if (world.Say(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain",
                    device)) {
        world.Gave(NameOf(world, context));
        world.Say(cuDevicePrimaryCtxRelease(device), "cuDevicePrimaryCtxRelease", device);
      }
  }
}

}  // namespace

RandomSteps ContextStackSteps() {
  return {{4, Create}, {1, Destroy},  {5, UseStack},  {6, AskContext},
          {8, Visit},  {5, UseEvent}, {5, UsePrimary}};
}

}  // namespace twinmmu::abi
