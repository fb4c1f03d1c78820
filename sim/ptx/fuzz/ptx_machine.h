// PtxMachine: what random programs run on.

#ifndef TWINMMU_SIM_PTX_FUZZ_PTX_MACHINE_H_
#define TWINMMU_SIM_PTX_FUZZ_PTX_MACHINE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "api/address.h"
#include "sim/calls/vmm/simulated_vmm.h"
#include "sim/coherence/model/policy.h"
#include "sim/mmu/translation_cache.h"
#include "sim/profile/profile.h"
#include "sim/ptx/run/device/device_heap.h"
#include "sim/ptx/textures/texture_table.h"
#include "sim/state/simulator_state.h"

namespace twinmmu::ptx {

// A device with memory, at two addresses if `aliased`, with tensor maps and textures, as
// random_ptx.h says.
class PtxMachine {
 public:
  PtxMachine(coherence::Policy policy, bool aliased);

  enum class Outcome {
    kEnded,  // or there is no such kernel
    kRefused,
    kStopped,  // what it has begun stays in the machine
  };
  struct Result {
    Outcome outcome;
    std::string words;  // for people
  };
  // Runs kernel `k` of a module to its end, or for a while; if there is one. In two blocks of
  // `threads`.
  Result Run(const std::string& module, uint32_t threads);

 private:
  // The same for each program, whatever the last one has left.
  void Reset();
  void WriteMaps();
  void MakeTextures();

  const Profile profile_;
  SimulatorState state_;
  SimulatedVmm vmm_{&state_};
  TranslationCache cache_;
  AddressRange range_;
  std::shared_ptr<DeviceHeap> heap_;
  std::shared_ptr<TextureTable> textures_ = std::make_shared<TextureTable>();
};

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_FUZZ_PTX_MACHINE_H_
