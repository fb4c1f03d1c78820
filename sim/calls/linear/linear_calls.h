// LinearCalls: the driver's calls for memory that has its address from the start, and the copies
// that find out themselves what their addresses are. api/ has no place for them: a program that
// uses virtual memory management needs them only where it is written for the driver's C interface.

#ifndef TWINMMU_SIM_CALLS_LINEAR_LINEAR_CALLS_H_
#define TWINMMU_SIM_CALLS_LINEAR_LINEAR_CALLS_H_

#include <cstdint>
#include <map>
#include <mutex>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/address.h"
#include "api/allocation.h"
#include "api/executor.h"
#include "sim/base/call_guard.h"
#include "sim/calls/executor/sync_stream.h"
#include "sim/host/foreign_file.h"
#include "sim/memory/linear_allocation.h"

namespace twinmmu {

struct SimulatorState;
class SimulatedCopies;

// Linear memory is used by the copies and fills of Executor as mapped memory is, under its address;
// also where they want memory of the host. To the byte: what begins in an allocation and ends
// beyond it is INVALID_VALUE. No access is needed, but for fills of memory of another device, and
// to see its address: peer access. Vmm's questions (pointer attributes, address range) know it, its
// other calls do not.
//
// Errors, state after an error, thread safety: as in api/vmm.h.
class LinearCalls {
 public:
  // Where it is asked for. `owner` names a context, for who has several; the simulator only
  // keeps it.
  struct Context {
    DeviceOrdinal device;
    uint64_t owner = 0;
  };

  // Both must outlive this object.
  LinearCalls(SimulatorState* state, SimulatedCopies* copies) : state_(*state), copies_(*copies) {}

  // cuMemAlloc, cuMemFree. A free waits until all devices are done with their work; address 0 is
  // nothing. ResourceExhausted: there is no room. InvalidArgument: size 0; not the address that
  // Allocate gave, or freed already.
  absl::StatusOr<DeviceAddress> Allocate(const Context& context, Bytes size);
  absl::Status Free(DeviceAddress address);

  // cuMemAllocManaged: memory that the CPU and all devices see at its address, freed by Free. What
  // else can be done to it: managed_calls.h. InvalidArgument: size 0, flags that do not exist.
  // NOT_SUPPORTED: the device has no managed memory.
  absl::StatusOr<DeviceAddress> AllocateManaged(const Context& context, Bytes size, uint32_t flags);

  // cuMemHostAlloc (and cuMemAllocHost, with flags 0), cuMemFreeHost: memory of the process. Size 0
  // gives null, and null is freed. The record has the flags that cuMemHostGetFlags tells.
  // InvalidArgument: unknown flags; as for Free.
  absl::StatusOr<void*> AllocateHost(const Context& context, Bytes size, uint32_t flags);
  absl::Status FreeHost(void* memory);

  // cuMemHostRegister, cuMemHostUnregister: the caller's memory, which must be there until then.
  // InvalidArgument: null, size 0, unknown flags, what is no memory of the process, pinned memory;
  // for the second also the inside of what was registered. HOST_MEMORY_ALREADY_REGISTERED: a part
  // of it is. HOST_MEMORY_NOT_REGISTERED: nothing is known of it.
  absl::Status RegisterHost(const Context& context, void* memory, Bytes size, uint32_t flags);
  absl::Status UnregisterHost(void* memory);

  // cuIpcGetMemHandle: names the memory of Allocate that contains `address` for other processes of
  // this host. InvalidArgument: there is none. ResourceExhausted: the host refused.
  absl::StatusOr<FileName> Share(DeviceAddress address);

