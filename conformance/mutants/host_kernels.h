// HostKernels: the kernels of kernels/, run by the host, on a machine that runs none itself.

#ifndef TWINMMU_CONFORMANCE_MUTANTS_HOST_KERNELS_H_
#define TWINMMU_CONFORMANCE_MUTANTS_HOST_KERNELS_H_

#include <map>
#include <mutex>
#include <string>

#include "conformance/mutants/real.h"
#include "conformance/mutants/signatures.h"

namespace twinmmu::conformance {

// Does what each kernel does by copies of the machine below, which so decides what the device may
// access. An access that is refused there is a fault: the launch has succeeded, and every later
// call in a context of any device gives ILLEGAL_ADDRESS. Nothing compiles the text; only its
// entries count.
class HostKernels : public Real {
 public:
  using Real::Real;

  CALL_LoadModule() override;
  CALL_UnloadModule() override;
  CALL_GetKernel() override;
  CALL_Launch() override;

  // What a fault stops.
  CALL_Write() override;
  CALL_Read() override;
  CALL_Move() override;
  CALL_Set() override;
  CALL_CreateStream() override;
  CALL_SynchronizeStream() override;
  CALL_SynchronizeDevice() override;
  CALL_GetMemoryInfo() override;
  CALL_GetAddressRange() override;

 private:
  struct Arguments;

  absl::Status Context();
  // Each gives the status of its first access that was refused.
  absl::Status Run(const std::string& name, DeviceOrdinal device, const Arguments& arguments);
  absl::Status RunFill(DeviceOrdinal device, const Arguments& arguments);
  absl::Status RunVerify(DeviceOrdinal device, const Arguments& arguments);
  absl::Status RunAlias(DeviceOrdinal device, const Arguments& arguments);
  absl::Status Load(DeviceOrdinal device, uint64_t address, void* value, size_t size);
  absl::Status Store(DeviceOrdinal device, uint64_t address, const void* value, size_t size);

  std::mutex mutex_;  // guards what follows
  uint64_t last_ = 0;
  std::map<uint64_t, std::string> modules_;  // text
  std::map<uint64_t, std::string> kernels_;  // name
  bool faulted_ = false;
};

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_MUTANTS_HOST_KERNELS_H_
