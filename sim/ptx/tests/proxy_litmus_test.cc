// The litmus tests of proxies, asynchronous operations and clusters, played by the interpreter: it
// shows nothing that the model forbids, and what a missing fence or wait allows.

#include <algorithm>
#include <array>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "sim/calls/multicast/multicast_calls.h"
#include "sim/coherence/litmus/enumerate.h"
#include "sim/coherence/litmus/litmus.h"
#include "sim/ptx/tests/played_kernel.h"
#include "sim/testing/test_grid.h"

namespace twinmmu::ptx {
namespace {

using coherence::LitmusTest;
using coherence::Outcome;
using coherence::Policy;

std::vector<LitmusTest> ProxySample() {
  const auto file = LineReader::Open("sim/coherence/testdata/proxy_litmus.jsonl").value();
  std::vector<LitmusTest> tests;
  for (const coherence::LitmusLine& line : coherence::AllLitmus(*file)) {
    EXPECT_THAT(line.test, IsOk());
    if (line.test.ok()) tests.push_back(*line.test);
  }
  return tests;
}

class ProxyLitmusTest : public GridTest, public testing::WithParamInterface<Policy> {
 protected:
  // Granules 1 and 2 are one memory; the results are in granule 0. Both devices access all of it.
  ProxyLitmusTest() : GridTest(WithPolicy(GetParam())) {
    const AllocationHandle handle = *vmm_.Create(kGranule, {}, 0);
    Grant(Granule(0));
    MapAndGrant(Granule(1), handle);
    MapAndGrant(Granule(2), handle);
    team_ = *vmm_.AddressReserve(4 * kGranule);
    const AllocationHandle object = *multicast_.Create({kGpus, 2 * kGranule, HandleType::kNone, 0});
    for (int i = 0; i < kGpus; ++i) {
      EXPECT_THAT(multicast_.AddDevice(object, DeviceOrdinal(i)), IsOk());
    }
    for (int i = 0; i < kGpus; ++i) {
      AllocationProperties properties;
      properties.location = Location::Device(DeviceOrdinal(i));
      const AllocationHandle memory = *vmm_.Create(kGranule, properties);
      MapAndGrant(Replica(i), memory);
      EXPECT_THAT(multicast_.BindMemory(object, Bytes(0), memory, Bytes(0), kGranule), IsOk());
    }
    MapAndGrant(team_.subrange(2 * kGranule, 2 * kGranule), object);
  }

  void Grant(const AddressRange& range) {
    const std::array grants{AccessGrant{Location::Device(DeviceOrdinal(0)), Access::kReadWrite},
                            AccessGrant{Location::Device(DeviceOrdinal(1)), Access::kReadWrite}};
    EXPECT_THAT(vmm_.SetAccess(range, grants), IsOk());
  }
  void MapAndGrant(const AddressRange& range, AllocationHandle handle) {
    EXPECT_THAT(vmm_.Map(range, handle, Bytes(0), 0), IsOk());
    Grant(range);
  }
  AddressRange Replica(int gpu) const {
    return team_.subrange(static_cast<uint64_t>(gpu) * kGranule, kGranule);
  }

  // Each run has memory of its own: what the last one did is not ordered before it.
  Bytes OffsetOf(size_t location) const {
    return Bytes(runs_ * 1024 + location * PlayedKernel::kLocationBytes);
  }
  uint64_t WordOf(size_t location) const {
    return (kGranule + OffsetOf(location)).value() / sizeof(uint32_t);
  }
  uint64_t ObjectOf(bool surface, size_t location) {
    const auto texture = std::make_shared<Texture>();
    texture->surface = surface;
    texture->image.format = ArrayFormat::kUint32;
    texture->image.dimensions = 1;
    texture->image.extent = {4, 1, 1};
    texture->image.address = Granule(1).base + OffsetOf(location);
    texture->sampling.modes.fill(AddressMode::kClamp);
    texture->sampling.as_integers = true;
    return textures_->Add(texture);
  }

  // The part of the test that a GPU has.
  absl::StatusOr<std::unique_ptr<Grid>> GridOf(const LitmusTest& test, int gpu, uint64_t seed) {
    const absl::StatusOr<PlayedKernel> kernel =
        MakePlayedKernel(test, gpu, ObjectOf(false, 0), ObjectOf(true, 0), seed);
    if (!kernel.ok()) return kernel.status();
    const std::shared_ptr<const Program> program = Load(kernel->ptx);
    if (program == nullptr) return absl::InternalError(kernel->ptx);
    if (!program->FindKernel("k")->refusal.empty()) {
      return absl::UnimplementedError(program->FindKernel("k")->refusal);
    }
    return MakeGrid(
        program, Dim3{kernel->blocks, 1, 1}, Dim3{kernel->threads, 1, 1},
        {(Granule(1).base + OffsetOf(0)).value(), (Granule(2).base + OffsetOf(0)).value(),
         (memory() + Bytes(4096)).value(), (Replica(0).base + OffsetOf(0)).value(),
         (Replica(1).base + OffsetOf(0)).value(),
         (team_.base + 2 * kGranule + OffsetOf(0)).value()},
        "k", 1, 0, DeviceOrdinal(gpu));
  }

