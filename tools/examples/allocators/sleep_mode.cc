#include "tools/examples/allocators/sleep_mode.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "api/allocators/annotate.h"

namespace twinmmu::examples {

namespace {

bool Contains(SleepMode::Tags tags, absl::string_view tag) {
  return std::find(tags.begin(), tags.end(), tag) != tags.end();
}

}  // namespace

absl::StatusOr<std::unique_ptr<SleepMode>> SleepMode::Make(Vmm* vmm, Executor* executor,
                                                           Options options) {
  if (vmm == nullptr) return absl::InvalidArgumentError("vmm is null");
  if (executor == nullptr) return absl::InvalidArgumentError("executor is null");
  return std::unique_ptr<SleepMode>(new SleepMode(vmm, executor, std::move(options)));
}

SleepMode::SleepMode(Vmm* vmm, Executor* executor, Options options)
    : vmm_(vmm), executor_(executor), options_(std::move(options)) {}

absl::StatusOr<DeviceAddress> SleepMode::Allocate(Bytes size, absl::string_view tag) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Collect();
  auto memory = SleepingBuffer::Make(vmm_, executor_, size, options_.pages);
  if (!memory.ok()) return memory.status();
  for (const DeviceOrdinal peer : options_.peers) {
    absl::Status status = (*memory)->Grant(peer, Access::kReadWrite);
    if (!status.ok()) return status;
  }
  const DeviceAddress address = (*memory)->address();
  blocks_[address] = Block{std::string(tag), *std::move(memory)};
  return address;
}

absl::Status SleepMode::Free(DeviceAddress address, absl::Span<const LastUse> after) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto block = blocks_.find(address);
  if (block == blocks_.end()) {
    return absl::NotFoundError(absl::StrCat("no block begins at ", ToString(address),
                                            ": it was freed before, or never allocated"));
  }
  SleepingBuffer& memory = *block->second.memory;
  if (memory.awake()) {
    absl::Status status = memory.Sleep(Contents::kDiscard, after);
    if (!status.ok()) return status;
  }
  freed_.push_back(std::move(block->second.memory));
  blocks_.erase(block);
  Collect();
  return absl::OkStatus();
}

void SleepMode::Collect() {
  for (auto& [address, block] : blocks_) block.memory->Collect();
  const auto is_gone = [](const std::unique_ptr<SleepingBuffer>& memory) {
    memory->Collect();
    // To close it earlier would be to wait. What the driver refuses is tried again.
    return memory->stats().leaving == Bytes(0) && memory->Close().ok();
  };
  freed_.erase(std::remove_if(freed_.begin(), freed_.end(), is_gone), freed_.end());
}

absl::Status SleepMode::CheckTags(Tags tags) const {
  for (const absl::string_view tag : tags) {
    const bool known = std::any_of(blocks_.begin(), blocks_.end(),
                                   [&](const auto& block) { return block.second.tag == tag; });
    if (!known) return absl::NotFoundError(absl::StrCat("no block has the tag \"", tag, "\""));
  }
  return absl::OkStatus();
}

absl::Status SleepMode::Sleep(Tags saved, absl::Span<const LastUse> after) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Collect();
  absl::Status status = CheckTags(saved);
  if (!status.ok()) return status;
  for (auto& [address, block] : blocks_) {
    if (!block.memory->awake()) continue;
    status = block.memory->Sleep(Contains(saved, block.tag) ? Contents::kSave : Contents::kDiscard,
                                 after);
    if (status.ok()) continue;
    return Annotate(status, absl::StrCat("the block at ", ToString(address), ", \"", block.tag,
                                         "\", does not sleep"));
  }
  return absl::OkStatus();
}

absl::Status SleepMode::Wake(Tags tags) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Collect();
  absl::Status status = CheckTags(tags);
  if (!status.ok()) return status;
  std::vector<Sleeper> sleepers;
  for (auto& [address, block] : blocks_) {
    if (block.memory->awake() || !(tags.empty() || Contains(tags, block.tag))) continue;
    sleepers.push_back(
        {block.memory.get(), block.memory->saved() ? Contents::kSave : Contents::kDiscard});
  }
  // Those without contents last: what is behind the last copy cannot fail.
  std::stable_partition(sleepers.begin(), sleepers.end(),
                        [](const Sleeper& sleeper) { return sleeper.contents == Contents::kSave; });
  status = WakeAll(sleepers);
  if (status.ok()) return status;
  for (const Sleeper& sleeper : sleepers) {
    const absl::Status undone = sleeper.memory->awake() ? sleeper.memory->Sleep(sleeper.contents)
                                                        : sleeper.memory->CancelWake();
    if (undone.ok()) continue;
    status = Annotate(status, absl::StrCat("the block at ", ToString(sleeper.memory->address()),
                                           " does not sleep again (", undone.message(), ")"));
  }
  return status;
}

absl::Status SleepMode::WakeAll(const std::vector<Sleeper>& sleepers) {
  // Memory first: contents are copied only when nothing is left that could run out.
  for (const Sleeper& sleeper : sleepers) {
    absl::Status status = sleeper.memory->PrepareWake();
    if (!status.ok()) return status;
  }
  for (const Sleeper& sleeper : sleepers) {
    absl::Status status = sleeper.memory->Wake();
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

SleepMode::Stats SleepMode::GetStats() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  Stats stats;
  const auto physical = [](const SleepingBuffer& memory) {
    const MemoryStats now = memory.stats();
    return now.in_use + now.leaving + now.cached;
  };
  for (const auto& [address, block] : blocks_) {
    Bytes& sum = block.memory->awake() ? stats.awake : stats.asleep;
    sum = sum + block.memory->size();
    if (block.memory->saved()) stats.saved = stats.saved + block.memory->size();
    stats.physical = stats.physical + physical(*block.memory);
  }
  for (const auto& memory : freed_) stats.physical = stats.physical + physical(*memory);
  return stats;
}

}  // namespace twinmmu::examples
