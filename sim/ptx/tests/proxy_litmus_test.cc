// The litmus tests of proxies, asynchronous operations and clusters, played by the interpreter: it
// shows nothing that the model forbids, and what a missing fence or wait allows.

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
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
  // Granules 1 and 2 are one memory; the results are in granule 0.
  ProxyLitmusTest() : GridTest(WithPolicy(GetParam())) {
    const AllocationHandle handle = *vmm_.Create(kGranule, {}, 0);
    for (const uint64_t i : {1, 2}) {
      EXPECT_THAT(vmm_.Map(Granule(i), handle, Bytes(0), 0), IsOk());
      const std::array grants{AccessGrant{Location::Device(DeviceOrdinal(0)), Access::kReadWrite}};
      EXPECT_THAT(vmm_.SetAccess(Granule(i), grants), IsOk());
    }
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

  // One run. An error: why there is none.
  absl::StatusOr<Outcome> Play(const LitmusTest& test, uint64_t seed) {
    const auto& locations = test.program.locations;
    ++runs_;
    for (size_t i = 0; i < locations.size(); ++i) {
      for (uint64_t word = 0; word < 4; ++word) {
        Write<uint32_t>(WordOf(i) + word, static_cast<uint32_t>(locations[i].initial));
      }
    }
    const absl::StatusOr<PlayedKernel> kernel =
        MakePlayedKernel(test, ObjectOf(false, 0), ObjectOf(true, 0), seed);
    if (!kernel.ok()) return kernel.status();
    const std::shared_ptr<const Program> program = Load(kernel->ptx);
    if (program == nullptr) return absl::InternalError(kernel->ptx);
    if (!program->FindKernel("k")->refusal.empty()) {
      return absl::UnimplementedError(program->FindKernel("k")->refusal);
    }
    const auto grid =
        MakeGrid(program, Dim3{kernel->blocks, 1, 1}, Dim3{kernel->threads, 1, 1},
                 {(Granule(1).base + OffsetOf(0)).value(), (Granule(2).base + OffsetOf(0)).value(),
                  (memory() + Bytes(4096)).value()});
    Grid::State state = Grid::State::kRunning;
    for (int slice = 0; slice < 1000; ++slice) {
      state = grid->Run(kEnough);
      if (state == Grid::State::kDone || state == Grid::State::kFaulted) break;
    }
    if (state != Grid::State::kDone) {
      return absl::InternalError(absl::StrCat(grid->fault().place.instruction, ": ",
                                              grid->fault().words, "\n", kernel->ptx));
    }
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
  EXPECT_GE(played, 75);
  if (GetParam() == Policy::kStale) {
    EXPECT_THAT(weak, testing::IsSupersetOf({"bulk-source-nofence", "bulk-source-fence-behind",
                                             "bulk-barrier-nofence", "bulk-group-nofence"}));
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, ProxyLitmusTest,
                         testing::Values(Policy::kCoherent, Policy::kStale, Policy::kRandom));

}  // namespace
}  // namespace twinmmu::ptx
