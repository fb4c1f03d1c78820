// Boxes in arrays, which copies read and write.

#include <algorithm>
#include <shared_mutex>
#include <utility>

#include "sim/base/errors.h"
#include "sim/calls/arrays/simulated_sparse_arrays.h"
#include "sim/calls/executor/simulated_copies.h"
#include "sim/diagnostics/call_record.h"

namespace twinmmu {
namespace {

constexpr char kCopyCall[] = "cuMemcpy3DAsync";

}  // namespace

class SimulatedSparseArrays::Box : public BoxOfRows {
 public:
  // x of `offset` is in bytes.
  Box(const Mmu& mmu, StatePtr state, uint32_t level, const ArrayExtent& offset)
      : mmu_(mmu), state_(std::move(state)), level_(level), offset_(offset) {}

  void ForEachPiece(uint64_t y, uint64_t z, uint64_t offset, uint64_t size,
                    absl::FunctionRef<void(char*, uint64_t)> visit) const override {
    if (state_->gone) return;
    const ArrayLayout& layout = state_->layout;
    const uint64_t element = layout.element();
    const uint64_t layer = layout.has_depth() ? 0 : offset_.z + z;
    const uint64_t depth = layout.has_depth() ? offset_.z + z : 0;
    const uint64_t end = offset_.x + offset + size;
    for (uint64_t x = offset_.x + offset; x < end;) {
      const ArrayLayout::Run run = layout.RunAt(level_, layer, {x / element, offset_.y + y, depth});
      const uint64_t inside = x % element;  // of an element that is not copied whole
      const uint64_t bytes = std::min(run.elements * element - inside, end - x);
      char* const memory = state_->MemoryOf(mmu_, run.block);
      visit(memory == nullptr ? nullptr : memory + run.offset + inside, bytes);
      x += bytes;
    }
  }

  const char* WhyNot() const override {
    const bool missing = state_->is_missing();
    return missing ? "no memory was mapped to the array, which is one of deferred mapping"
                   : nullptr;
  }

 private:
  const Mmu& mmu_;
  const StatePtr state_;
  const uint32_t level_;
  const ArrayExtent offset_;
};

char* SimulatedSparseArrays::State::MemoryOf(const Mmu& mmu, uint64_t block) const {
  if (own.data() != nullptr) return own.data() + block * ArrayLayout::kBlock;
  const auto found = blocks.find(block);
  if (found == blocks.end()) return nullptr;
  const Block& mapped = found->second;
  return mmu.memory[mapped.allocation].pages->backing.data() + mapped.offset;
}

absl::StatusOr<CopySide> SimulatedSparseArrays::BoxIn(const char* call, Array array,
                                                      const ArrayExtent& offset,
                                                      const CopyShape& shape) const {
  const absl::StatusOr<NamedArray> found = Find(call, array, DriverCode::kInvalidValue);
  if (!found.ok()) return found.status();
  const ArrayLayout& layout = found->state->layout;
  const ArrayExtent& size = layout.level(found->level).extent;
  const uint64_t depth = layout.has_depth() ? size.z : layout.layers();
  if (!IsInside(offset.x, shape.width, size.x * layout.element()) ||
      !IsInside(offset.y, shape.height, size.y) || !IsInside(offset.z, shape.depth, depth)) {
    const std::shared_lock lock(mmu_.mutex);
    return RefuseCall(state_, call, AddressRange(), {DiagnosticKind::kImpossibleCopy}, shape.width,
                      " bytes x ", shape.height, " x ", shape.depth, " at ", offset.x, ", ",
                      offset.y, ", ", offset.z, " reach beyond the array of ",
                      size.x * layout.element(), " bytes x ", size.y, " x ", depth);
  }
  CopySide side;
  side.kind = CopySide::kArray;
  side.device = array.device();
  side.array = std::make_shared<Box>(mmu_, found->state, found->level, offset);
  const ArrayDescriptor& descriptor = found->state->descriptor;
  side.has_rows_for_layers = (descriptor.flags & kArrayLayered) != 0 && descriptor.extent.y == 0;
  return side;
}

absl::Status SimulatedSparseArrays::CopyElements(Stream stream, Array array,
                                                 const ArrayExtent& offset,
                                                 const ArrayExtent& extent, const void* host,
                                                 bool to_array) {
  const absl::Status usable = state_.CheckContext(kCopyCall, stream.device());
  if (!usable.ok()) return usable;
  const absl::StatusOr<NamedArray> found = Find(kCopyCall, array, DriverCode::kInvalidValue);
  if (!found.ok()) return found.status();
  const uint64_t element = found->state->layout.element();
  const ArrayExtent& size = found->state->layout.level(found->level).extent;
  if (!IsInside(offset.x, extent.x, size.x)) {
    return InvalidValue(kCopyCall, extent.x, " elements at ", offset.x, " are not in rows of ",
                        size.x);
  }
  CopyOperation operation;
  operation.shape = {extent.x * element, extent.y, extent.z};
  const absl::StatusOr<CopySide> box =
      BoxIn(kCopyCall, array, {offset.x * element, offset.y, offset.z}, operation.shape);
  if (!box.ok()) return box.status();
  const Bytes row(operation.shape.width);
  const Bytes all = row * extent.y * extent.z;
  if (all == Bytes(0)) return absl::OkStatus();
  const AddressRange memory{DeviceAddress(reinterpret_cast<uint64_t>(host)), all, Bytes(0)};
  if (host == nullptr || mmu_.OverlapsDevices(memory)) {
    return InvalidValue(kCopyCall, "the pointer is null, or not of host memory");
  }
  const CopySide packed{CopySide::kHost, stream.device(), memory.subrange(Bytes(0), row), row,
                        row * extent.y};
  operation.written = to_array ? *box : packed;
  operation.read = to_array ? packed : *box;
  return copies_.Do({kCopyCall, stream, SimulatedCopies::Returns::kWhenQueued},
                    std::move(operation));
}

absl::Status SimulatedSparseArrays::DoCopyHostToArray(Stream stream, Array array,
                                                      const ArrayExtent& offset,
                                                      const ArrayExtent& extent,
                                                      const void* source) {
  return CopyElements(stream, array, offset, extent, source, true);
}

absl::Status SimulatedSparseArrays::DoCopyArrayToHost(Stream stream, void* destination, Array array,
                                                      const ArrayExtent& offset,
                                                      const ArrayExtent& extent) {
  return CopyElements(stream, array, offset, extent, destination, false);
}

}  // namespace twinmmu
