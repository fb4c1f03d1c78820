// Simulator: a GPU's virtual memory in software, behind the interface of a driver.
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

class KernelCalls;  // sim/calls/executor/kernel_calls.h
class LinearCalls;  // sim/calls/linear/linear_calls.h

// What a simulator remembers and reports; not a part of the machine.
struct SimulatorOptions {
  // How many calls the history remembers, of 32 bytes each. 0: none; then a diagnostic says what is
  // wrong, but not since when, and a use after unmap is a use of what is not mapped.
  size_t calls_remembered = 4096;
  // How many diagnostics are kept in full; all are counted.
  size_t diagnostics_kept = 256;
  // Called with each diagnostic as it is noticed, so that it is known even if the process ends at
  // once: its kind, and all of it, or null if it is only counted. By the thread whose call it is
  // about, inside that call: it must not call the simulator, nor throw.
  std::function<void(DiagnosticKind, const Diagnostic*)> at_once;
  // Called by the destructor with the diagnostics that were kept, and the leaks. For tests:
  //   [](const std::vector<Diagnostic>& all) { EXPECT_THAT(all, IsEmpty()); }
  std::function<void(const std::vector<Diagnostic>&)> at_end;
};

// One simulated machine, as its profile describes it. It answers every call, whatever is passed,
// and never crashes; only host pointers are taken at their word. Memory costs what is touched of
// it. Simulators may live side by side, as far as the host's address space has room for their
// windows. They share only memory that one exports and another imports. Thread safety: as in
// api/vmm.h.
class Simulator : public Driver {
 public:
  // InvalidArgument: the profile is wrong, and why. ResourceExhausted: the host has no room for the
  // window of device addresses.
  static absl::StatusOr<std::unique_ptr<Simulator>> Create(const Profile& profile,
                                                           SimulatorOptions options = {});
  ~Simulator() override;

  absl::StatusOr<Vmm*> vmm() override;
  absl::StatusOr<Executor*> executor() override;
  absl::StatusOr<Multicast*> multicast() override;
  absl::StatusOr<SparseArrays*> sparse_arrays() override;

  // Calls of the driver beyond those of api/.
  // What an array is: cuArray3DGetDescriptor. InvalidArgument (INVALID_HANDLE): there is none.
  absl::StatusOr<ArrayDescriptor> DescriptorOf(Array array);
  // cuMemcpy3DAsync between an array and `host`, where rows are packed. As CopyHostToArray and
  // CopyArrayToHost of SparseArrays, but x of both is in bytes, and need be no whole elements.
  absl::Status CopyArrayBytes(Stream stream, Array array, const ArrayExtent& offset,
                              const ArrayExtent& extent, char* host, bool to_array);
  // Whether it is a handle of a multicast object, and of no memory.
  bool IsMulticastObject(AllocationHandle handle) const;
  LinearCalls& linear();
  KernelCalls& kernels();

  const Profile& profile() const;
  // Where reservations are.
  const AddressRange& window() const;
  // The reservation that contains `address`; nothing: there is none.
  std::optional<AddressRange> ReservationAt(DeviceAddress address) const;

  // Whether all work is done, and what a call asks for will be done when it returns, unless it is a
  // kernel: then no stream has to wait for another. So it is on an eager machine as a rule, but
  // where memory has several addresses: there the order of all work is kept.
  bool IsBypassingStreams() const;

  // The next reservation begins at `base`, whatever the caller hints, if that is free then: for who
  // plays what happened elsewhere, where neighbours matter.
  void PlaceNextReservation(DeviceAddress base);

  // What was noticed so far: the first ones in full, as many as the options say.
  // docs/reference/diagnostics.md lists all kinds. A diagnostic never changes what a call does; one
  // for which the program has no memory is only counted.
  std::vector<Diagnostic> diagnostics() const;
  // How many of a kind were noticed, kept or not.
  uint64_t CountOf(DiagnosticKind kind) const;
  // What is there now and would be lost if this were the end: streams, events, arrays, mappings,
  // reservations, references to allocations, linear memory, and descriptors of exported memory as
  // far as the host tells.
  std::vector<Diagnostic> leaks() const;
  // The remembered calls that had to do with an address, oldest first.
  std::vector<HistoryEntry> HistoryOf(DeviceAddress address) const;

 private:
  struct Parts;
  explicit Simulator(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_SIMULATOR_H_
