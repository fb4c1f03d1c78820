// PooledOrder: when stream-ordered memory is allocated, used and freed, in the order of streams.

#ifndef TWINMMU_SIM_STATE_POOLED_ORDER_H_
#define TWINMMU_SIM_STATE_POOLED_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "api/address.h"
#include "sim/streams/stream_clocks.h"

namespace twinmmu {

// Work of a stream, and what comes before it.
struct PooledWork {
  StreamClocks::Place place;
  StreamClocks::Clock before;
  uint64_t call_id = 0;  // of the call that submitted it; ids are in the order of calls

  // Whether it comes after that.
  bool IsAfter(const StreamClocks::Place& other) const { return StreamClocks::Has(before, other); }
};

// What the order has against a use, or a free.
struct OrderFinding {
  enum Kind { kUseBeforeAllocation, kUseAfterFree, kUnorderedFree };
  Kind kind;
  uint64_t cause = 0;  // the id of the call that it should come after, or before
};

// Of pieces by their PooledPiece::buffer_id. Which piece the program means by an address follows
// from the order of its calls, even if the work runs only when the piece is gone. What is wrong
// with a piece is found once. Thread-safe.
class PooledOrder {
 public:
  void Allocated(uint64_t piece, const PooledWork& work);
  // It is there.
  void Place(uint64_t piece, const AddressRange& range);
  // Work that was submitted before or after the free uses the piece.
  std::optional<OrderFinding> Used(uint64_t piece, const PooledWork& work);
  // The free of a piece was submitted.
  std::optional<OrderFinding> Freed(uint64_t piece, const PooledWork& work);
  // Its memory goes to other pieces, or away. As long as work may still be queued that uses it, it
  // is remembered.
  void Forget(uint64_t piece, bool work_is_queued);

 private:
  static constexpr size_t kRemembered = 4096;

  // The last use by each stream.
  struct Use {
    StreamClocks::Place place;
    uint64_t call_id = 0;
  };
  struct Piece {
    AddressRange range;
    PooledWork allocated;
    std::optional<PooledWork> freed;
    std::vector<Use> uses;
    bool found = false;
  };

  // The piece that work of that call means, `piece` being what is there when it runs; or null.
  Piece* FindMeant(uint64_t piece, uint64_t call_id);

  std::mutex mutex_;  // guards what follows; a leaf
  std::map<uint64_t, Piece> pieces_;
  std::deque<Piece> gone_;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_STATE_POOLED_ORDER_H_
