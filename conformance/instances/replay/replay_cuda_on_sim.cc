#include "conformance/instances/replay/replay_cuda_on_sim.h"

#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>

#include "absl/status/statusor.h"
#include "backend/cuda_driver.h"
#include "backend/driver_table.h"
#include "conformance/instances/replay/replay_sim.h"
#include "sim/libcuda/calls/exports.h"
#include "sim/libcuda/process.h"

namespace twinmmu::conformance {
namespace {

// The functions that are linked in, as the loader would find them in a library.
DriverTable LinkedFunctions() {
  DriverTable table;
  table.library = "the simulated driver";
  ForEachSymbol([&](auto field, Symbol symbol) {
    auto& pointer = table.*decltype(field)::kMember;
    for (const libcuda::Export& candidate : libcuda::Exports()) {
      if (std::strcmp(candidate.info->symbol, Info(symbol).exported) != 0) continue;
      pointer = reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(candidate.function);
    }
  });
  return table;
}

absl::StatusOr<PlayerTarget> Open(const Json& header) {
  const absl::StatusOr<Profile> profile = ProfileOf(header);
  if (!profile.ok()) return profile.status();
  libcuda::Process::Get().Restart(*profile);
  CudaDriverOptions options;
  options.allow_multicast_on_hardware = true;  // There is none behind these functions.
  absl::StatusOr<std::unique_ptr<Driver>> driver = MakeCudaDriver(LinkedFunctions(), options);
  if (!driver.ok()) return driver.status();
  return PlayerTarget{*std::move(driver), [](DeviceAddress base) {
                        libcuda::Process::Get().driver()->simulator->PlaceNextReservation(base);
                      }};
}

}  // namespace

ReplayOptions CudaOnSimReplayOptions() {
  ReplayOptions options = SimReplayOptions();
  options.open = Open;
  return options;
}

}  // namespace twinmmu::conformance
