#include "conformance/instances/sim_target.h"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "sim/simulator.h"

namespace twinmmu::conformance {
namespace {

// The departure from a rule that each quirk shows as. Quirks that are not here break no rule.
constexpr std::pair<bool Quirks::*, Deviation> kShownAs[] = {
    {&Quirks::granularity_ignores_properties, Deviation::kGranularityOfAnyLocation},
    {&Quirks::create_ignores_unknown_handle_types, Deviation::kUnknownHandleTypesAreIgnored},
    {&Quirks::map_takes_whole_allocations_only, Deviation::kMapTakesOnlyWholeAllocations},
    {&Quirks::released_handle_usable_while_mapped, Deviation::kReleasedHandleWorksWhileMapped},
    {&Quirks::map_reaches_beyond_reservation, Deviation::kMapReachesBeyondTheReservation},
    {&Quirks::map_reaches_beyond_reservation, Deviation::kMapCrossesReservations},
    {&Quirks::reserve_refuses_misaligned_hint, Deviation::kMisalignedHintIsRefused},
    {&Quirks::unmap_passes_over_holes, Deviation::kUnmapIgnoresHoles},
    {&Quirks::unmap_passes_over_holes, Deviation::kUnmapOfNothingSucceeds},
    {&Quirks::reserve_refuses_hint_beyond_addresses,
     Deviation::kHintBeyondTheAddressSpaceIsOutOfMemory},
    {&Quirks::set_access_stops_at_hole, Deviation::kSetAccessStopsAtAHole},
    {&Quirks::set_access_keeps_grants_before_refusal,
     Deviation::kSetAccessAppliesWhatPrecedesAnUnsupportedGrant},
    {&Quirks::host_access_falls_back_to_device, Deviation::kHostIsAnsweredWithTheRightOfDevice0},
    {&Quirks::host_access_falls_back_to_device, Deviation::kHostIsNotToldFromDevice0},
    {&Quirks::unmap_at_last_address_begins_at_zero, Deviation::kUnmapOfTheLastAddressTakesAllBelow},
    {&Quirks::address_range_of_host_memory_begins_at_zero,
     Deviation::kAddressRangeOfHostMemoryBeginsAtZero},
    {&Quirks::fill_refuses_what_host_sees_behind_border,
     Deviation::kFillRefusesWhatTheHostSeesBehindABorder},
    {&Quirks::rdma_memory_hangs_on_first_mapping, Deviation::kRdmaMemoryHangsOnItsFirstMapping},
    {&Quirks::rdma_memory_hangs_on_first_mapping, Deviation::kRdmaPeersHangOnTheFirstMapping},
    {&Quirks::fill_size_wraps, Deviation::kFillSizeWraps},
    {&Quirks::no_attributes_where_unmapped, Deviation::kNoAttributesWhereNothingIsMapped},
    {&Quirks::import_of_foreign_descriptor_is_unknown,
     Deviation::kImportOfAForeignDescriptorIsUnknown},
};

// A directory for fabric handles that lead from process to process: the first process of a run
// makes it, and takes it away; those that tests start get its name. Empty: the host gives none.
std::string FabricDomainOfRun() {
  constexpr char kVariable[] = "TWINMMU_FABRIC_DOMAIN_OF_RUN";
  const char* const inherited = std::getenv(kVariable);
  if (inherited != nullptr) return inherited;
  std::error_code error;
  static auto* const folder = new std::string(
      (std::filesystem::temp_directory_path(error) / "twinmmu-fabric-XXXXXX").string());
  if (mkdtemp(folder->data()) == nullptr) return "";
  std::atexit([] {
    std::error_code ignored;
    std::filesystem::remove_all(*folder, ignored);
  });
  mkdir((*folder + "/channel0").c_str(), S_IRWXU);
  setenv(kVariable, folder->c_str(), 1);
  return *folder;
}

WorkTiming TimingOf(StreamPolicy policy) {
  switch (policy) {
    case StreamPolicy::kEager:
      return WorkTiming::kAtTheCall;
    case StreamPolicy::kDeferred:
      return WorkTiming::kAtTheLatestMoment;
    case StreamPolicy::kSeeded:
      break;
  }
  return WorkTiming::kWhenever;
}

}  // namespace

Traits TraitsOf(const Profile& profile) {
  Traits traits;
  traits.interprets_kernels = true;
  traits.loses_aliased_atomics = profile.alias_policy == coherence::Policy::kStale ||
                                 profile.alias_policy == coherence::Policy::kRandom;
  traits.has_vmm = profile.HasVmm();
  traits.multicast_allowed = true;
  traits.multicast_mistakes_answered = true;
  traits.cpu_sees_host_memory = profile.window.claimed;
  traits.work_timing = TimingOf(profile.stream_policy);
  for (const auto& [quirk, deviation] : kShownAs) {
    if (profile.quirks.*quirk) traits.deviations.insert(deviation);
  }
  if (profile.quirks.unmap_reaches_beyond_reservation) {
    traits.deviations.insert(Deviation::kUnmapCrossesReservations);
  }
  // What is beyond a reservation is a hole in the range as well, also where the range wraps.
  if (profile.quirks.unmap_reaches_beyond_reservation && profile.quirks.unmap_passes_over_holes) {
    traits.deviations.insert(Deviation::kUnmapReachesBeyondTheReservation);
    traits.deviations.insert(Deviation::kUnmapOfAWrappedRangeSucceeds);
  }
  const Bytes host_page = KiB(4);
  if (profile.reservation_granularity > host_page) {
    traits.deviations.insert(Deviation::kReserveTakesOnlyGranules);
  }
  return traits;
}

TargetFactory SimTarget(const std::string& name, const Profile& profile) {
  const auto open = [name, profile]() -> absl::StatusOr<Target> {
    Profile machine = profile;
    if (machine.fabric_permitted && machine.fabric_domain.empty()) {
      machine.fabric_domain = FabricDomainOfRun();
    }
    absl::StatusOr<std::unique_ptr<Simulator>> simulator = Simulator::Create(machine);
    if (!simulator.ok()) return simulator.status();
    Target target;
    target.name = name;
    target.driver = *std::move(simulator);
    target.traits = TraitsOf(profile);
    return target;
  };
  return TargetFactory{name, open};
}

}  // namespace twinmmu::conformance
