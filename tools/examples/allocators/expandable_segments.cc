#include "tools/examples/allocators/expandable_segments.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "api/allocators/destructor_errors.h"
#include "api/allocators/keep_forever.h"
#include "api/driver_error.h"

namespace twinmmu::examples {

namespace {

constexpr Bytes kBlockAlignment(512);
constexpr Bytes kLeastSegment = GiB(1);

}  // namespace

absl::StatusOr<std::unique_ptr<ExpandableSegments>> ExpandableSegments::Make(Vmm* vmm,
                                                                             Executor* executor,
                                                                             Options options) {
  if (vmm == nullptr) return absl::InvalidArgumentError("vmm is null");
  if (executor == nullptr) return absl::InvalidArgumentError("executor is null");
  if (options.pages.properties.location.type != LocationType::kDevice) {
    return absl::InvalidArgumentError(
        absl::StrCat("location ", ToString(options.pages.properties.location), " is not a device"));
  }
  return std::unique_ptr<ExpandableSegments>(
      new ExpandableSegments(vmm, executor, std::move(options)));
}

ExpandableSegments::ExpandableSegments(Vmm* vmm, Executor* executor, Options options)
    : vmm_(vmm), executor_(executor), options_(std::move(options)), tracker_(executor) {}

ExpandableSegments::~ExpandableSegments() {
  if (!open_) return;
  const absl::Status waited = WaitForAll();
  if (waited.ok()) {
    // What a segment cannot give back it reports itself.
    Close().IgnoreError();
  } else {
    ReportFromDestructor(waited);
    for (Segment& segment : segments_) KeepForever(std::move(segment.memory));
  }
}

absl::Status ExpandableSegments::CheckOpen() const {
  if (open_) return absl::OkStatus();
  return absl::FailedPreconditionError("the allocator was closed");
}

// --- Blocks ------------------------------------------------------------------------------------

absl::StatusOr<DeviceAddress> ExpandableSegments::Allocate(Bytes size, Stream stream) {
  const std::lock_guard<std::mutex> lock(mutex_);
  absl::Status status = CheckOpen();
  if (!status.ok()) return status;
  if (size == Bytes(0)) return absl::InvalidArgumentError("size is 0: a block has at least a byte");
  absl::StatusOr<Segment*> segment = SegmentOf(stream);
  if (!segment.ok()) return segment.status();
  CollectWaiting(**segment);

  absl::StatusOr<Blocks::iterator> found = FindAndCommit(**segment, size);
  if (GetDriverCode(found.status()) == DriverCode::kOutOfMemory) {
    Reclaim();
    found = FindAndCommit(**segment, size);
  }
  if (!found.ok()) return found.status();
  auto& [offset, block] = **found;
  const Bytes wanted = RoundUp(size, kBlockAlignment);
  Blocks& blocks = (*segment)->blocks;
  if (block.size > wanted) {
    blocks[offset + wanted] = Block{block.size - wanted, State::kFree, {}};
  }
  block = Block{wanted, State::kInUse, {}};
  return (*segment)->memory->address() + offset;
}

absl::StatusOr<ExpandableSegments::Blocks::iterator> ExpandableSegments::FindAndCommit(
    Segment& segment, Bytes size) {
  // Checked before it is rounded up, which may wrap.
  const bool too_large = size > segment.memory->size();
  const Bytes wanted = RoundUp(size, kBlockAlignment);
  const auto block = too_large ? segment.blocks.end() : FindFree(segment, wanted);
  if (block == segment.blocks.end()) {
    return absl::ResourceExhaustedError(absl::StrCat("no ", ToString(size),
                                                     " of addresses are left in the segment of ",
                                                     ToString(segment.memory->size())));
  }
  absl::Status status = CommitPages(segment, block->first, wanted);
  if (!status.ok()) return status;
  return block;
}

absl::Status ExpandableSegments::Free(DeviceAddress address, absl::Span<const LastUse> other_uses) {
  const std::lock_guard<std::mutex> lock(mutex_);
  absl::Status status = CheckOpen();
  if (!status.ok()) return status;
  Segment* const segment = SegmentAt(address);
  const auto block = segment == nullptr
                         ? Blocks::iterator()
                         : segment->blocks.find(address - segment->memory->address());
  if (segment == nullptr || block == segment->blocks.end() ||
      block->second.state != State::kInUse) {
    return absl::NotFoundError(absl::StrCat("no block that is in use begins at ", ToString(address),
                                            ": it was freed before, or never"
                                            " allocated"));
  }
  absl::StatusOr<WorkTracker::Mark> mark = tracker_.Set(other_uses);
  if (!mark.ok()) return mark.status();
  block->second.state = State::kWaiting;
  block->second.other_uses = *std::move(mark);
  CollectWaiting(*segment);
  return absl::OkStatus();
}

ExpandableSegments::Blocks::iterator ExpandableSegments::FindFree(Segment& segment, Bytes size) {
  auto best = segment.blocks.end();
  bool best_has_memory = false;
  for (auto block = segment.blocks.begin(); block != segment.blocks.end(); ++block) {
    if (block->second.state != State::kFree || block->second.size < size) continue;
    const bool has_memory = segment.memory->IsResident(block->first, size);
    if (best == segment.blocks.end() || has_memory > best_has_memory ||
        (has_memory == best_has_memory && block->second.size < best->second.size)) {
      best = block;
      best_has_memory = has_memory;
    }
  }
  return best;
}

void ExpandableSegments::MakeFree(Blocks& blocks, Blocks::iterator block) {
  block->second.state = State::kFree;
  const auto next = std::next(block);
  if (next != blocks.end() && next->second.state == State::kFree) {
    block->second.size = block->second.size + next->second.size;
    blocks.erase(next);
  }
  if (block == blocks.begin()) return;
  const auto previous = std::prev(block);
  if (previous->second.state != State::kFree) return;
  previous->second.size = previous->second.size + block->second.size;
  blocks.erase(block);
}

void ExpandableSegments::CollectWaiting(Segment& segment) {
  for (auto block = segment.blocks.begin(); block != segment.blocks.end();) {
    // Looked up before MakeFree, which erases what is free behind the block.
    const auto here = block++;
    if (here->second.state != State::kWaiting) continue;
    const absl::StatusOr<bool> over = tracker_.IsOver(here->second.other_uses);
    if (!over.ok() || !*over) continue;
    tracker_.Drop(here->second.other_uses);
    if (block != segment.blocks.end() && block->second.state == State::kFree) ++block;
    MakeFree(segment.blocks, here);
  }
}

// --- Segments ----------------------------------------------------------------------------------

absl::StatusOr<ExpandableSegments::Segment*> ExpandableSegments::SegmentOf(Stream stream) {
  const int32_t device = options_.pages.properties.location.id;
  if (stream.device() != DeviceOrdinal(device)) {
    return absl::InvalidArgumentError(absl::StrCat("the stream is of ", ToString(stream.device()),
                                                   ", and the memory of device ", device));
  }
  for (Segment& segment : segments_) {
    if (segment.stream == stream) return &segment;
  }
  auto memory = MakeSegmentMemory();
  if (!memory.ok()) return memory.status();
  for (const DeviceOrdinal peer : options_.peers) {
    absl::Status status = (*memory)->Grant(peer, Access::kReadWrite);
    if (!status.ok()) return status;
  }
  Segment segment{stream, *std::move(memory), {}};
  segment.blocks[Bytes(0)] = Block{segment.memory->size(), State::kFree, {}};
  segments_.push_back(std::move(segment));
  return &segments_.back();
}

absl::StatusOr<std::unique_ptr<SparseBuffer>> ExpandableSegments::MakeSegmentMemory() {
  const DeviceOrdinal device(options_.pages.properties.location.id);
  const absl::StatusOr<MemoryInfo> info = vmm_->GetMemoryInfo(device);
  if (!info.ok()) return info.status();
  // More would take the addresses of other streams' segments where there are few.
  for (Bytes size = std::min(options_.segment_size, 2 * info->total);; size = size / 2) {
    auto memory = SparseBuffer::Make(vmm_, executor_, size, options_.pages);
    if (!absl::IsResourceExhausted(memory.status()) || size / 2 < kLeastSegment) return memory;
  }
}

ExpandableSegments::Segment* ExpandableSegments::SegmentAt(DeviceAddress address) {
  for (Segment& segment : segments_) {
    const AddressRange range{segment.memory->address(), segment.memory->size(), Bytes(0)};
    if (range.contains(address)) return &segment;
  }
  return nullptr;
}

absl::Status ExpandableSegments::CommitPages(Segment& segment, Bytes offset, Bytes size) {
  const Bytes page = segment.memory->tile_size();
  const Bytes first = offset - offset % page;
  return segment.memory->Commit(first, RoundUp(offset + size, page) - first);
}

absl::Status ExpandableSegments::TrimSegment(Segment& segment, absl::Span<const LastUse> after) {
  CollectWaiting(segment);
  const Bytes page = segment.memory->tile_size();
  absl::Status first_error;
  for (const auto& [offset, block] : segment.blocks) {
    if (block.state != State::kFree) continue;
    const Bytes first = RoundUp(offset, page);
    const Bytes end = offset + block.size - (offset + block.size) % page;
    if (first >= end) continue;
    first_error.Update(segment.memory->Decommit(first, end - first, after));
  }
  first_error.Update(segment.memory->Compact().status());
  return first_error;
}

absl::Status ExpandableSegments::Trim() {
  const std::lock_guard<std::mutex> lock(mutex_);
  absl::Status status = CheckOpen();
  if (!status.ok()) return status;
  for (Segment& segment : segments_) status.Update(TrimSegment(segment, {segment.stream}));
  return status;
}

void ExpandableSegments::Reclaim() {
  // Whoever asked for memory hears that there is none; why there is not more does not help.
  if (!WaitForAll().ok()) return;
  for (Segment& segment : segments_) {
    // At once: a new mark in the stream would not be over yet.
    TrimSegment(segment, {}).IgnoreError();
  }
}

absl::Status ExpandableSegments::WaitForAll() {
  for (const Segment& segment : segments_) {
    absl::Status status = executor_->SynchronizeStream(segment.stream);
    if (!status.ok() && !ContextsAreLost(status)) return status;
    for (const auto& [offset, block] : segment.blocks) {
      status = tracker_.Wait(block.other_uses);
      if (!status.ok() && !ContextsAreLost(status)) return status;
    }
  }
  return absl::OkStatus();
}

absl::Status ExpandableSegments::Close() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!open_) return absl::OkStatus();
  absl::Status first_error = WaitForAll();
  if (!first_error.ok()) return first_error;
  for (Segment& segment : segments_) {
    for (auto& [offset, block] : segment.blocks) tracker_.Drop(block.other_uses);
    first_error.Update(segment.memory->Close());
  }
  open_ = !first_error.ok();
  return first_error;
}

ExpandableSegments::Stats ExpandableSegments::GetStats() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  Stats stats;
  for (const Segment& segment : segments_) {
    for (const auto& [offset, block] : segment.blocks) {
      if (block.state == State::kInUse) stats.in_use = stats.in_use + block.size;
      if (block.state == State::kWaiting) stats.waiting = stats.waiting + block.size;
    }
    const MemoryStats memory = segment.memory->stats();
    stats.physical = stats.physical + memory.in_use + memory.leaving + memory.cached;
    stats.calls.create += memory.calls.create;
    stats.calls.release += memory.calls.release;
    stats.calls.map += memory.calls.map;
    stats.calls.unmap += memory.calls.unmap;
    stats.calls.set_access += memory.calls.set_access;
  }
  return stats;
}

}  // namespace twinmmu::examples
