// AsyncCopies: what threads of a block have asked for with cp.async, cp.async.bulk and st.async.

#ifndef TWINMMU_SIM_PTX_RUN_ASYNC_ASYNC_COPIES_H_
#define TWINMMU_SIM_PTX_RUN_ASYNC_ASYNC_COPIES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "api/allocation.h"
#include "sim/mmu/translation_cache.h"
#include "sim/ptx/operations/operation.h"
#include "sim/ptx/program/code.h"
#include "sim/ptx/run/async/proxy_writes.h"
#include "sim/ptx/run/grid.h"
#include "sim/ptx/tensors/tensor_box.h"

namespace twinmmu::ptx {

class Block;

// Combines the elements in `size` bytes with those that are there.
using ReduceRange = void (*)(char* to, const char* from, uint64_t size);

struct AsyncOperation {
  enum Kind : uint8_t {
    kCopy,    // of one thread: cp.async
    kArrive,  // cp.async.mbarrier.arrive: an arrival after the thread's earlier copies
    kBulk,    // by the async proxy: cp.async.bulk, cp.reduce.async.bulk, also of tensors
    kStore,   // st.async, red.async: of `value`
  };
  Kind kind = kCopy;
  // Addresses in shared or in global memory; those in shared memory say whose it is.
  bool from_shared = false;
  bool to_shared = true;
  uint64_t from = 0;
  uint64_t to = 0;
  uint32_t size = 0;
  uint32_t read = 0;  // of them, that are there to be read; the others become zeros
  ReduceRange reduce = nullptr;
  std::shared_ptr<const TensorBox> box;  // where its bytes lie instead of one behind the other
  std::array<char, 16> value = {};
  bool has_barrier = false;  // gets `size` bytes, or the arrival
  uint64_t barrier = 0;      // its address in shared memory
  // Who asked, and where.
  int warp = 0;
  int lane = 0;
  const FunctionCode* function = nullptr;
  int instruction = 0;

  // For AsyncCopies.
  uint32_t group = 0;  // of those of the thread; see Commit
  uint32_t slices = 0;
  bool was_read = false;
  std::vector<char> bytes;  // that were read
};

// Operations are done at once, or, where the profile's policy gives older values, as late as
// something waits for them (stale), or in any order (random). For one thread.
class AsyncCopies {
 public:
  // `block` must outlive this object.
  explicit AsyncCopies(Block* block);

  // Each of these gives false if something faulted, which is noted in the block.
  bool Add(AsyncOperation operation);
  // All that a thread asked for since its last one becomes a group of the thread.
  void Commit(int warp, Lanes lanes, bool bulk);
  // Returns when no more than `left` groups of each of the threads are pending. `only_read`: bulk
  // copies may still have to write.
  bool Wait(int warp, Lanes lanes, bool bulk, uint32_t left, bool only_read);
  // Somebody waits, in vain so far, for the mbarrier: what it waits for gets on.
  bool Drive(uint64_t barrier);
  // A slice of the block begins: what has waited for long gets on.
  bool NextSlice();
  bool FinishAll();
  bool empty() const { return pending_.empty(); }
  // Whether operations are not done at once.
  bool late() const { return late_; }
  void Clear();

 private:
  // Commits of a thread.
  struct Groups {
    uint32_t committed = 0;
  };

  bool Do(AsyncOperation* operation);
  bool ReadBulk(AsyncOperation* operation);
  bool Move(AsyncOperation* operation);
  bool Signal(const AsyncOperation& operation);
  // Does all of which `chosen` is true, in order.
  template <typename Chosen>
  bool DoThose(const Chosen& chosen);
  // Bytes of a target or a source that lie one behind the other in the memory of the host.
  struct Part {
    char* memory = nullptr;  // null: it may not be accessed
    uint64_t size = 0;
    bool armed = false;  // the alias monitor observes it
    bool shared = false;
    uint32_t address_id = 0;
    bool filled = false;               // it is of no tensor: what is there instead
    std::vector<Replica> others = {};  // of a multicast address: what is on further devices
  };
  // Of the byte at `offset` of the target or of the source, and how many follow it.
  struct Place {
    uint64_t address = 0;
    uint64_t size = 0;
  };
  static Place Locate(const AsyncOperation& operation, bool of_target, uint64_t offset);
  Part At(const AsyncOperation& operation, bool of_target, uint64_t offset);
  // The same of a target that is not to be found as ordinary memory.
  Part AtReplicas(const Place& place);
  bool IsArmed(const Replica& replica) const;
  void Write(const AsyncOperation& operation, const Part& to, const Part& from, uint64_t size);
  // What the async proxy does not see of what it is to read or to overwrite; and what it begins.
  bool MeetWrites(AsyncOperation* operation);
  // Copies that nobody has waited for.
  void MeetCopies(const ProxyWrites::Copy& copy);
  bool Fault(const AsyncOperation& operation, GridFault::Kind kind, const char* words);
  bool FaultAt(const AsyncOperation& operation, bool of_target, uint64_t offset);
  Groups& GroupsOf(int warp, int lane, bool bulk);
  uint64_t Random();

  Block& block_;
  const bool late_;
  const bool shuffles_;
  uint64_t random_;
  std::deque<AsyncOperation> pending_;  // in the order in which they were asked for
  std::map<uint64_t, size_t> telling_;  // how many of them tell the barrier
  std::vector<Groups> groups_;          // two of each thread: cp.async, bulk
};

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_RUN_ASYNC_ASYNC_COPIES_H_
