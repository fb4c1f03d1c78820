#include <algorithm>
#include <vector>

#include "conformance/litmus/litmus_control.h"
#include "conformance/litmus/litmus_placement.h"
#include "conformance/litmus/litmus_play.h"
#include "conformance/litmus/litmus_thread_kernel.h"

namespace twinmmu {
namespace {

// CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
constexpr auto kMultiprocessors = static_cast<DeviceAttribute>(16);
constexpr int kFewMultiprocessors = 8;  // where nobody says how many there are
constexpr uint32_t kMaxGroups = 500;    // the locations of all instances fit into a granule
constexpr uint64_t kMaxTurns = 1 << 24;

// All blocks must be there at once, as they wait for each other: one on each multiprocessor.
uint32_t CountGroups(const LitmusStage& stage, const LitmusKernel& kernel, const LitmusPlay& play) {
  uint64_t groups =
      std::max<uint64_t>(1, play.rounds / (FewestLitmusTurns(play.timing) * kLanesPerWarp));
  groups = std::min<uint64_t>(groups, kMaxGroups);
  for (size_t i = 0; i < kernel.ctas.size(); ++i) {
    const absl::StatusOr<int> counted =
        stage.vmm().GetDeviceAttribute(kMultiprocessors, stage.devices()[i]);
    const int multiprocessors = counted.ok() ? *counted : kFewMultiprocessors;
    const uint32_t fit = static_cast<uint32_t>(multiprocessors) / kernel.ctas[i];
    groups = std::min<uint64_t>(groups, std::max(1u, fit));
  }
  return static_cast<uint32_t>(groups);
}

// On each device the blocks of its threads. They meet before the first turn, so all begin together.
absl::Status LaunchAll(LitmusStage& stage, const LitmusKernel& made, uint32_t groups,
                       uint32_t turns, uint32_t seed) {
  // All of it is loaded before the first one waits for the others.
  std::vector<Kernel> kernels;
  for (size_t i = 0; i < made.ctas.size(); ++i) {
    const absl::StatusOr<Kernel> kernel = stage.GetKernel(i, "litmus");
    if (!kernel.ok()) return kernel.status();
    kernels.push_back(*kernel);
  }
  const DeviceAddress control = stage.Control(0);
  uint32_t first = 0;
  for (size_t i = 0; i < made.ctas.size(); ++i) {
    const uint32_t ctas = made.ctas[i];
    std::vector<const void*> arguments = {&control, &turns, &seed, &ctas, &first};
    for (const DeviceAddress& base : stage.bases()) arguments.push_back(&base);
    LaunchConfig config;
    config.grid.x = groups * ctas;
    config.block.x = made.block_threads;
    const absl::Status status =
        stage.executor().Launch(Stream(stage.devices()[i]), kernels[i], config, arguments);
    if (!status.ok()) return status;
    first += ctas;
  }
  return stage.SynchronizeAll();
}

}  // namespace

absl::StatusOr<LitmusCounts> PlayThreads(LitmusStage& stage, const LitmusPlay& play) {
  const absl::StatusOr<LitmusKernel> made = MakeLitmusKernel(stage.test(), play.timing);
  if (!made.ok()) return made.status();
  const uint32_t groups = CountGroups(stage, *made, play);
  const uint32_t instances = groups * kLanesPerWarp;
  const uint64_t turns = std::max<uint64_t>(1, (play.rounds + instances - 1) / instances);
  absl::Status status = stage.Prepare(instances, made->ptx);
  if (status.ok()) {
    status = LaunchAll(stage, *made, groups,
                       static_cast<uint32_t>(std::min<uint64_t>(turns, kMaxTurns)), play.seed);
  }
  if (!status.ok()) return status;

  LitmusCounts result;
  result.rounds = std::min<uint64_t>(turns, kMaxTurns) * instances;
  const absl::StatusOr<uint64_t> late = stage.CountLate();
  if (!late.ok()) return late.status();
  result.late = *late;
  const int bits = made->key_bits;
  const size_t observables = stage.test().observables.size();
  const absl::StatusOr<std::vector<uint32_t>> table =
      stage.ReadWords(stage.Control(LitmusControl::kCounts), size_t{1} << (bits * observables));
  if (!table.ok()) return table.status();
  for (size_t key = 0; key < table->size(); ++key) {
    if ((*table)[key] == 0) continue;
    coherence::Outcome outcome;
    for (size_t i = 0; i < observables; ++i) {
      outcome.push_back(key >> (bits * i) & ((1u << bits) - 1));
    }
    result.outcomes[outcome] += (*table)[key];
  }
  return result;
}

}  // namespace twinmmu
