// PoolModel: what a small pool of stream-ordered memory does, by its rules.
//
// Two streams and an event use one pool that has room for a few chunks. Memory is counted in cells,
// of which a chunk has two; a block has one or two of them, so it may share its chunk, fill it, or
// lie across two. All of the pool's memory is in one range of addresses, whose cells have numbers.
//
// The rules are those of the documentation, and of an H100 with driver 580.159
// (conformance/abi/pools).

#ifndef TWINMMU_CONFORMANCE_SMALL_SCOPE_POOLS_POOL_MODEL_H_
#define TWINMMU_CONFORMANCE_SMALL_SCOPE_POOLS_POOL_MODEL_H_

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/driver_error.h"

namespace twinmmu::conformance::small_scope {

inline constexpr int kCellsOfChunk = 2;
inline constexpr int kStreamsOfPool = 2;
// The cells that are looked at. What has memory behind them is where the search turns back.
inline constexpr int kCellsInView = 6;

struct PoolRules {
  bool follow_events = true;
  bool opportunistic = true;
  bool internal_dependencies = true;
  // Work is done when its call returns; otherwise only when the host has waited for it.
  bool at_once = false;
  int most_chunks = 2;
};

struct PoolStep {
  enum Kind {
    kAllocate,
    kFree,
    kSynchronizeStream,
    kSynchronizeEvent,
    kRecord,
    kWait,
    kTrim,
    kSetThreshold,
    kForgetUsedHigh,
    kForgetReservedHigh,
    kDestroy,
  };
  Kind kind = kAllocate;
  int stream = 0;
  // Cells of a block; the cell where one begins that is freed; chunks to keep; whether all is kept.
  int number = 0;
};

struct PoolAnswer {
  DriverCode code = DriverCode::kSuccess;
  int cell = -1;  // where a new block begins

  friend bool operator==(const PoolAnswer& a, const PoolAnswer& b) {
    return a.code == b.code && a.cell == b.cell;
  }
};

class PoolModel {
 public:
  // In cells.
  struct Counts {
    int used = 0;
    int used_high = 0;
    int reserved = 0;
    int reserved_high = 0;
  };

  explicit PoolModel(const PoolRules& rules);

  const PoolRules& rules() const { return rules_; }
  // Whether a correct program may do so: a block is freed behind its allocation. Of other addresses
  // only the first one that has memory is freed, which is refused.
  bool IsOffered(const PoolStep& step) const;
  PoolAnswer Do(const PoolStep& step);

  bool destroyed() const { return destroyed_; }
  bool keeps_all() const { return keeps_all_; }
  const Counts& counts() const { return counts_; }
  // The cells of the block that begins there; nothing: none does.
  std::optional<int> BlockAt(int cell) const;
  // Whether all memory is in cells that are looked at.
  bool IsInView() const;

  // The state as a text, in which streams have no names, and of the order of work there is only
  // what can still be asked. The most that there was is not part of it: nothing depends on it.
  std::string Shape() const;

 private:
  // Up to which of its calls all of each stream comes before something: in the program's order, and
  // whatever that is, because streams wait for it.
  struct Clock {
    std::array<int, kStreamsOfPool> known{};
    std::array<int, kStreamsOfPool> done{};
  };
  // A call of a stream that can be asked for.
  struct Mark {
    int stream = 0;
    int number = 0;
  };
  struct Free {
    Mark mark;
    Clock upto{};  // what it comes after, and itself
  };
  struct Cell {
    enum State { kAbsent, kTaken, kFreed, kFree } state = kAbsent;
    Free freed;  // if kFreed
  };
  struct Block {
    int cells = 0;
    Mark allocated;
  };
  // Cells in a row that are all for everybody, or all freed by one stream.
  struct Room {
    int first = 0;
    int length = 0;
    bool lacks_memory = false;  // of some cells
    int freed = 0;              // by which call of the stream; 0: it is for everybody
  };
  using IsUsable = std::function<bool(const Cell&)>;

  static bool IsOfPool(const PoolStep& step) {
    return step.kind == PoolStep::kAllocate || step.kind >= PoolStep::kTrim;
  }
  static bool Has(const Clock& clock, const Mark& mark) {
    return clock.known[static_cast<size_t>(mark.stream)] >= mark.number;
  }
  static void Join(std::array<int, kStreamsOfPool>* numbers,
                   const std::array<int, kStreamsOfPool>& other);
  static void Join(Clock* clock, const Clock& other);

  PoolAnswer Allocate(int stream, int cells);
  PoolAnswer FreeBlock(int stream, int cell);
  void Synchronize(const Clock& clock);

  // What comes before that which the stream is given next.
  Clock Before(int stream) const;
  Mark NextMark(int stream);
  bool HasHappened(const Free& free) const;
  bool IsFollowed(const Free& free, int stream) const;
  std::vector<Room> RoomsOf(const IsUsable& is_usable) const;
  // The smallest one, and of several the one that was freed first, or the first one.
  static std::optional<int> Smallest(const std::vector<Room>& rooms, int cells);
  std::optional<int> FindFreed(int cells, const std::function<bool(const Free&)>& may_take) const;
  std::optional<int> FindRoom(int stream, int cells);
  // Gives memory to the chunks of these cells that have none, if the pool may have so much.
  bool Commit(int first, int cells);
  bool IsChunk(int chunk, Cell::State state) const;
  void SetChunk(int chunk, Cell::State state);
  // Memory whose free has happened, as this says, is for everybody.
  void Settle(const std::function<bool(const Free&)>& has_happened);
  void Release(int keep);
  int committed() const;
  void CountReserved();

  std::string ShapeFrom(int first_stream) const;

  PoolRules rules_;
  std::vector<Cell> cells_;
  std::map<int, Block> blocks_;  // by the first cell
  std::array<Clock, kStreamsOfPool> streams_{};
  std::array<int, kStreamsOfPool> last_number_{};
  Clock event_{};
  Clock host_{};
  bool keeps_all_ = false;
  bool destroyed_ = false;
  Counts counts_;
};

// Every step that there is.
std::vector<PoolStep> PoolSteps();
std::string Print(const PoolStep& step);

}  // namespace twinmmu::conformance::small_scope

#endif  // TWINMMU_CONFORMANCE_SMALL_SCOPE_POOLS_POOL_MODEL_H_
