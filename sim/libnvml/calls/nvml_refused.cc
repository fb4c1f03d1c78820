// What the simulated machine does not have: exported, so that programs load, and NOT_SUPPORTED.

#include <atomic>

#include "sim/libnvml/nvml_machine.h"
#include "sim/libnvml/simulated_driver.h"

namespace twinmmu::nvml {
namespace {

// The report names each function once, if there is one.
nvmlReturn_t Refuse(std::atomic<bool>& said, const char* words) {
  return OnMachine({}, [&](const NvmlMachine& machine) {
    if (!said.load(std::memory_order_relaxed) && Warn(machine, words)) said = true;
    return NVML_ERROR_NOT_SUPPORTED;
  });
}

}  // namespace

// Nothing here declares them: their parameters stay where the caller put them.
#define TWINMMU_NVML_MODELLED(name, answer)
#define TWINMMU_NVML_REFUSED(name)                                                        \
  extern "C" nvmlReturn_t name() {                                                        \
    static std::atomic<bool> said{false};                                                 \
    return Refuse(said, "warning: " #name                                                 \
                        " was called, which our NVML does not have: it is NOT_SUPPORTED " \
                        "(docs/reference/nvml.md)");                                      \
  }
#include "third_party/cuda_abi/nvml_exports.inc"

}  // namespace twinmmu::nvml
