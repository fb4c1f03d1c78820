// StreamScheduler: when the work of streams runs, and in which order.

#ifndef TWINMMU_SIM_STREAMS_STREAM_SCHEDULER_H_
#define TWINMMU_SIM_STREAMS_STREAM_SCHEDULER_H_

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "api/address.h"
#include "api/allocation.h"
#include "api/executor.h"
#include "sim/base/fork_count.h"
#include "sim/profile/profile.h"

namespace twinmmu {

// An operation that is queued, and what it will use when it runs.
struct PendingUse {
  Stream stream;
  AddressRange range;
  Access access = Access::kNone;  // that it needs
  uint64_t number = 0;            // of the operation, among all that were ever queued
  uint64_t call_id = 0;           // of the call, in the history of the machine
};

// Why work is run, and so how much of it.
enum class Turn {
  kAtTheCall,   // it may begin: the one turn that an eager machine gives of its own accord
  kInPassing,   // others are waited for: a little
  kAskedAfter,  // a query: no more than a query may take
  kWaitedFor,   // somebody waits for it
  kShared,      // the same, and other kernels are queued that it may wait for, or they for it
  kUnasked,     // no call comes: as much as for a query
  kInVain,      // nothing will bring what it waits for: it is to end
};

// What came of it.
enum class Progress {
  kDone,
  kAdvanced,  // there is more to do
  kWaiting,   // the same, and all that it did was to look for what others are to do
};

// Keeps the work of streams in queues. Work of one queue runs in the order in which it was given,
// work of several in any order that their waits allow; StreamPolicy chooses one. Work runs in the
// calls below, a turn at a time, and always without a lock, so that the calls of other threads go
// on. Work that is not done after its turn stays the first of its queue.
//
// A kernel that may start early gets turns beside the one ahead of it, as soon as that lets it:
// under kEager and kDeferred it always goes first, so that what it does without waiting for the
// other shows; under kSeeded one of the two gets the turn.
//
// Kernels may need more than one turn, and what they wait for may be anywhere: in another queue, or
// done by the CPU. So whoever waits for one gives all others that can run their turns, too,
// whatever the policy; calls that ask or wait for other work give a little turn to each kernel that
// has begun, with kDeferred also to those that were passed over kPatience times; and if no call
// comes for a while, a thread gives turns as long as kernels are queued; at once where a function
// of the program is queued. It is started when a call leaves a kernel queued, and lives until Stop.
// There is no other thread here.
//
// A wait for a word of memory is as a kernel that polls, but its turns cost next to nothing, so the
// thread gives them without waiting for calls to stay away; and when one has ended, it sees to what
// is queued then as it does to kernels. It may wait for what is queued behind
// it, and then forever: when the thread of a call finds that nothing can go on but such waits, that
// only queued work could end them, and that it is the only thread of the program, it gives one a
// turn of kInVain.
//
// Nothing hangs as long as all work ends some time: work waits only for what was queued before it,
// so that some can always run, and a call that needs it to be done runs it, or waits for the thread
// that does.
//
// Where a call throws std::bad_alloc nothing has changed; only Submit, Wait, MakeQueue and
// UsesOf do. Thread-safe; Uses, UsesOf and KernelThatUsed take no other lock. In a child made by
// fork only the destructor may be called.
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
    // The same, of which the last need only have begun.
    Point WhenBegun() const {
      Point begun = *this;
      begun.when_begun_ = true;
      return begun;
    }

   private:
    friend class StreamScheduler;
    Point(Queue queue, uint64_t number) : queue_(std::move(queue)), number_(number) {}

