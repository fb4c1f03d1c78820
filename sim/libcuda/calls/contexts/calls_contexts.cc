// Primary and created contexts, and the stack of each thread.

#include <vector>

#include "sim/calls/arrays/texture_calls.h"
#include "sim/calls/executor/kernel_calls.h"
#include "sim/libcuda/calls/capturing.h"
#include "sim/libcuda/calls/contexts/green_contexts.h"
#include "sim/libcuda/calls/convert.h"
#include "sim/libcuda/calls/device_attributes.h"
#include "sim/libcuda/calls/enter.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/calls/references/references.h"

namespace twinmmu::libcuda {
namespace {

constexpr unsigned int kApiVersion = 3020;  // that every context of today's drivers has

// At most one way of waiting, and no unknown bits.
bool AreValidFlags(unsigned int flags) {
  const unsigned int waiting = flags & CU_CTX_SCHED_MASK;
  return (flags & ~CU_CTX_FLAGS_MASK) == 0 && (waiting & (waiting - 1)) == 0;
}

constexpr unsigned int kDumpsCores = 0x20;      // CU_CTX_COREDUMP_ENABLE
constexpr unsigned int kDumpsWhenAsked = 0x40;  // CU_CTX_USER_COREDUMP_ENABLE
constexpr unsigned int kOnlyWhenMade = CU_CTX_MAP_HOST | kDumpsCores | kDumpsWhenAsked;

// What a context that was made with them tells: of dumps, that there are some. Source: an H200 with
// driver 580.159.
unsigned int Told(unsigned int flags) {
  return (flags & kDumpsWhenAsked) == 0 ? flags : (flags & ~kDumpsWhenAsked) | kDumpsCores;
}

// Whether it maps host memory, and dumps cores, it was asked when it was made.
unsigned int WithSettable(unsigned int known, unsigned int flags) {
  return (known & kOnlyWhenMade) | (flags & ~kOnlyWhenMade);
}

ObjectKind KindOf(const LinearAllocation& memory) {
  switch (memory.kind) {
    case LinearKind::kPinned:
      return ObjectKind::kHostMemory;
    case LinearKind::kRegistered:
      return ObjectKind::kRegisteredMemory;
    case LinearKind::kDevice:
    case LinearKind::kManaged:
    case LinearKind::kModule:
    case LinearKind::kManagedVariables:
    case LinearKind::kPool:
    case LinearKind::kHostPool:
    case LinearKind::kManagedPool:
    case LinearKind::kForeign:
      break;
  }
  return ObjectKind::kMemory;
}

// What dies with a context. It needs no memory.
void FreeWhatBelongsTo(DriverState& driver, Context& context) {
  const auto forget = [&](const LinearAllocation& memory) {
    driver.report.RemoveObject(KindOf(memory), memory.range.base.value());
  };
  driver.simulator->linear().FreeOwnedBy(ToNumber(context.handle()), forget).IgnoreError();
  ForgetReferences(driver, context);
  driver.modules.modules.RemoveOf(context, [&](uint64_t module) {
    driver.executor.UnloadModule(Module(context.device, module)).IgnoreError();
  });
  driver.modules.functions.RemoveOf(
      context, [&](uint64_t function) { driver.modules.stepwise_launches.Remove(function); });
  ForgetCaptured(driver, context);
  driver.streams.legacy_streams.RemoveOf(context, [](uint64_t) {});
  driver.streams.of_threads.RemoveOf(context);
  driver.streams.streams.RemoveOf(context, [&](uint64_t stream) {
    driver.executor.DestroyStream(Stream(context.device, stream)).IgnoreError();
    driver.report.RemoveObject(ObjectKind::kStream, stream);
  });
  SparseArrays& arrays = **driver.simulator->sparse_arrays();
  driver.arrays.textures.RemoveOf(
      context, [&](uint64_t object) { driver.simulator->textures().Destroy(object); });
  driver.arrays.arrays.RemoveOf(context, [&](uint64_t array) {
    arrays.DestroyArray(Array(context.device, array)).IgnoreError();
    driver.report.RemoveObject(ObjectKind::kArray, array);
  });
  driver.arrays.mipmaps.RemoveOf(context, [&](uint64_t mipmap) {
    arrays.DestroyMipmappedArray(MipmappedArray(context.device, mipmap)).IgnoreError();
    driver.report.RemoveObject(ObjectKind::kMipmappedArray, mipmap);
  });
  driver.streams.events.RemoveOf(context, [&](uint64_t event) {
    ForgetCaptured(driver, ToPointer<CUevent>(event));
    driver.executor.DestroyEvent(Event(context.device, event)).IgnoreError();
    driver.report.RemoveObject(ObjectKind::kEvent, event);
  });
  if (!driver.contexts.AreAlive(context.device)) {
    const KernelCalls& kernels = driver.simulator->kernels();
    for (const Diagnostic& leak : kernels.HeapLeaks(context.device)) driver.report.Add(leak);
    driver.simulator->kernels().ForgetHeap(context.device).IgnoreError();
  }
}

// CUctxCigParam: a context of graphics, which the new one would share the device with.
struct SharedWithGraphics {
  int type = 0;
  void* data = nullptr;
};

// CUctxCreateParams
struct ContextParams {
  const void* affinities = nullptr;
  int affinity_count = 0;
  const SharedWithGraphics* graphics = nullptr;
};

// A context has all multiprocessors of its device, and shares it with no graphics. Measured on an
// H200 with driver 580.159, which takes a negative count for none.
DriverCode CheckParams(const ContextParams& params) {
  constexpr int kD3D12CommandQueue = 1;
  if (params.graphics != nullptr) {
    return params.graphics->type == kD3D12CommandQueue ? DriverCode::kNotSupported
                                                       : DriverCode::kInvalidValue;
  }
  if (params.affinity_count <= 0) return DriverCode::kSuccess;
  return params.affinities == nullptr ? DriverCode::kInvalidValue : kUnsupportedExecAffinity;
}

CUresult Create(const CallSite& site, CUcontext* context, const ContextParams& params,
                unsigned int flags, CUdevice dev) {
  return Enter(site, [&](DriverState& driver) {
    if (!driver.simulator->profile().HasDevice(dev)) return DriverCode::kInvalidDevice;
    if (context == nullptr) return NullPointer(site);
    const DriverCode possible = CheckParams(params);
    if (possible != DriverCode::kSuccess) return possible;
    if (!AreValidFlags(flags)) return DriverCode::kInvalidValue;
    const CUresult fault = FaultOf(site, driver);
    if (fault != cuda_abi::CUDA_SUCCESS) return static_cast<DriverCode>(fault);
    std::vector<StackedContext>& stack = ContextStack();
    stack.reserve(stack.size() + 1);
    Context& made = driver.contexts.Create(DeviceOrdinal(dev), Told(flags));
    stack.push_back({made.handle(), &made});
    driver.report.AddObject(ObjectKind::kContext, ToNumber(made.handle()), Bytes(0), dev);
    *context = made.handle();
    return DriverCode::kSuccess;
  });
}

// False: it is not alive any more.
bool Destroy(DriverState& driver, Context& created) {
  if (!driver.contexts.Destroy(created)) return false;
  driver.executor.SynchronizeDevice(created.device).IgnoreError();
  FreeWhatBelongsTo(driver, created);
  driver.report.RemoveObject(ObjectKind::kContext, ToNumber(created.handle()));
  std::vector<StackedContext>& stack = ContextStack();
  if (!stack.empty() && stack.back().context == &created) stack.pop_back();
  return true;
}

}  // namespace

bool Release(DriverState& driver, Context& primary) {
  bool last = false;
  if (!driver.contexts.Release(primary, &last)) return false;
  if (last) FreeWhatBelongsTo(driver, primary);
  return true;
}

// --- Primary contexts ----------------------------------------------------------------------------

extern "C" CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice dev) {
  const CallSite site = TWINMMU_HERE;
  return Enter(site, [&](DriverState& driver) {
    if (!driver.simulator->profile().HasDevice(dev)) return DriverCode::kInvalidDevice;
    if (context == nullptr) return NullPointer(site);
    Context& primary = driver.contexts.Primary(DeviceOrdinal(dev));
    driver.contexts.Retain(primary);
    *context = primary.handle();
    return DriverCode::kSuccess;
  });
}

