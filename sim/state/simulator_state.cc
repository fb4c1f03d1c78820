#include "sim/state/simulator_state.h"

#include <mutex>
#include <utility>

#include "sim/base/errors.h"

namespace twinmmu {
namespace {

coherence::AliasOptions AliasOptionsOf(const Profile& profile) {
  coherence::AliasOptions options;
  options.modes.boundary = profile.alias_boundary;
  options.modes.multicast = profile.alias_multicast;
  options.policy = profile.alias_policy;
  options.seed = profile.alias_seed;
  options.check = profile.alias_check || profile.race_check;
  options.watch_all = profile.race_check || profile.init_check;
  options.tell_races = profile.race_check;
  options.tell_unwritten = profile.init_check;
  return options;
}

}  // namespace

SimulatorState::SimulatorState(const Profile& profile, Window window, size_t calls_remembered,
                               size_t diagnostics_kept, DiagnosticObserver observer)
    : aliases(AliasOptionsOf(profile),
              [this](const coherence::AliasHazard& hazard) {
                if (on_alias_hazard) on_alias_hazard(hazard);
              }),
      mmu(profile, std::move(window), &aliases),
      others(
          &aliases, profile.race_check,
          [this](coherence::Site site) { return sites.InWords(site); },
          [this](const ProcessRace& race) {
            if (on_process_race) on_process_race(race);
          }),
      order(&aliases, &others, profile.device_count()),
      clocks(profile.device_count()),
      scheduler(profile.stream_policy, profile.stream_seed),
      history(calls_remembered),
      log(diagnostics_kept, std::move(observer)) {}

void SimulatorState::CatchUpNow() {
  const std::unique_lock lock(mmu.mutex);
  mmu.memory.ReturnFreed();
  mmu.SeeAll();
}

absl::Status SimulatorState::NoSuchDevice(const char* call, DeviceOrdinal device) {
  return Fail(DriverCode::kInvalidDevice, call, ToString(device), " does not exist");
}

}  // namespace twinmmu
