// Simulator: a GPU's virtual memory in software, behind a driver's interface.
//
//   absl::StatusOr<std::unique_ptr<Simulator>> simulator =
//       Simulator::Create(Profile::ReferenceH200());
//   Vmm* vmm = (*simulator)->vmm().value();

#ifndef TWINMMU_SIM_SIMULATOR_H_
#define TWINMMU_SIM_SIMULATOR_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "api/diagnostics.h"
#include "api/driver.h"
#include "sim/profile/profile.h"

namespace twinmmu {

class BoxCopies;         // sim/calls/arrays/box_copies.h
class EndpointCalls;     // sim/calls/endpoints/endpoint_calls.h
class HostFunctions;     // sim/calls/executor/host_functions.h
class KernelCalls;       // sim/calls/executor/kernel_calls.h
class LinearCalls;       // sim/calls/linear/linear_calls.h
class MemoryOperations;  // sim/calls/executor/memory_operations.h
class ManagedCalls;      // sim/calls/linear/managed_calls.h
class PoolCalls;         // sim/calls/pools/pool_calls.h
class GraphMemory;       // sim/calls/executor/graph_memory.h
class TextureCalls;      // sim/calls/arrays/texture_calls.h
namespace record {
class EventWriter;  // api/record/event_writer.h
}

// What a simulator remembers and reports; not part of the machine.
struct SimulatorOptions {
  // How many calls the history remembers, at 32 bytes each. 0: none; then a diagnostic says what is
  // wrong, but not since when, and a use after unmap is reported as a use of unmapped memory.
  size_t calls_remembered = 4096;
  // How many diagnostics are kept in full; all are counted.
  size_t diagnostics_kept = 256;
  // Called with each diagnostic at once, in case the process ends: its kind, and the whole
  // diagnostic, or null if it is only counted. Runs in the thread of the call, during the call: it
  // must not call the simulator or throw.
  std::function<void(DiagnosticKind, const Diagnostic*)> at_once;
  // Where it is told what happens, for the record of a run; null: nowhere. It must outlive the
  // simulator.
  record::EventWriter* events = nullptr;
  // Called by the destructor with the kept diagnostics and the leaks. For tests:
  //   [](const std::vector<Diagnostic>& all) { EXPECT_THAT(all, IsEmpty()); }
  std::function<void(const std::vector<Diagnostic>&)> at_end;
};

// A simulated machine, as described by its profile. It answers every call, whatever is passed, and
// never crashes; only host pointers must be valid. Only memory that is touched costs host memory.
// Several simulators may exist at once, if the host's address space has room for their windows.
// They share only memory that one exports and another imports. Thread safety: as in api/vmm.h.
class Simulator : public Driver {
 public:
  // InvalidArgument: the profile is invalid; the message says why. ResourceExhausted: the host has
  // no room for the window of device addresses.
  static absl::StatusOr<std::unique_ptr<Simulator>> Create(const Profile& profile,
                                                           SimulatorOptions options = {});
  ~Simulator() override;

  absl::StatusOr<Vmm*> vmm() override;
  absl::StatusOr<Executor*> executor() override;
  absl::StatusOr<Multicast*> multicast() override;
  absl::StatusOr<SparseArrays*> sparse_arrays() override;

  // Driver calls beyond those of api/.
  // The shape of an array: cuArray3DGetDescriptor. InvalidArgument (INVALID_HANDLE): no such array.
  absl::StatusOr<ArrayDescriptor> DescriptorOf(Array array);
  // Of an array with kArrayDeferred. InvalidArgument (INVALID_VALUE): it is not such a one.
  absl::StatusOr<Bytes> MemoryNeededBy(Array array);
  absl::StatusOr<Bytes> MemoryNeededBy(MipmappedArray mipmap);
  // Where an array or a mipmapped one lies, whatever device is asked. Nothing: there is none.
  std::optional<DeviceOrdinal> DeviceOfArray(uint64_t array) const;
  std::optional<DeviceOrdinal> DeviceOfMipmappedArray(uint64_t mipmap) const;
  // Whether it is a handle of a multicast object rather than of memory.
  bool IsMulticastObject(AllocationHandle handle) const;
  LinearCalls& linear();
  ManagedCalls& managed();
  BoxCopies& boxes();
  EndpointCalls& endpoints();
  GraphMemory& graph_memory();
  HostFunctions& host_functions();
  KernelCalls& kernels();
  MemoryOperations& memory_operations();
  PoolCalls& pools();
  TextureCalls& textures();

  const Profile& profile() const;
  // Where reservations are made.
  const AddressRange& window() const;
  // The reservation that contains `address`, or nothing.
  std::optional<AddressRange> ReservationAt(DeviceAddress address) const;

  // Whether all work is done, and the work of each call will be done when it returns, unless it is
  // a kernel: then no stream has to wait for another. This usually holds on an eager machine,
  // except when memory has several addresses: then the order of all work is kept.
  bool IsBypassingStreams() const;

  // Makes the next reservation begin at `base`, whatever the caller's hint, if it is free then: for
  // replaying what happened elsewhere, where neighbours matter.
  void PlaceNextReservation(DeviceAddress base);

  // The diagnostics so far: the first ones in full, as many as the options say.
  // docs/reference/diagnostics.md lists all kinds. A diagnostic never changes what a call does; if
  // there is no memory for one, it is only counted.
  std::vector<Diagnostic> diagnostics() const;
  // How many of a kind there were, kept or not.
  uint64_t CountOf(DiagnosticKind kind) const;
  // What would be leaked if this were the end: streams, events, arrays, mappings, reservations,
  // references to allocations, linear memory, and descriptors of exported memory as far as the host
  // shows.
  std::vector<Diagnostic> leaks() const;
  // The remembered calls that involved an address, oldest first.
  std::vector<HistoryEntry> HistoryOf(DeviceAddress address) const;

 private:
  struct Parts;
  explicit Simulator(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_SIMULATOR_H_