extern "C" CUresult cuDevicePrimaryCtxRelease_v2(CUdevice dev) {
  return Enter(TWINMMU_HERE, [&](DriverState& driver) {
    if (!driver.simulator->profile().HasDevice(dev)) return DriverCode::kInvalidDevice;
    return Release(driver, driver.contexts.Primary(DeviceOrdinal(dev)))
               ? DriverCode::kSuccess
               : DriverCode::kInvalidContext;
  });
}
TWINMMU_ALIAS(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2);

extern "C" CUresult cuDevicePrimaryCtxReset_v2(CUdevice dev) {
  const CallSite site = TWINMMU_HERE;
  return Enter(site, [&](DriverState& driver) -> absl::Status {
    if (!driver.simulator->profile().HasDevice(dev)) {
      return MakeDriverStatus({DriverCode::kInvalidDevice, ErrorOrigin::kSimulator, site.name()},
                              "there is no such device");
    }
    Context& primary = driver.contexts.Primary(DeviceOrdinal(dev));
    bool was_alive = false;
    if (!driver.contexts.Reset(primary, &was_alive)) {
      return MakeDriverStatus({DriverCode::kNotPermitted, ErrorOrigin::kSimulator, site.name()},
                              "the primary context has green ones");
    }
    if (was_alive) FreeWhatBelongsTo(driver, primary);
    return absl::OkStatus();
  });
}
TWINMMU_ALIAS(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset_v2);

