// The frames of a warp, and what their registers hold at first.

#include <algorithm>
#include <chrono>
#include <cstring>

#include "api/address.h"
#include "sim/profile/device_limits.h"
#include "sim/ptx/run/async/cluster.h"
#include "sim/ptx/run/block.h"
#include "sim/ptx/run/warp.h"

namespace twinmmu::ptx {
namespace {

// Of what the system takes of shared memory, what it uses; as an H100 says.
constexpr uint32_t kUsedOfReserved = 288;
// A full multiprocessor of an H100 has 16 warps for each of its schedulers, which take turns.
constexpr uint64_t kClocksOfStep = 16;
constexpr uint32_t kMaxDepth = 4096;
constexpr uint64_t kMaxFrameBytes = uint64_t{32} << 20;
constexpr uint64_t kMaxLocalBytes = uint64_t{512} << 10;

// Local memory of a lane, and of a frame, begins at a multiple of what a variable may be aligned
// to.
uint64_t AlignLocal(uint64_t bytes) {
  constexpr uint64_t kAlignment = 256;
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

template <typename T>
void Repeat(char* slot, T value) {
  std::fill_n(reinterpret_cast<T*>(slot), kLanes, value);
}
// Of a slot whose values have `width` bytes; 0: of a predicate.
void Repeat(char* slot, uint8_t width, uint64_t value) {
  switch (width) {
    case 0:
      *reinterpret_cast<Lanes*>(slot) = value != 0 ? kAllLanes : 0;
      return;
    case 2:
      return Repeat(slot, static_cast<uint16_t>(value));
    case 4:
      return Repeat(slot, static_cast<uint32_t>(value));
    default:
      return Repeat(slot, value);
  }
}

// Whether its lanes differ in it.
bool IsOfLane(Special special) {
  switch (special) {
    case Special::kTidX:
    case Special::kTidY:
    case Special::kTidZ:
    case Special::kLane:
    case Special::kLanesEqual:
    case Special::kLanesBelow:
    case Special::kLanesBelowOrEqual:
    case Special::kLanesAboveOrEqual:
    case Special::kLanesAbove:
      return true;
    default:
      return false;
  }
}

uint64_t NanosecondsOfHost() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
}

}  // namespace

bool Warp::GrowLocal(uint64_t bytes) {
  if (bytes > kMaxLocalBytes) return false;
  if (bytes <= local_stride_) return true;
  const uint64_t stride = std::min(AlignLocal(std::max(bytes, 2 * local_stride_)), kMaxLocalBytes);
  taken_.Resize(frame_bytes_ + stride * kLanes);
  std::vector<char> grown(stride * kLanes);
  for (uint64_t lane = 0; lane < kLanes; ++lane) {
    std::copy_n(local_.begin() + static_cast<ptrdiff_t>(lane * local_stride_), local_stride_,
                grown.begin() + static_cast<ptrdiff_t>(lane * stride));
  }
  local_.swap(grown);
  local_stride_ = stride;
  return true;
}

// False: there is no room for another call.
bool Warp::Enter(const FunctionCode& function, Frame* parent, uint32_t call, Lanes lanes,
                 Frame** entered) {
  const uint64_t local_base = parent == nullptr ? 0 : AlignLocal(parent->local_end);
  for (Frame* frame : used_) {
    if (frame->parent != parent || frame->call != call || frame->function != &function) continue;
    if (frame->local_base < local_base) continue;  // over what lanes have taken since
    frame->lanes |= lanes;
    *entered = frame;
    return true;
  }
  const uint32_t depth = parent == nullptr ? 0 : parent->depth + 1;
  if (depth >= kMaxDepth || !GrowLocal(local_base + function.local_bytes)) return false;
  const auto known = std::find_if(unused_.rbegin(), unused_.rend(),
                                  [&](const Frame* frame) { return frame->function == &function; });
  Frame* frame = nullptr;
  if (known != unused_.rend()) {
    frame = *known;
    unused_.erase(std::next(known).base());
    std::memset(frame->data(), 0, function.register_bytes);
    std::fill(frame->passed.begin(), frame->passed.end(), 0);
  } else {
    const uint64_t bytes =
        function.register_bytes + uint64_t{function.passed_bytes} * kLanes + sizeof(Frame);
    if (parent != nullptr && frame_bytes_ + bytes > kMaxFrameBytes) return false;
    taken_.Resize(frame_bytes_ + bytes + local_.size());
    auto made = std::make_unique<Frame>();
    made->function = &function;
    made->registers.resize(function.register_bytes / kSlotAlignment + 1);
    made->passed.resize(size_t{function.passed_bytes} * kLanes);
    used_.reserve(frames_.size() + 1);  // so that what is given back is never lost
    unused_.reserve(frames_.size() + 1);
    frames_.push_back(std::move(made));
    frame = frames_.back().get();
    frame_bytes_ += bytes;
  }
  used_.push_back(frame);
  frame->parent = parent;
  frame->call = call;
  frame->depth = depth;
  frame->lanes = lanes;
  frame->local_base = static_cast<uint32_t>(local_base);
  frame->local_end = frame->local_base + function.local_bytes;
  frame->stack_ends.fill(frame->local_end);
  for (int lane = 0; function.local_bytes != 0 && lane < kLanes; ++lane) {
    std::memset(local_.data() + local_stride_ * lane + local_base, 0, function.local_bytes);
  }
  FillFixed(frame);
  *entered = frame;
  return true;
}

void Warp::Leave(Frame* frame, Lanes lanes) {
  frame->lanes &= ~lanes;
  if (frame->lanes != 0) return;
  used_.erase(std::find(used_.begin(), used_.end(), frame));
  unused_.push_back(frame);
}

void Warp::FillFixed(Frame* frame) {
  for (const FixedSlot& fixed : frame->function->fixed) Broadcast(frame, fixed);
}

void Warp::Broadcast(Frame* frame, const FixedSlot& fixed) {
  char* const slot = frame->data() + fixed.slot;
  const auto special = static_cast<Special>(fixed.index);
  if (fixed.base == FixedSlot::kSpecial && IsOfLane(special)) {
    // Of the lanes one behind the other: to divide for each of them takes a tenth of a short
    // launch.
    Dim3 thread = block_.ThreadAt(number_, 0);
    for (int lane = 0; lane < kLanes; ++lane) {
      const uint64_t value = SpecialOf(special, lane, thread);
      std::memcpy(slot + lane * fixed.width, &value, fixed.width);
      thread = block_.ThreadBehind(thread);
    }
    return;
  }
  uint64_t value = fixed.bits;
  if (fixed.base == FixedSlot::kSpecial) value = SpecialOf(special);
  if (fixed.base == FixedSlot::kImage) value += block_.grid().launch->image.value();
  if (fixed.base == FixedSlot::kManaged) {
    value += (*block_.grid().launch->managed)[static_cast<size_t>(fixed.index)].base.value();
  }
  if (fixed.base == FixedSlot::kLocal) value += frame->local_base;
  if (fixed.base == FixedSlot::kShared) {
    value += block_.shared_base() + block_.grid().reserved_shared +
             block_.grid().kernel->shared->OffsetOf(fixed.index);
  }
  Repeat(slot, fixed.width, value);
}

// One that is the same for all lanes, and while the block runs.
uint64_t Warp::SpecialOf(Special special) const {
  const GridContext& grid = block_.grid();
  const Dim3& threads = grid.launch->config.block;
  const Dim3& blocks = grid.launch->config.grid;
  switch (special) {
    case Special::kNtidX:
      return threads.x;
    case Special::kNtidY:
      return threads.y;
    case Special::kNtidZ:
      return threads.z;
    case Special::kCtaidX:
      return block_.index().x;
    case Special::kCtaidY:
      return block_.index().y;
    case Special::kCtaidZ:
      return block_.index().z;
    case Special::kNctaidX:
      return blocks.x;
    case Special::kNctaidY:
      return blocks.y;
    case Special::kNctaidZ:
      return blocks.z;
    case Special::kWarp:
      return static_cast<uint64_t>(number_);
    case Special::kWarps:
      return (grid.threads() + kLanes - 1) / kLanes;
    case Special::kSm:
      return block_.sm();
    case Special::kSms:
      return grid.sms;
    case Special::kGridId:
      return grid.number;
    case Special::kDynamicShared:
      return grid.launch->config.dynamic_shared_bytes;
    case Special::kTotalShared:
      return RoundUp(Bytes(grid.asked_shared()), Bytes(kSharedMemoryUnit)).value();
    case Special::kAggregateShared:
      return grid.asked_shared() + grid.reserved_shared;
    case Special::kReservedEnd:
      return std::min(grid.reserved_shared, kUsedOfReserved);
    case Special::kReservedShared:
      return grid.reserved_shared;
    case Special::kWorkspaceHigh:
      return grid.launch->workspace.value() >> 32;
    case Special::kWorkspaceLow:
      return grid.launch->workspace.value() & 0xffffffff;
    default:
      return SpecialOfCluster(special);
  }
}

uint64_t Warp::SpecialOfCluster(Special special) const {
  const GridContext& grid = block_.grid();
  const Dim3& blocks = grid.launch->config.grid;
  const Dim3& index = block_.cluster().index();
  const Dim3 place = block_.cluster().PlaceOf(block_.rank());
  switch (special) {
    case Special::kClusterX:
      return index.x;
    case Special::kClusterY:
      return index.y;
    case Special::kClusterZ:
      return index.z;
    case Special::kClustersX:
      return blocks.x / grid.cluster.x;
    case Special::kClustersY:
      return blocks.y / grid.cluster.y;
    case Special::kClustersZ:
      return blocks.z / grid.cluster.z;
    case Special::kInClusterX:
      return place.x;
    case Special::kInClusterY:
      return place.y;
    case Special::kInClusterZ:
      return place.z;
    case Special::kOfClusterX:
      return grid.cluster.x;
    case Special::kOfClusterY:
      return grid.cluster.y;
    case Special::kOfClusterZ:
      return grid.cluster.z;
    case Special::kClusterRank:
      return block_.rank();
    case Special::kClusterBlocks:
      return block_.cluster().size();
    case Special::kExplicitCluster:
      return grid.explicit_cluster ? 1 : 0;
    case Special::kOwnShared:
      return kSharedWindow + block_.shared_base();
    default:
      return 0;
  }
}

// One that IsOfLane.
uint64_t Warp::SpecialOf(Special special, int lane, const Dim3& thread) {
  const Lanes own = Lanes{1} << lane;
  switch (special) {
    case Special::kTidX:
      return thread.x;
    case Special::kTidY:
      return thread.y;
    case Special::kTidZ:
      return thread.z;
    case Special::kLane:
      return static_cast<uint64_t>(lane);
    case Special::kLanesEqual:
      return own;
    case Special::kLanesBelow:
      return own - 1;
    case Special::kLanesBelowOrEqual:
      return (own - 1) | own;
    case Special::kLanesAboveOrEqual:
      return ~(own - 1);
    case Special::kLanesAbove:
      return ~(own - 1) & ~own;
    default:
      return 0;
  }
}

// Timers have what the host has of nanoseconds; clocks, the steps of the warp, so that they are the
// same in each run, and kernels that pass the time by them do not ask the host.
void Warp::ReadSpecial(Special special, uint32_t slot) {
  const bool of_clock =
      special == Special::kClock || special == Special::kClockHigh || special == Special::kClock64;
  const uint64_t value = of_clock ? clock * kClocksOfStep : NanosecondsOfHost();
  char* const to = frame().data() + slot;
  if (special == Special::kClock64 || special == Special::kTimer64) return Repeat(to, value);
  const bool high = special == Special::kClockHigh || special == Special::kTimerHigh;
  Repeat(to, static_cast<uint32_t>(high ? value >> 32 : value));
}

}  // namespace twinmmu::ptx
