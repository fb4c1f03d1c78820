// Primary and created contexts, and the stack of each thread.

#include <vector>

#include "sim/libcuda/calls/convert.h"
#include "sim/libcuda/calls/enter.h"
#include "sim/libcuda/calls/entry_points.h"

namespace twinmmu::libcuda {
namespace {

constexpr unsigned int kApiVersion = 3020;  // that every context of today's drivers has

bool Exists(const Machine& machine, CUdevice dev) {
  return dev >= 0 && dev < machine.simulator->profile().device_count();
}

// At most one way of waiting, and no unknown bits.
bool AreValidFlags(unsigned int flags) {
  const unsigned int waiting = flags & CU_CTX_SCHED_MASK;
  return (flags & ~CU_CTX_FLAGS_MASK) == 0 && (waiting & (waiting - 1)) == 0;
}

ObjectKind KindOf(const PlainAllocation& memory) {
  switch (memory.kind) {
    case PlainKind::kPinned:
      return ObjectKind::kHostMemory;
    case PlainKind::kRegistered:
      return ObjectKind::kRegisteredMemory;
    case PlainKind::kDevice:
    case PlainKind::kModule:
      break;
  }
  return ObjectKind::kMemory;
}

// What dies with a context.
void FreeWhatBelongsTo(Machine& machine, Context& context) {
  const auto freed = machine.simulator->plain().FreeOwnedBy(ToNumber(context.handle()));
  for (const PlainAllocation& memory : freed.value_or(std::vector<PlainAllocation>())) {
    machine.report.RemoveObject(KindOf(memory), memory.range.base.value());
  }
  for (const uint64_t module : machine.modules.modules.RemoveOf(context)) {
    machine.executor.UnloadModule(Module(context.device, module)).IgnoreError();
  }
  machine.modules.functions.RemoveOf(context);
  for (const uint64_t stream : machine.streams.streams.RemoveOf(context)) {
    machine.executor.DestroyStream(Stream(context.device, stream)).IgnoreError();
    machine.report.RemoveObject(ObjectKind::kStream, stream);
  }
  SparseArrays& arrays = **machine.simulator->sparse_arrays();
  for (const uint64_t array : machine.arrays.arrays.RemoveOf(context)) {
    arrays.DestroyArray(Array(context.device, array)).IgnoreError();
    machine.report.RemoveObject(ObjectKind::kArray, array);
  }
  for (const uint64_t mipmap : machine.arrays.mipmaps.RemoveOf(context)) {
    arrays.DestroyMipmappedArray(MipmappedArray(context.device, mipmap)).IgnoreError();
    machine.report.RemoveObject(ObjectKind::kMipmappedArray, mipmap);
  }
  for (const uint64_t event : machine.streams.events.RemoveOf(context)) {
    machine.executor.DestroyEvent(Event(context.device, event)).IgnoreError();
    machine.report.RemoveObject(ObjectKind::kEvent, event);
  }
}

CUresult Create(const CallSite& site, CUcontext* context, unsigned int flags, CUdevice dev) {
  return Enter(site, [&](Machine& machine) {
    if (!Exists(machine, dev)) return DriverCode::kInvalidDevice;
    if (context == nullptr) return NullPointer(site);
    if (!AreValidFlags(flags)) return DriverCode::kInvalidValue;
    std::vector<StackedContext>& stack = ContextStack();
    stack.reserve(stack.size() + 1);
    Context& made = machine.contexts.Create(DeviceOrdinal(dev), flags);
    stack.push_back({made.handle(), &made});
    machine.report.AddObject(ObjectKind::kContext, ToNumber(made.handle()), Bytes(0), dev);
    *context = made.handle();
    return DriverCode::kSuccess;
  });
}

}  // namespace

// --- Primary contexts ----------------------------------------------------------------------------

extern "C" CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice dev) {
  const CallSite site = TWINMMU_HERE;
  return Enter(site, [&](Machine& machine) {
    if (!Exists(machine, dev)) return DriverCode::kInvalidDevice;
    if (context == nullptr) return NullPointer(site);
    Context& primary = machine.contexts.Primary(DeviceOrdinal(dev));
    machine.contexts.Retain(primary);
    *context = primary.handle();
    return DriverCode::kSuccess;
  });
}

