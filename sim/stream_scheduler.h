// StreamScheduler: when the work of streams runs, and in which order.

#ifndef TWINMMU_SIM_STREAM_SCHEDULER_H_
#define TWINMMU_SIM_STREAM_SCHEDULER_H_

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <random>
#include <utility>
#include <vector>

#include "api/address.h"
#include "api/allocation.h"
#include "api/executor.h"
#include "sim/profile.h"

namespace twinmmu {

// An operation that is queued, and what it will use when it runs.
struct PendingUse {
  Stream stream;
  const char* call = "";  // the driver's name of the call that asked for it
  AddressRange range;
  Access access = Access::kNone;  // that it needs
  uint64_t number = 0;            // of the operation, among all that were ever queued
  uint64_t call_number = 0;       // of the call, in the history of the machine
};

// Keeps the work of streams in queues. Work of one queue runs in the order in which it was given,
// work of several in any order that their waits allow; StreamPolicy chooses one. There are no
// threads here: work runs in the calls below, and always without a lock, so that the calls of other
// threads go on. (With the policy kEager nobody comes here.)
//
// Nothing hangs: an operation waits only for what was queued before it, so that some operation can
// always run, and a call that needs one to be done runs it, or waits for the thread that does.
//
// Where a call throws std::bad_alloc nothing has changed; only Submit, Wait, MakeQueue and
// UsesOf do. Thread-safe; Uses and UsesOf take no other lock.
class StreamScheduler {
 private:
  struct QueueState;

 public:
  // The queue of one stream. Once the owner lets go of it, its work is still finished.
  using Queue = std::shared_ptr<QueueState>;

  // The work of a queue up to some moment; by default none, which is done.
  class Point {
   public:
    Point() = default;

   private:
    friend class StreamScheduler;
    Point(Queue queue, uint64_t number) : queue_(std::move(queue)), number_(number) {}

    Queue queue_;
    uint64_t number_ = 0;  // of the last operation that belongs to it
  };

  struct Work {
    std::function<void()> run;  // may neither throw nor call the scheduler
    Stream stream;
    const char* call = "";
    std::array<AddressRange, 2> ranges;  // that it writes, and that it reads; an empty one is none
    uint64_t call_number = 0;            // in the history of the machine
  };

  StreamScheduler(StreamPolicy policy, uint64_t seed) : policy_(policy), random_(seed) {}
  // Drops what is queued.
  ~StreamScheduler();
  StreamScheduler(const StreamScheduler&) = delete;
  StreamScheduler& operator=(const StreamScheduler&) = delete;

  bool eager() const { return policy_ == StreamPolicy::kEager; }

  Queue MakeQueue(DeviceOrdinal device) const;
  // Work for the end of the queue; the result is the queue's work up to it.
  Point Submit(const Queue& queue, Work work);
  // What is later given to `queue` waits for `point`.
  void Wait(const Queue& queue, const Point& point);
  // The queue's work up to now.
  Point Record(const Queue& queue);

  // Whether it is done. Never waits, but does a bit of the work if it is not, so that whoever asks
  // again and again hears yes in the end.
  bool Query(const Point& point);
  // Returns when it is done.
  void Finish(const Point& point);
  // Returns when all work is done that the queues of `device` were given before.
  void FinishDevice(DeviceOrdinal device);

  // Whether queued work uses a part of `range`, and which does, in the order in which it was
  // queued.
  bool Uses(const AddressRange& range) const;
  std::vector<PendingUse> UsesOf(const AddressRange& range) const;

 private:
  using Lock = std::unique_lock<std::mutex>;

  struct Item {
    Work work;    // without `run` if it only waits
    Point after;  // that it waits for
    uint64_t number = 0;
  };
  struct QueueState {
    DeviceOrdinal device;
    std::list<Item> items;  // the first one stays until it is done
    bool running = false;   // some thread runs the first one
  };

  // With mutex_ held.
  static bool IsDone(const Point& point);
  static bool CanRun(const QueueState& queue);
  Point Push(const Queue& queue, std::list<Item> item, Lock& lock);
  // A queue whose first item is to run next so that `point` gets done; null: other threads run
  // what can run.
  Queue Choose(const Point& point);
  Queue ChooseAnyReady();
  // Brings what must be done before `point`, which is not done, a step further.
  void Step(const Point& point, Lock& lock);
  // Releases the lock meanwhile.
  void RunFirst(const Queue& queue, Lock& lock);
  // What the policy runs of its own accord at a call.
  void RunAtRandom(Lock& lock);
  template <typename Visit>
  void VisitUses(const AddressRange& range, const Visit& visit) const;  // visit(item, used, access)

  const StreamPolicy policy_;
  std::atomic<size_t> pending_ = 0;
  mutable std::mutex mutex_;  // guards what follows, and the state of all queues
  std::condition_variable progress_;
  std::mt19937_64 random_;
  uint64_t last_number_ = 0;
  std::vector<Queue> busy_;  // that have work, in the order in which they came to have it
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_STREAM_SCHEDULER_H_
