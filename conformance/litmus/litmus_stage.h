// LitmusStage: a litmus test that is about to be played: its memory, and its kernels on each
// device.

#ifndef TWINMMU_CONFORMANCE_LITMUS_LITMUS_STAGE_H_
#define TWINMMU_CONFORMANCE_LITMUS_LITMUS_STAGE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "api/executor.h"
#include "api/multicast.h"
#include "api/vmm.h"
#include "conformance/litmus/litmus_memory.h"
#include "sim/coherence/litmus/litmus.h"

namespace twinmmu {

// Waits for all work of its devices at the end, and gives back all that it has.
class LitmusStage {
 public:
  // `devices`: one for each GPU of the test, in that order, and for each replica of a multicast
  // address; the first has all other memory. All else must outlive this object.
  // `multicast`: null if the test has no multicast address.
  LitmusStage(Vmm& vmm, Executor& executor, Multicast* multicast, const coherence::LitmusTest& test,
              std::vector<DeviceOrdinal> devices)
      : vmm_(vmm),
        executor_(executor),
        multicast_(multicast),
        test_(test),
        devices_(std::move(devices)),
        memory_(vmm, devices_) {}
  ~LitmusStage();
  LitmusStage(const LitmusStage&) = delete;
  LitmusStage& operator=(const LitmusStage&) = delete;

  // Before all that follows: maps the locations of so many instances and the control memory, which
  // is all 0, and loads `ptx` on each device.
  absl::Status Prepare(uint32_t instances, const std::string& ptx);

  Vmm& vmm() const { return vmm_; }
  Executor& executor() const { return executor_; }
  const coherence::LitmusTest& test() const { return test_; }
  const coherence::Program& program() const { return test_.program; }
  const std::vector<DeviceOrdinal>& devices() const { return devices_; }
  DeviceOrdinal home() const { return devices_.front(); }
  LitmusMemory& memory() { return memory_; }

  // `device` is an index of devices().
  absl::StatusOr<Kernel> GetKernel(size_t device, absl::string_view name);
  absl::Status SynchronizeAll();

  // By index in the program: the address of instance 0.
  const std::vector<DeviceAddress>& bases() const { return bases_; }
  DeviceAddress FirstAddressOf(int location) const;
  // The address of something of LitmusControl.
  DeviceAddress Control(uint64_t offset) const { return control_ + Bytes(offset); }
  // What lies in memory when nothing runs.
  absl::StatusOr<std::vector<uint32_t>> ReadWords(DeviceAddress from, size_t count);
  // How many waits were given up.
  absl::StatusOr<uint64_t> CountLate();

 private:
  absl::Status MapAll(Bytes size);
  absl::Status MapReplicas(Bytes size, const std::vector<int>& locations);
  std::vector<size_t> AddressesOf(const std::vector<int>& locations, bool multicast) const;
  void SetBases(const std::vector<size_t>& addresses, const std::vector<DeviceAddress>& bases);

  Vmm& vmm_;
  Executor& executor_;
  Multicast* const multicast_;
  const coherence::LitmusTest& test_;
  const std::vector<DeviceOrdinal> devices_;
  LitmusMemory memory_;
  DeviceAddress control_;
  std::vector<DeviceAddress> bases_;
  std::vector<Module> modules_;  // by device, as far as they are loaded
};

}  // namespace twinmmu

#endif  // TWINMMU_CONFORMANCE_LITMUS_LITMUS_STAGE_H_
