// SimulatedSparseArrays: SparseArrays on a software MMU.

#ifndef TWINMMU_SIM_CALLS_ARRAYS_SIMULATED_SPARSE_ARRAYS_H_
#define TWINMMU_SIM_CALLS_ARRAYS_SIMULATED_SPARSE_ARRAYS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/call_macros.h"
#include "api/diagnostics.h"
#include "api/sparse_arrays.h"
#include "sim/base/call_guard.h"
#include "sim/base/handle_table.h"
#include "sim/calls/arrays/array_layout.h"
#include "sim/calls/executor/copy_operation.h"
#include "sim/host/backing.h"
#include "sim/ptx/textures/texture.h"
#include "sim/state/simulator_state.h"

namespace twinmmu {

class SimulatedCopies;
class SimulatedStreams;

// An array is a table of blocks, each of which lies in an allocation, or nowhere. Each pins its
// allocation. Work is checked at the call and queued as copies are; what it maps is pinned from the
// call on. Definitions: simulated_sparse_arrays.cc, and sparse_array_work.cc for what goes to
// streams.
class SimulatedSparseArrays : public SparseArrays {
 public:
  // All must outlive this object, and be done with its work.
  SimulatedSparseArrays(SimulatorState* state, SimulatedStreams* streams, SimulatedCopies* copies)
      : state_(*state), streams_(*streams), copies_(*copies) {}

  TWINMMU_SPARSE_ARRAYS_CALLS(TWINMMU_OVERRIDE, )

  // The box at `offset` in an array, for a copy; x is in bytes, and `shape` need be no whole
  // elements. InvalidArgument (INVALID_VALUE): no such array, or the box reaches beyond it.
  absl::StatusOr<CopySide> BoxIn(const char* call, Array array, const ArrayExtent& offset,
                                 const CopyShape& shape) const;
  // The memory that is mapped to an array with kArrayDeferred, or to all levels of a mipmapped one.
  // InvalidArgument (INVALID_VALUE): no such array, or not such a one, or a level.
  absl::StatusOr<Bytes> GetMemoryNeeded(Array array);
  absl::StatusOr<Bytes> GetMemoryNeeded(MipmappedArray mipmap);
  // What array was made of. NotFound: none.
  absl::StatusOr<ArrayDescriptor> GetDescriptor(Array array);
  // Where an array or a mipmapped one lies. Nothing: there is none.
  std::optional<DeviceOrdinal> DeviceOfArray(uint64_t array) const;
  std::optional<DeviceOrdinal> DeviceOfMipmappedArray(uint64_t mipmap) const;
  // The elements of an array, or of all levels of a mipmapped one, as kernels see them.
  // InvalidArgument (INVALID_VALUE): no such array.
  absl::StatusOr<ptx::Image> ImageOf(const char* call, Array array) const;
  absl::StatusOr<ptx::Image> ImageOf(const char* call, MipmappedArray mipmap) const;
  // The arrays that were not destroyed.
  std::vector<Diagnostic> Leaks() const;

 private:
  TWINMMU_SPARSE_ARRAYS_CALLS(TWINMMU_BODY, )

  struct Block {
    uint32_t allocation = 0;
    uint64_t offset = 0;
  };
  // The memory of an array; kept as long as work needs it.
  struct State {
    DeviceOrdinal device;
    ArrayDescriptor descriptor;
    ArrayLayout layout;
    Backing own;        // of an array that is neither sparse nor deferred; with Mmu::mutex
    bool gone = false;  // with Mmu::mutex
    std::map<uint64_t, Block> blocks;  // with Mmu::mutex; what is mapped, by block
    std::shared_ptr<State> next_unfreed;

    bool is_deferred() const { return (descriptor.flags & kArrayDeferred) != 0; }
    // With Mmu::mutex held, if only shared.
    bool is_missing() const { return is_deferred() && !gone && blocks.empty(); }
    // Of a block; null: nothing is mapped there. With Mmu::mutex held.
    char* MemoryOf(const Mmu& mmu, uint64_t block) const;
  };
  using StatePtr = std::shared_ptr<State>;
  struct NamedArray {
    StatePtr state;
    uint32_t level = 0;
    uint64_t mipmap = 0;  // that it is a level of; 0: none
    uint64_t made_by = 0;
  };
  struct NamedMipmap {
    StatePtr state;
    std::vector<uint64_t> levels;  // the arrays that name them; 0: not asked for yet
    uint64_t made_by = 0;
  };
  // What one operation does when it runs: `unmapped`, or else `mapped`. The entries exist before,
  // so that nothing can fail then.
  struct Change {
    StatePtr state;
    std::vector<uint64_t> unmapped;
    bool unmaps_all = false;
    std::map<uint64_t, Block> mapped;
  };
  class Box;
  class Elements;

  absl::Status CheckDescriptor(const char* call, DeviceOrdinal device,
                               const ArrayDescriptor& descriptor, bool mipmapped) const;
  absl::StatusOr<StatePtr> Make(const char* call, DeviceOrdinal device,
                                const ArrayDescriptor& descriptor, uint32_t levels);
  void Drop(const StatePtr& state);
  static absl::StatusOr<Bytes> MemoryNeeded(const char* call, const State& state);
  // Gives a name to what was made, or drops it again.
  template <typename Named>
  uint64_t Insert(HandleTable<Named>& table, Named named);
  // With Mmu::mutex held.
  absl::Status NoSuchArray(const char* call, DeviceOrdinal device, uint64_t value,
                           DriverCode code) const;
  absl::StatusOr<NamedArray> Find(const char* call, Array array, DriverCode code) const;
  absl::StatusOr<NamedMipmap> Find(const char* call, MipmappedArray mipmap, DriverCode code) const;

  // The array of an operation. With Mmu::mutex held.
  absl::StatusOr<StatePtr> ArrayOf(Stream stream, const TileOperation& operation) const;
  // The blocks of an operation, in the order of its memory.
  absl::StatusOr<std::vector<uint64_t>> BlocksOf(const State& state,
                                                 const TileOperation& operation) const;
  absl::StatusOr<Change> Prepare(Stream stream, const TileOperation& operation);
  absl::StatusOr<Change> PrepareWhole(Stream stream, const TileOperation& operation,
                                      Change change) const;
  absl::Status CheckMemory(Stream stream, const TileOperation& operation, uint64_t blocks) const;
  void Apply(std::vector<Change>& changes);
  // Between a box of elements and memory of the host, where rows are packed.
  absl::Status CopyElements(Stream stream, Array array, const ArrayExtent& offset,
                            const ArrayExtent& extent, const void* host, bool to_array);

  SimulatorState& state_;
  Mmu& mmu_ = state_.mmu;
  SimulatedStreams& streams_;
  SimulatedCopies& copies_;
  const CallGuard guard_;
  StatePtr unfreed_;          // with Mmu::mutex; those whose memory the host would not take yet
  mutable std::mutex mutex_;  // guards the tables; a leaf
  HandleTable<NamedArray> arrays_;
  HandleTable<NamedMipmap> mipmaps_;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_CALLS_ARRAYS_SIMULATED_SPARSE_ARRAYS_H_
