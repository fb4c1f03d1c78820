// PooledPieces: which parts of the memory of pools are allocated, and were.

#ifndef TWINMMU_SIM_MEMORY_POOLED_PIECES_H_
#define TWINMMU_SIM_MEMORY_POOLED_PIECES_H_

#include <cstdint>
#include <iterator>
#include <map>
#include <utility>

#include "api/address.h"
#include "api/allocation.h"

namespace twinmmu {

// One stream-ordered allocation.
struct PooledPiece {
  AddressRange range;  // what was asked for, to the byte
  Bytes room;          // what it takes of the pool
  uint64_t pool = 0;   // the handle of the pool
  bool on_device = true;
  HandleType handle_types = HandleType::kNone;  // of the pool
  uint64_t buffer_id = 0;                       // never used again, for mappings neither
  uint64_t made_by = 0;                         // the id of the call
  uint64_t freed_by = 0;  // the same of the free, 0 before it: the memory is still there
};

// By address, those that were freed too, until the pool gives their addresses away. Not
// thread-safe, but for the const members.
class PooledPieces {
 public:
  bool empty() const { return pieces_.empty(); }

  // The piece that contains `address`, or null.
  const PooledPiece* Find(DeviceAddress address) const {
    const auto above = pieces_.upper_bound(address.value());
    if (above == pieces_.begin()) return nullptr;
    const PooledPiece& piece = std::prev(above)->second;
    return piece.range.contains(address) ? &piece : nullptr;
  }
  // The piece that contains all of `range`, or null.
  const PooledPiece* FindAll(const AddressRange& range) const {
    const PooledPiece* const piece = Find(range.base);
    return piece != nullptr && piece->range.contains(range) ? piece : nullptr;
  }
  // Calls visit(piece) for each that shares a byte with `range`, in order of addresses.
  template <typename Visit>
  void ForEachIn(const AddressRange& range, const Visit& visit) const {
    auto at = pieces_.upper_bound(range.base.value());
    if (at != pieces_.begin() && std::prev(at)->second.range.overlaps(range)) --at;
    for (; at != pieces_.end() && at->second.range.overlaps(range); ++at) visit(at->second);
  }
  template <typename Visit>
  void ForEach(const Visit& visit) const {
    for (const auto& [base, piece] : pieces_) visit(piece);
  }

  // For Add, which cannot fail with it; the range can still be set.
  using Prepared = std::map<uint64_t, PooledPiece>::node_type;
  static Prepared Prepare(const PooledPiece& piece) {
    std::map<uint64_t, PooledPiece> made;
    return made.extract(made.emplace(0, piece).first);
  }
  // In the place of those that were freed there.
  void Add(Prepared prepared) {
    const PooledPiece& piece = prepared.mapped();
    Remove({piece.range.base, piece.room, Bytes(0)});
    prepared.key() = piece.range.base.value();
    pieces_.insert(std::move(prepared));
  }
  // The piece that begins there was freed.
  void SetFreed(DeviceAddress base, uint64_t call) {
    pieces_.find(base.value())->second.freed_by = call;
  }
  // Forgets those that share a byte with `range`.
  void Remove(const AddressRange& range) {
    auto at = pieces_.upper_bound(range.base.value());
    if (at != pieces_.begin() && std::prev(at)->second.range.overlaps(range)) --at;
    while (at != pieces_.end() && at->second.range.overlaps(range)) at = pieces_.erase(at);
  }

 private:
  std::map<uint64_t, PooledPiece> pieces_;  // by base
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_MEMORY_POOLED_PIECES_H_
