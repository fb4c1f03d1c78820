// What was said of the pages of managed memory.

#ifndef TWINMMU_SIM_MEMORY_MANAGED_HINTS_H_
#define TWINMMU_SIM_MEMORY_MANAGED_HINTS_H_

#include <cstdint>
#include <map>
#include <optional>

#include "absl/functional/function_ref.h"
#include "api/address.h"
#include "api/allocation.h"

namespace twinmmu {

struct ManagedHints {
  bool read_mostly = false;
  std::optional<Location> preferred;
  std::optional<Location> prefetched;  // where to, last
  uint64_t accessed_by = 0;            // a bit for each device
  bool accessed_by_host = false;

  bool operator==(const ManagedHints& other) const;
};

// Page by page: a range means all pages that have a byte of it. Not thread-safe.
//
// As an H200 with driver 580.159 does it: the pages of a block lie in pieces, and neighbours with
// the same hints become one. Who goes through a range is behind a piece, as he thinks, when he has
// taken as many steps as it has pages, with those before the range and those that it was joined
// with: so pages of later pieces may be left out.
class HintsByPage {
 public:
  // Does change(hints) for the pages of `range`, which lies in `block`, of the same pages each
  // time. Throws std::bad_alloc, and then has changed nothing.
  void Edit(const AddressRange& range, const AddressRange& block,
            absl::FunctionRef<void(ManagedHints&)> change);
  // The pages of `range` have no hints any more. Where there is no memory to keep those of their
  // neighbours, all are forgotten: nothing else follows from hints.
  void Forget(const AddressRange& range);
  // What the pages of `range` have in common; it has one.
  ManagedHints InCommon(const AddressRange& range, const AddressRange& block) const;

 private:
  struct Piece {
    uint64_t begin = 0;
    uint64_t end = 0;
    ManagedHints hints;

    uint64_t size() const { return end - begin; }
  };
  using Pieces = std::map<uint64_t, Piece>;  // by begin

  // That with `page`; where there is none, all that is between two, without hints.
  Piece PieceAt(uint64_t page, const AddressRange& block) const;
  // All pages of `block` are in pieces.
  void Fill(const AddressRange& block);
  // No piece reaches over `page`.
  void Split(uint64_t page);
  // Makes it one with its neighbours in `block` that have the same hints.
  Pieces::iterator Join(Pieces::iterator piece, const AddressRange& block);

  Pieces pieces_;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_MEMORY_MANAGED_HINTS_H_