extern "C" CUresult cuDevicePrimaryCtxRelease_v2(CUdevice dev) {
  return Enter(TWINMMU_HERE, [&](Machine& machine) {
    if (!Exists(machine, dev)) return DriverCode::kInvalidDevice;
    Context& primary = machine.contexts.Primary(DeviceOrdinal(dev));
    bool last = false;
    if (!machine.contexts.Release(primary, &last)) return DriverCode::kInvalidContext;
    if (last) FreeWhatBelongsTo(machine, primary);
    return DriverCode::kSuccess;
  });
}
TWINMMU_ALIAS(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2);

extern "C" CUresult cuDevicePrimaryCtxReset_v2(CUdevice dev) {
  return Enter(TWINMMU_HERE, [&](Machine& machine) {
    if (!Exists(machine, dev)) return DriverCode::kInvalidDevice;
    Context& primary = machine.contexts.Primary(DeviceOrdinal(dev));
    if (machine.contexts.Reset(primary)) FreeWhatBelongsTo(machine, primary);
    return DriverCode::kSuccess;
  });
}
TWINMMU_ALIAS(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset_v2);

extern "C" CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned int flags) {
  return Enter(TWINMMU_HERE, [&](Machine& machine) {
    if (!Exists(machine, dev)) return DriverCode::kInvalidDevice;
    if (!AreValidFlags(flags)) return DriverCode::kInvalidValue;
    machine.contexts.Primary(DeviceOrdinal(dev)).flags = flags;
    return DriverCode::kSuccess;
  });
}
TWINMMU_ALIAS(cuDevicePrimaryCtxSetFlags, cuDevicePrimaryCtxSetFlags_v2);

extern "C" CUresult cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int* flags, int* active) {
  return Enter(TWINMMU_HERE, {flags, active}, [&](Machine& machine) {
    if (!Exists(machine, dev)) return DriverCode::kInvalidDevice;
    const Context& primary = machine.contexts.Primary(DeviceOrdinal(dev));
    *flags = primary.flags;
    *active = primary.alive ? 1 : 0;
    return DriverCode::kSuccess;
  });
}

// --- Created contexts ----------------------------------------------------------------------------

extern "C" CUresult cuCtxCreate_v2(CUcontext* context, unsigned int flags, CUdevice dev) {
  return Create(TWINMMU_HERE, context, flags, dev);
}
TWINMMU_ALIAS(cuCtxCreate, cuCtxCreate_v2);

// Nothing here runs on multiprocessors that affinity could choose.
extern "C" CUresult cuCtxCreate_v3(CUcontext* context, void* /*affinity*/, int /*count*/,
                                   unsigned int flags, CUdevice dev) {
  return Create(TWINMMU_HERE, context, flags, dev);
}

extern "C" CUresult cuCtxCreate_v4(CUcontext* context, void* /*parameters*/, unsigned int flags,
                                   CUdevice dev) {
  return Create(TWINMMU_HERE, context, flags, dev);
}

extern "C" CUresult cuCtxDestroy_v2(CUcontext handle) {
  const CallSite site = TWINMMU_HERE;
  return Enter(site, {handle}, [&](Machine& machine) {
    Context* context = nullptr;
    const DriverCode known = FindAlive(site, machine, handle, &context);
    if (known != DriverCode::kSuccess) return known;
    if (context->primary || !machine.contexts.Destroy(*context)) return DriverCode::kInvalidContext;
    machine.executor.SynchronizeDevice(context->device).IgnoreError();
    FreeWhatBelongsTo(machine, *context);
    machine.report.RemoveObject(ObjectKind::kContext, ToNumber(handle));
    std::vector<StackedContext>& stack = ContextStack();
    if (!stack.empty() && stack.back().context == context) stack.pop_back();
    return DriverCode::kSuccess;
  });
}
TWINMMU_ALIAS(cuCtxDestroy, cuCtxDestroy_v2);

// --- The stack of the calling thread -------------------------------------------------------------

// The driver looks at what becomes current only when it is used.
extern "C" CUresult cuCtxPushCurrent_v2(CUcontext context) {
  return Enter(TWINMMU_HERE, {context}, [&](Machine& machine) {
    ContextStack().push_back(machine.contexts.Stacked(context));
    return DriverCode::kSuccess;
  });
}
TWINMMU_ALIAS(cuCtxPushCurrent, cuCtxPushCurrent_v2);

