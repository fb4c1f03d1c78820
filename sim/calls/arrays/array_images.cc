// Arrays as kernels see them, through texture and surface objects.

#include <memory>
#include <utility>

#include "sim/calls/arrays/simulated_sparse_arrays.h"

namespace twinmmu {

// Keeps the shape of the array, whose memory goes when it is destroyed.
class SimulatedSparseArrays::Elements : public ptx::TexelMemory {
 public:
  Elements(const Mmu& mmu, StatePtr state) : mmu_(mmu), state_(std::move(state)) {}

  bool gone() const override { return state_->gone; }
  bool is_missing() const override { return state_->is_missing(); }
  char* ElementAt(uint32_t level, uint64_t layer, const ArrayExtent& at) const override {
    const ArrayLayout::Run run = state_->layout.RunAt(level, layer, at);
    char* const memory = state_->MemoryOf(mmu_, run.block);
    return memory == nullptr ? nullptr : memory + run.offset;
  }

  // The levels from `level` on, all or that alone.
  static ptx::Image ImageOf(const Mmu& mmu, const StatePtr& state, uint32_t level, bool all) {
    const ArrayDescriptor& descriptor = state->descriptor;
    const ArrayLayout& layout = state->layout;
    ptx::Image image;
    image.format = descriptor.format;
    image.channels = descriptor.channels;
    image.dimensions = layout.has_depth() ? 3 : descriptor.extent.y != 0 ? 2 : 1;
    image.layered = (descriptor.flags & kArrayLayered) != 0;
    image.cube = (descriptor.flags & kArrayCubemap) != 0;
    image.extent = layout.level(level).extent;
    image.layers = layout.layers();
    image.first_level = level;
    image.levels = all ? layout.levels() - level : 1;
    image.elements = std::make_shared<Elements>(mmu, state);
    return image;
  }

 private:
  const Mmu& mmu_;
  const StatePtr state_;
};

absl::StatusOr<ptx::Image> SimulatedSparseArrays::ImageOf(const char* call, Array array) const {
  const absl::StatusOr<NamedArray> found = Find(call, array, DriverCode::kInvalidValue);
  if (!found.ok()) return found.status();
  return Elements::ImageOf(mmu_, found->state, found->level, /*all=*/false);
}

absl::StatusOr<ptx::Image> SimulatedSparseArrays::ImageOf(const char* call,
                                                          MipmappedArray mipmap) const {
  const absl::StatusOr<NamedMipmap> found = Find(call, mipmap, DriverCode::kInvalidValue);
  if (!found.ok()) return found.status();
  return Elements::ImageOf(mmu_, found->state, 0, /*all=*/true);
}

}  // namespace twinmmu