extern "C" CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned int flags) {
  return Enter(TWINMMU_HERE, [&](DriverState& driver) {
    if (!driver.simulator->profile().HasDevice(dev)) return DriverCode::kInvalidDevice;
    // It maps host memory as it is.
    if (!AreValidFlags(flags) || (flags & CU_CTX_MAP_HOST) != 0) return DriverCode::kInvalidValue;
    Context& primary = driver.contexts.Primary(DeviceOrdinal(dev));
    primary.primary_flags = flags;
    primary.flags = primary.alive ? WithSettable(primary.flags, flags) : Told(flags);
    return DriverCode::kSuccess;
  });
}
TWINMMU_ALIAS(cuDevicePrimaryCtxSetFlags, cuDevicePrimaryCtxSetFlags_v2);

extern "C" CUresult cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int* flags, int* active) {
  return Enter(TWINMMU_HERE, {flags, active}, [&](DriverState& driver) {
    if (!driver.simulator->profile().HasDevice(dev)) return DriverCode::kInvalidDevice;
    const Context& primary = driver.contexts.Primary(DeviceOrdinal(dev));
    *flags = primary.primary_flags;
    *active = primary.alive ? 1 : 0;
    return DriverCode::kSuccess;
  });
}

// --- Created contexts ----------------------------------------------------------------------------

extern "C" CUresult cuCtxCreate_v2(CUcontext* context, unsigned int flags, CUdevice dev) {
  return Create(TWINMMU_HERE, context, {}, flags, dev);
}
TWINMMU_ALIAS(cuCtxCreate, cuCtxCreate_v2);

extern "C" CUresult cuCtxCreate_v3(CUcontext* context, void* affinities, int count,
                                   unsigned int flags, CUdevice dev) {
  return Create(TWINMMU_HERE, context, {affinities, count}, flags, dev);
}