    Queue queue_;
    uint64_t number_ = 0;  // of the last operation that belongs to it
    bool when_begun_ = false;
  };

  struct Work {
    // May neither throw nor call the scheduler. The thread may end in it, where it calls a function
    // of the program: then it is done.
    std::function<Progress(Turn)> run;
    Stream stream;
    std::array<AddressRange, 2> ranges;  // that it writes, and that it reads; an empty one is none
    uint64_t call_id = 0;                // in the history of the machine
    bool kernel = false;                 // or a wait: if not, it is done after one turn
    // Of a wait, for a word of memory or for a thread that may call back: whether only work of
    // queues can end it. Takes no lock.
    std::function<bool()> needs_streams = nullptr;
    bool takes_room = true;  // if not, a full queue takes it all the same
    // A function of the program is called: what is ahead gets turns without a call, at once.
    bool calls_program = false;
    // Of a kernel: whether it has used a mapping, by its id. Takes no lock of an Mmu.
    std::function<bool(uint32_t mapping)> has_used = nullptr;
    // Of a kernel: whether a kernel behind it may start early. Takes no lock.
    std::function<bool()> lets_next_start = nullptr;
    // Of a kernel that may: a turn of it before the one ahead is done. It is never done by that.
    std::function<Progress(Turn)> run_early = nullptr;
  };

  StreamScheduler(StreamPolicy policy, uint64_t seed) : policy_(policy), random_(seed) {}
  // Drops what is queued. In a child made by fork it is left where it is.
  ~StreamScheduler();
  StreamScheduler(const StreamScheduler&) = delete;
  StreamScheduler& operator=(const StreamScheduler&) = delete;

  // From now on work runs in calls only. Returns when the thread has ended.
  void Stop();

  // Whether work can be done at the call that asks for it, and all is done that any other call asks
  // or waits for: an eager machine has nothing queued.
  bool IsBypassed() const { return policy_ == StreamPolicy::kEager && IsIdle(); }

  // Whether nothing is queued.
  bool IsIdle() const { return pending_ == 0; }

  // Whether a kernel is queued or running. Where the answer is no, what kernels did has happened
  // before it.
  bool HasKernels() const { return kernels_ != 0; }

  // What is not work of a queue got on, which may let some of that go on. Takes the lock.
  void Wake();
  // The library has so many more threads, or fewer, that make no calls of their own accord.
  void AddThreads(int change) { other_threads_ += change; }

  Queue MakeQueue(DeviceOrdinal device) const;
  // While one lives, what its thread submits is one operation for a driver: only the first takes
  // room. They may be nested.
  class OneOperation {
   public:
    OneOperation() { ++depth_; }
    ~OneOperation() {
      if (--depth_ == 0) begun_ = false;
    }
    OneOperation(const OneOperation&) = delete;
    OneOperation& operator=(const OneOperation&) = delete;

   private:
    friend class StreamScheduler;
    static thread_local int depth_;
    static thread_local bool begun_;
  };

  // Work for the end of the queue; the result is the queue's work up to it. Where the queue is
  // full, as a driver's can be, it waits until the first of it is done.
  Point Submit(const Queue& queue, Work work);
  // The same for several, not none, that are one operation.
  Point Submit(const Queue& queue, std::vector<Work> works);
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
  // A kernel that is not done and has used the mapping of this id; without its range. What a
  // kernel will use nobody knows.
  std::optional<PendingUse> KernelThatUsed(uint32_t mapping) const;

 private:
  using Lock = std::unique_lock<std::mutex>;

  // A kernel that is passed over more often gets turns all the same.
  static constexpr int kPatience = 64;
  // What a queue holds. Source: an H100 with driver 580.159 takes 1,020 launches, copies or fills
  // behind one that waits. (Events take no place there.)
  static constexpr size_t kMostQueued = 1021;

  struct Item {
    Work work;    // without `run` if it only waits
    Point after;  // that it waits for
    uint64_t number = 0;
  };
  struct QueueState {
    DeviceOrdinal device;
    std::list<Item> items;    // the first one stays until it is done
    size_t taking_room = 0;   // among them
    int kernels = 0;          // the same
    bool running = false;     // some thread runs the first one
    bool begun = false;       // the first one has had a turn
    bool next_begun = false;  // the one behind it has
    int passed_over = 0;      // how often others were waited for or asked after
    uint64_t round = 0;       // the last one of ForEachOnce that came here
  };

  // With mutex_ held, as all that follows.
  static bool IsDone(const Point& point);
  static bool CanRun(const QueueState& queue);
  // Whether the second item may have a turn while the first is not done.
  static bool CanRunEarly(const QueueState& queue);
  Point Push(const Queue& queue, std::list<Item> item);
  Point SubmitAll(const Queue& queue, std::list<Item> items);
  // A queue whose first item is to run next so that `point` gets done; null: other threads run
  // what can run.
  Queue Choose(const Point& point);
  static Queue FindRunnable(const Point& point);
  Queue ChooseAnyReady();
  // A turn for the first item, and for the second where that can run early. Release the lock
  // meanwhile.
  Progress RunFirst(const Queue& queue, Turn turn, Lock& lock);
  // The first item of `queue` had its turn.
  void EndTurn(const Queue& queue, Progress progress);
  static Progress RunEarly(QueueState* queue, Turn turn, Lock& lock);
  // visit(queue) for each queue that has work, once, though it may release the lock.
  template <typename Visit>
  void ForEachOnce(const Visit& visit);
  // Of its own accord: what the policy runs at a call; and at one that asks or waits.
  void RunAtCall(Lock& lock);
  void RunReady(Lock& lock);
  void RunInPassing(Lock& lock);
  void RunAtRandom(Lock& lock);
  // A turn for each queue but `queue`, whose kernel is not done; whether any got anywhere.
  // Waits other than that of `needed` are not waited for.
  bool RunOthers(const Queue& queue, const Queue& needed, Turn turn, Lock& lock);
  // The same for each wait that is the first of its queue.
  bool RunWaits(Lock& lock);
  // Nobody got anywhere, and no item ended meanwhile: whether that is how it will stay.
  bool IsInVain() const;
  void WaitFor(const Point& point, Lock& lock);
  void StartThread();
  void ReplaceThread();
  void RunThread();
  template <typename Visit>
  void VisitUses(const AddressRange& range, const Visit& visit) const;  // visit(item, used, access)

  const StreamPolicy policy_;
  const uint32_t forks_ = ForkCount();
  // Changed with mutex_ held.
  std::atomic<size_t> pending_ = 0;
  std::atomic<size_t> kernels_ = 0;  // that are queued; waits, too
  std::atomic<size_t> waits_ = 0;    // among them
  std::atomic<int> other_threads_ = 0;
  size_t functions_ = 0;      // of the program, that are queued
  uint64_t ended_ = 0;        // items that were done
  bool wait_ended_ = false;   // since the queues were empty: the CPU may look for the rest
  mutable std::mutex mutex_;  // guards what follows, and the state of all queues
  std::condition_variable progress_;
  std::condition_variable wakes_thread_;
  std::unique_ptr<std::thread> thread_;
  bool stopped_ = false;
  std::mt19937_64 random_;
  uint64_t last_number_ = 0;
  uint64_t last_round_ = 0;
  uint64_t calls_ = 0;       // how often a call came, or went on
  std::vector<Queue> busy_;  // that have work, in the order in which they came to have it
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_STREAMS_STREAM_SCHEDULER_H_
