#include "conformance/allocators/random_program.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "api/allocators/virtual_memory_pool.h"
#include "conformance/allocators/random_subject.h"
#include "conformance/allocators/random_world.h"
#include "conformance/allocators/warm_up.h"

namespace twinmmu::conformance {
namespace {

constexpr size_t kMostSubjects = 6;

// What a driver takes for itself when something is done for the first time, also by the streams of
// the world, it takes here.
void WarmUpWorld(RandomWorld& world) {
  std::vector<DeviceOrdinal> devices = {RandomWorld::device()};
  if (world.peer().has_value()) devices.push_back(*world.peer());
  if (!world.Must(WarmUp(world.vmm(), world.executor(), devices), "the warm-up")) return;
  absl::StatusOr<std::unique_ptr<VirtualMemoryPool>> pool =
      VirtualMemoryPool::Make(&world.vmm(), &world.executor(), MiB(2));
  if (!world.Must(pool.status(), "Make")) return;
  const AddressRange page{(*pool)->BaseAddress(), (*pool)->PageSize(), Bytes(0)};
  if (!world.Must((*pool)->Allocate(Bytes(0), page.size).status(), "Allocate")) return;
  for (int i = 0; i < 32; ++i) {
    int writer = RandomWorld::kNoStream;
    const uint32_t pattern = world.Write(page, writer);
    world.Verify(page, pattern, writer, RandomWorld::device());
  }
  if (world.peer().has_value()) {
    world.Must((*pool)->Grant(*world.peer(), Access::kRead), "Grant");
    int writer = RandomWorld::kNoStream;
    const uint32_t pattern = world.Write(page, writer);
    world.Verify(page, pattern, writer, *world.peer());
  }
  world.Must((*pool)->Close(), "Close");
}

class Runner {
 public:
  Runner(const RandomProgram& program, Vmm& vmm, Executor& executor)
      : program_(program), world_(vmm, executor, program) {}

  RandomReport Run() {
    world_.Log("begin");
    if (world_.Must(world_.Open(), "the beginning")) WarmUpWorld(world_);
    const Bytes free = Free();
    for (; report_.steps < program_.steps && !world_.differs(); ++report_.steps) {
      Step();
      CheckMemory(free);
    }
    for (const auto& subject : subjects_) subject->End();
    subjects_.clear();
    CheckMemory(free);
    world_.Must(world_.Close(), "the end");
    report_.driver_calls = world_.driver_calls();
    report_.difference = world_.difference();
    return report_;
  }

 private:
  Bytes Free() {
    const absl::StatusOr<MemoryInfo> info = world_.vmm().GetMemoryInfo(RandomWorld::device());
    world_.Must(info.status(), "GetMemoryInfo");
    return info.value_or(MemoryInfo()).free;
  }

  void Step() {
    if (subjects_.empty() || (subjects_.size() < kMostSubjects && world_.Chance(0.02))) {
      std::unique_ptr<RandomSubject> made = MakeRandomSubject(world_);
      if (made != nullptr) subjects_.push_back(std::move(made));
      return;
    }
    const size_t chosen = world_.Below(subjects_.size());
    if (world_.Chance(0.01)) {
      subjects_[chosen]->End();
      subjects_.erase(subjects_.begin() + chosen);
      return;
    }
    if (world_.Chance(0.05)) {
      world_.Log("wait for the device");
      world_.SynchronizeAll();
    }
    if (world_.Chance(0.05)) world_.MakeScarce(Held(), MiB(2) * world_.Below(8));
    subjects_[chosen]->Step();
    world_.EndScarcity();
  }

  Bytes Held() const {
    Bytes held;
    for (const auto& subject : subjects_) {
      const MemoryStats stats = subject->stats();
      held = held + stats.in_use + stats.leaving + stats.cached;
    }
    return held;
  }

  void CheckMemory(Bytes free_before) {
    const Bytes held = Held();
    report_.peak = std::max(report_.peak, held);
    if (!program_.sole_user) return;
    const Bytes taken = free_before - Free();
    report_.driver_took = taken - held;
    // Wraps where more is free than there should be, and is too much then as well.
    if (report_.driver_took > program_.driver_may_take) {
      world_.Differ(absl::StrCat("the device lacks ", ToString(taken), "; the objects hold ",
                                 ToString(held)));
    }
  }

  const RandomProgram program_;
  RandomWorld world_;
  std::vector<std::unique_ptr<RandomSubject>> subjects_;
  RandomReport report_;
};

}  // namespace

RandomReport Run(const RandomProgram& program, Vmm& vmm, Executor& executor) {
  return Runner(program, vmm, executor).Run();
}

}  // namespace twinmmu::conformance