extern "C" CUresult cuCtxCreate_v4(CUcontext* context, void* params, unsigned int flags,
                                   CUdevice dev) {
  const auto* const given = static_cast<const ContextParams*>(params);
  return Create(TWINMMU_HERE, context, given == nullptr ? ContextParams() : *given, flags, dev);
}

extern "C" CUresult cuCtxDestroy_v2(CUcontext handle) {
  const CallSite site = TWINMMU_HERE;
  return Enter(site, {handle}, [&](DriverState& driver) {
    Context* context = nullptr;
    const DriverCode known = FindAlive(site, driver, handle, &context);
    if (known != DriverCode::kSuccess) return known;
    if (context->primary || context->whole != nullptr || !Destroy(driver, *context)) {
      return DriverCode::kInvalidContext;
    }
    return DriverCode::kSuccess;
  });
}
TWINMMU_ALIAS(cuCtxDestroy, cuCtxDestroy_v2);

// The older way to hold a context: what is created is held once. cuCtxDestroy does not count.
extern "C" CUresult cuCtxAttach(CUcontext* handle, unsigned int flags) {
  return EnterInAnyContext(TWINMMU_HERE, {handle}, [&](DriverState&, Context& context) {
    if (flags != 0) return DriverCode::kInvalidValue;
    ++context.attached;
    *handle = context.handle();
    return DriverCode::kSuccess;
  });
}

// Only of the current context. A primary one stays.
extern "C" CUresult cuCtxDetach(CUcontext handle) {
  return EnterInAnyContext(TWINMMU_HERE, {}, [&](DriverState& driver, Context& context) {
    if (context.handle() != handle) return DriverCode::kInvalidContext;
    const bool last = context.attached.fetch_sub(1) <= 0;
    if (!context.primary && last) Destroy(driver, context);
    return DriverCode::kSuccess;
  });
}

// --- The stack of the calling thread -------------------------------------------------------------

// The driver looks at what becomes current only when it is used.
extern "C" CUresult cuCtxPushCurrent_v2(CUcontext context) {
  return Enter(TWINMMU_HERE, {context}, [&](DriverState& driver) {
    ContextStack().push_back(driver.contexts.Stacked(context));
    return DriverCode::kSuccess;
  });
}
TWINMMU_ALIAS(cuCtxPushCurrent, cuCtxPushCurrent_v2);

extern "C" CUresult cuCtxPopCurrent_v2(CUcontext* context) {
  return Enter(TWINMMU_HERE, [&](DriverState&) {
    std::vector<StackedContext>& stack = ContextStack();
    if (stack.empty()) return DriverCode::kInvalidContext;
    if (context != nullptr) *context = stack.back().handle;
    stack.pop_back();
    return DriverCode::kSuccess;
  });
}
TWINMMU_ALIAS(cuCtxPopCurrent, cuCtxPopCurrent_v2);

extern "C" CUresult cuCtxSetCurrent(CUcontext context) {
  return Enter(TWINMMU_HERE, [&](DriverState& driver) {
    std::vector<StackedContext>& stack = ContextStack();
    if (!stack.empty()) stack.pop_back();
    if (context != nullptr) stack.push_back(driver.contexts.Stacked(context));
    return DriverCode::kSuccess;
  });
}

extern "C" CUresult cuCtxGetCurrent(CUcontext* context) {
  return Enter(TWINMMU_HERE, {context}, [&](DriverState&) {
    const std::vector<StackedContext>& stack = ContextStack();
    *context = stack.empty() ? nullptr : stack.back().handle;
    return DriverCode::kSuccess;
  });
}

// Also of a context that is dead.
static DriverCode DeviceOfCurrent(CUdevice* device) {
  const std::vector<StackedContext>& stack = ContextStack();
  if (stack.empty() || stack.back().context == nullptr) return DriverCode::kInvalidContext;
  *device = stack.back().context->device.value();
  return DriverCode::kSuccess;
}

extern "C" CUresult cuCtxGetDevice(CUdevice* device) {
  return Enter(TWINMMU_HERE, {device}, [&](DriverState&) { return DeviceOfCurrent(device); });
}