extern "C" CUresult cuCtxPopCurrent_v2(CUcontext* context) {
  return Enter(TWINMMU_HERE, [&](Machine&) {
    std::vector<StackedContext>& stack = ContextStack();
    if (stack.empty()) return DriverCode::kInvalidContext;
    if (context != nullptr) *context = stack.back().handle;
    stack.pop_back();
    return DriverCode::kSuccess;
  });
}
TWINMMU_ALIAS(cuCtxPopCurrent, cuCtxPopCurrent_v2);

extern "C" CUresult cuCtxSetCurrent(CUcontext context) {
  return Enter(TWINMMU_HERE, [&](Machine& machine) {
    std::vector<StackedContext>& stack = ContextStack();
    if (!stack.empty()) stack.pop_back();
    if (context != nullptr) stack.push_back(machine.contexts.Stacked(context));
    return DriverCode::kSuccess;
  });
}

extern "C" CUresult cuCtxGetCurrent(CUcontext* context) {
  return Enter(TWINMMU_HERE, {context}, [&](Machine&) {
    const std::vector<StackedContext>& stack = ContextStack();
    *context = stack.empty() ? nullptr : stack.back().handle;
    return DriverCode::kSuccess;
  });
}

// Also of a context that is dead.
extern "C" CUresult cuCtxGetDevice(CUdevice* device) {
  return Enter(TWINMMU_HERE, {device}, [&](Machine&) {
    const std::vector<StackedContext>& stack = ContextStack();
    if (stack.empty() || stack.back().context == nullptr) return DriverCode::kInvalidContext;
    *device = stack.back().context->device.value();
    return DriverCode::kSuccess;
  });
}

extern "C" CUresult cuCtxGetDevice_v2(CUdevice* device, CUcontext handle) {
  const CallSite site = TWINMMU_HERE;
  return Enter(site, {device}, [&](Machine& machine) {
    Context* context = nullptr;
    const DriverCode known = FindAlive(site, machine, handle, &context);
    if (known == DriverCode::kSuccess) *device = context->device.value();
    return known;
  });
}

// --- What a context is like ----------------------------------------------------------------------

// Also of a context that is dead, whose flags are 0.
extern "C" CUresult cuCtxGetFlags(unsigned int* flags) {
  return Enter(TWINMMU_HERE, {flags}, [&](Machine&) {
    const std::vector<StackedContext>& stack = ContextStack();
    if (stack.empty() || stack.back().context == nullptr) return DriverCode::kInvalidContext;
    const Context& context = *stack.back().context;
    *flags = context.alive ? context.flags | (context.primary ? CU_CTX_MAP_HOST : 0) : 0;
    return DriverCode::kSuccess;
  });
}

extern "C" CUresult cuCtxSetFlags(unsigned int flags) {
  return EnterInContext(TWINMMU_HERE, [&](Machine&, Context& context) {
    if (!AreValidFlags(flags)) return DriverCode::kInvalidValue;
    context.flags = flags;
    return DriverCode::kSuccess;
  });
}

extern "C" CUresult cuCtxGetId(CUcontext handle, unsigned long long* id) {
  const CallSite site = TWINMMU_HERE;
  return Enter(site, {id}, [&](Machine& machine) {
    Context* context = nullptr;
    const DriverCode known = FindAlive(site, machine, handle, &context);
    if (known == DriverCode::kSuccess) *id = context->id;
    const bool dead = context != nullptr && !context->alive;
    return dead ? DriverCode::kContextIsDestroyed : known;
  });
}

extern "C" CUresult cuCtxGetApiVersion(CUcontext handle, unsigned int* version) {
  const CallSite site = TWINMMU_HERE;
  return Enter(site, {version}, [&](Machine& machine) {
    Context* context = nullptr;
    const DriverCode known = FindAlive(site, machine, handle, &context);
    if (known == DriverCode::kSuccess) *version = kApiVersion;
    return known;
  });
}

extern "C" CUresult cuCtxSynchronize() {
  return EnterInContext(TWINMMU_HERE, [&](Machine& machine, Context& context) {
    return machine.executor.SynchronizeDevice(context.device);
  });
}

extern "C" CUresult cuCtxSynchronize_v2(CUcontext handle) {
  const CallSite site = TWINMMU_HERE;
  return Enter(site, [&](Machine& machine) {
    Context* context = nullptr;
    const DriverCode known = FindAlive(site, machine, handle, &context);
    if (known != DriverCode::kSuccess) return ToResult(known);
    return ToResult(machine.executor.SynchronizeDevice(context->device));
  });
}

}  // namespace twinmmu::libcuda