  // cuIpcOpenMemHandle: that memory, from its first byte on, at an address of this process. A
  // context that has it open gets the same address again; one of another device gets peer access.
  // InvalidArgument: no machine of this kind gave the name. INVALID_CONTEXT: this process did.
  // MAP_FAILED: the memory is gone, or the host does not allow it. INVALID_DEVICE: this process
  // does not see the device. PEER_ACCESS_UNSUPPORTED: it is no peer. ResourceExhausted: there are
  // no addresses, or the host refused.
  struct Opened {
    AddressRange range;
    DeviceOrdinal device;
    bool is_new = false;  // it was not open
  };
  absl::StatusOr<Opened> OpenShared(const Context& context, const FileName& name);
  // cuIpcCloseMemHandle: as often as it was opened; the last time it frees the address, as Free
  // does, and that is what the result tells. InvalidArgument: it is not open.
  absl::StatusOr<bool> CloseShared(DeviceAddress address);

  // Frees what was made in a context, which ends, and forgets what was registered or enabled in it.
  // It needs no memory, and calls visit(allocation) for each that goes.
  absl::Status FreeOwnedBy(
      uint64_t owner,
      absl::FunctionRef<void(const LinearAllocation&)> visit = [](const LinearAllocation&) {});

  // cuCtxEnablePeerAccess, cuCtxDisablePeerAccess: whether work in a context may use the linear
  // memory of `peer` under its address, and not only copy it. The simulator does not tell the
  // contexts of a device apart: one that may is enough. PEER_ACCESS_UNSUPPORTED: it is no peer, or
  // the same device. PEER_ACCESS_ALREADY_ENABLED, PEER_ACCESS_NOT_ENABLED.
  absl::Status EnablePeerAccess(const Context& context, DeviceOrdinal peer);
  absl::Status DisablePeerAccess(const Context& context, DeviceOrdinal peer);

  // The allocation that contains `address`. InvalidArgument: there is none.
  absl::StatusOr<LinearAllocation> Find(DeviceAddress address) const;
  // CU_POINTER_ATTRIBUTE_SYNC_MEMOPS of the allocation that contains `address`; managed memory
  // has it from the start. InvalidArgument: there is none.
  absl::Status SetSyncMemops(DeviceAddress address, bool value);

  // As Executor has them, on a default stream of any kind.
  absl::Status CopyHostToDevice(SyncStream on, DeviceAddress destination, const void* source,
                                Bytes size);
  absl::Status CopyDeviceToHost(SyncStream on, void* destination, DeviceAddress source, Bytes size);
  absl::Status CopyDeviceToDevice(SyncStream on, DeviceAddress destination, DeviceAddress source,
                                  Bytes size);
  absl::Status Fill(SyncStream on, DeviceAddress destination, const FillPattern& pattern,
                    uint64_t count);
  absl::Status Fill(Stream stream, DeviceAddress destination, const FillPattern& pattern,
                    uint64_t count);

  // cuMemcpy, cuMemcpyAsync: each address is of memory, mapped or linear, that the device may
  // access, or a pointer of the host, which is taken at its word.
  // InvalidArgument: an address that is 0, memory that is not accessible.
  absl::Status Copy(SyncStream on, DeviceAddress destination, DeviceAddress source, Bytes size);
  absl::Status Copy(Stream stream, DeviceAddress destination, DeviceAddress source, Bytes size);

  // cuMemcpyPeer, cuMemcpyPeerAsync: each side needs the access of its own device.
  absl::Status CopyPeer(SyncStream on, const PeerAddress& destination, const PeerAddress& source,
                        Bytes size);
  absl::Status CopyPeer(Stream stream, const PeerAddress& destination, const PeerAddress& source,
                        Bytes size);

 private:
  struct OpenMemory {
    uint64_t owner = 0;
    FileName name;
    uint64_t count = 0;
  };
  using OpenMemories = std::map<uint64_t, OpenMemory>;  // by address

  absl::StatusOr<Opened> AddShared(const Context& context, const FileName& name);
  void WatchShared(DeviceAddress base, int descriptor);
  absl::StatusOr<AddressRange> MapShared(const Context& context, const NamedFile& named);

  SimulatorState& state_;
  SimulatedCopies& copies_;
  std::mutex open_mutex_;  // before mmu.mutex
  OpenMemories open_;
  const CallGuard guard_;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_CALLS_LINEAR_LINEAR_CALLS_H_