extern "C" CUresult cuCtxGetDevice_v2(CUdevice* device, CUcontext handle) {
  const CallSite site = TWINMMU_HERE;
  return Enter(site, {device}, [&](DriverState& driver) {
    // The current one may be destroyed.
    if (handle == nullptr && !ContextStack().empty()) return DeviceOfCurrent(device);
    Context* context = nullptr;
    const DriverCode known = FindAlive(site, driver, handle, &context);
    if (known == DriverCode::kSuccess) *device = context->device.value();
    return known;
  });
}

// --- What a context is like ----------------------------------------------------------------------

// Also of a context that is dead, whose flags are 0.
extern "C" CUresult cuCtxGetFlags(unsigned int* flags) {
  return Enter(TWINMMU_HERE, {flags}, [&](DriverState&) {
    const std::vector<StackedContext>& stack = ContextStack();
    if (stack.empty() || stack.back().context == nullptr) return DriverCode::kInvalidContext;
    const Context& context = *stack.back().context;
    const bool is_primary = context.primary || context.whole != nullptr;
    *flags = context.alive ? context.flags | (is_primary ? CU_CTX_MAP_HOST : 0) : 0;
    return DriverCode::kSuccess;
  });
}

extern "C" CUresult cuCtxSetFlags(unsigned int flags) {
  return EnterInAnyContext(TWINMMU_HERE, {}, [&](DriverState&, Context& context) {
    if (!AreValidFlags(flags)) return DriverCode::kInvalidValue;
    context.flags = WithSettable(context.flags, flags);
    return DriverCode::kSuccess;
  });
}

extern "C" CUresult cuCtxGetId(CUcontext handle, unsigned long long* id) {
  const CallSite site = TWINMMU_HERE;
  return Enter(site, {id}, [&](DriverState& driver) {
    Context* context = nullptr;
    const DriverCode known = FindAlive(site, driver, handle, &context);
    const CUresult fault = handle == nullptr ? FaultOf(site, driver) : CUDA_SUCCESS;
    if (known == DriverCode::kSuccess && fault != CUDA_SUCCESS) {
      return static_cast<DriverCode>(fault);
    }
    if (known == DriverCode::kSuccess) *id = context->id;
    const bool dead = context != nullptr && !context->alive;
    return dead ? DriverCode::kContextIsDestroyed : known;
  });
}

extern "C" CUresult cuCtxGetApiVersion(CUcontext handle, unsigned int* version) {
  const CallSite site = TWINMMU_HERE;
  return Enter(site, [&](DriverState& driver) {
    Context* context = nullptr;
    DriverCode known = FindAlive(site, driver, handle, &context);
    const CUresult fault = handle == nullptr ? FaultOf(site, driver) : CUDA_SUCCESS;
    if (known == DriverCode::kSuccess) known = static_cast<DriverCode>(fault);
    if (known == DriverCode::kSuccess) known = CheckNeeded(site, {version});
    if (known == DriverCode::kSuccess) *version = kApiVersion;
    return known;
  });
}

extern "C" CUresult cuCtxSynchronize() {
  return EnterInContext(TWINMMU_HERE, [&](DriverState& driver, Context& context) {
    const Context* const green = CurrentGreen();
    return Synchronize(driver, green != nullptr ? *green : context);
  });
}

extern "C" CUresult cuCtxSynchronize_v2(CUcontext handle) {
  const CallSite site = TWINMMU_HERE;
  return Enter(site, [&](DriverState& driver) {
    Context* context = nullptr;
    const DriverCode known = FindAlive(site, driver, handle, &context);
    if (known != DriverCode::kSuccess) return ToResult(known);
    const Context* const green = handle == nullptr ? CurrentGreen() : nullptr;
    return Synchronize(driver, green != nullptr ? *green : *context);
  });
}

}  // namespace twinmmu::libcuda