  // One run. An error: why there is none.
  absl::StatusOr<Outcome> Play(const LitmusTest& test, uint64_t seed) {
    const auto& locations = test.program.locations;
    ++runs_;
    for (size_t i = 0; i < locations.size(); ++i) {
      for (uint64_t word = 0; word < 4; ++word) {
        Write<uint32_t>(WordOf(i) + word, static_cast<uint32_t>(locations[i].initial));
      }
    }
    std::vector<std::unique_ptr<Grid>> grids;
    for (int gpu = 0; gpu < GpusOf(test); ++gpu) {
      absl::StatusOr<std::unique_ptr<Grid>> grid = GridOf(test, gpu, seed + 7919 * gpu);
      if (!grid.ok()) return grid.status();
      grids.push_back(*std::move(grid));
    }
    // Several of them take turns that end anywhere.
    std::mt19937_64 random(seed);
    std::vector<Grid*> running;
    for (const auto& grid : grids) running.push_back(grid.get());
    for (int turn = 0; turn < 100'000 && !running.empty(); ++turn) {
      const size_t next = random() % running.size();
      const Grid::State state =
          running[next]->Run(grids.size() == 1 ? kEnough : 1 + random() % 2000);
      if (state == Grid::State::kFaulted) {
        const GridFault& fault = running[next]->fault();
        return absl::InternalError(absl::StrCat(fault.place.instruction, ": ", fault.words));
      }
      if (state == Grid::State::kDone) {
        running.erase(running.begin() + static_cast<std::ptrdiff_t>(next));
      }
    }
    if (!running.empty()) return absl::InternalError("it does not end");
    Outcome outcome;
    for (size_t i = 0; i < test.observables.size(); ++i) {
      const coherence::Observable& of = test.observables[i];
      outcome.push_back(Read(of.thread >= 0 ? 1024 + i : WordOf(static_cast<size_t>(of.index))));
    }
    return outcome;
  }

  static bool IsWeak(const LitmusTest& test, const Outcome& outcome) {
    return test.weak.Holds([&](const coherence::Observable& observable) {
      const auto found = std::find(test.observables.begin(), test.observables.end(), observable);
      return outcome.at(static_cast<size_t>(found - test.observables.begin()));
    });
  }

  static constexpr int kGpus = 2;

  MulticastCalls multicast_{&state_};
  AddressRange team_;  // a replica for each GPU, and the addresses of both
  uint64_t runs_ = 0;
};

TEST_P(ProxyLitmusTest, ShowsNothingThatIsForbidden) {
  constexpr uint64_t kRuns = 12;
  int played = 0;
  std::set<std::string> skipped;
  std::set<std::string> weak;
  for (const LitmusTest& test : ProxySample()) {
    SCOPED_TRACE(test.name);
    const absl::StatusOr<coherence::Enumeration> all = Enumerate(test, coherence::Modes());
    ASSERT_THAT(all, IsOk());
    bool plays = false;
    for (uint64_t seed = 0; seed < kRuns; ++seed) {
      const absl::StatusOr<Outcome> outcome = Play(test, seed);
      if (outcome.status().code() == absl::StatusCode::kUnimplemented) {
        skipped.insert(absl::StrCat(test.name, ": ", outcome.status().message()));
        break;
      }
      ASSERT_THAT(outcome, IsOk());
      plays = true;
      EXPECT_EQ(all->outcomes.count(*outcome), 1u) << testing::PrintToString(*outcome);
      if (IsWeak(test, *outcome)) weak.insert(test.name);
    }
    played += plays ? 1 : 0;
  }
  for (const std::string& name : skipped) std::cout << "skipped " << name << "\n";
  for (const std::string& name : weak) std::cout << "weak " << name << "\n";
  // All of 117 but those of the host.
  EXPECT_EQ(played, 112);
  EXPECT_EQ(skipped.size(), 5u);
  if (GetParam() == Policy::kStale) {
    EXPECT_THAT(weak, testing::IsSupersetOf({"bulk-source-nofence", "bulk-source-fence-behind",
                                             "bulk-barrier-nofence", "bulk-group-nofence"}));
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, ProxyLitmusTest,
                         testing::Values(Policy::kCoherent, Policy::kStale, Policy::kRandom));

}  // namespace
}  // namespace twinmmu::ptx
