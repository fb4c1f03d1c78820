#include "sim/streams/stream_scheduler.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

#include "sim/streams/rest.h"

namespace twinmmu {
namespace {

// How many threads the process has; a great number where that is not known.
size_t ThreadsOfProcess() {
  struct stat tasks;
  constexpr size_t kLinksOfFolder = 2;
  return stat("/proc/self/task", &tasks) == 0 ? tasks.st_nlink - kLinksOfFolder : SIZE_MAX;
}

}  // namespace

thread_local int StreamScheduler::OneOperation::depth_ = 0;
thread_local bool StreamScheduler::OneOperation::begun_ = false;

// Queues that wait for each other's work keep each other alive until they let go of it.
StreamScheduler::~StreamScheduler() {
  if (ForkCount() != forks_) {
    // The threads that kernels and this object had are the parent's, and nobody's here.
    thread_.release();
    new std::vector<Queue>(std::move(busy_));
    return;
  }
  Stop();
  for (const Queue& queue : busy_) queue->items.clear();
}

StreamScheduler::Queue StreamScheduler::MakeQueue(DeviceOrdinal device) const {
  auto queue = std::make_shared<QueueState>();
  queue->device = device;
  return queue;
}

bool StreamScheduler::IsDone(const Point& point) {
  if (point.queue_ == nullptr || point.queue_->items.empty()) return true;
  const uint64_t first = point.queue_->items.front().number;
  return first > point.number_ ||
         (first == point.number_ && point.when_begun_ && point.queue_->begun);
}

bool StreamScheduler::CanRun(const QueueState& queue) {
  return !queue.running && IsDone(queue.items.front().after);
}

bool StreamScheduler::CanRunEarly(const QueueState& queue) {
  if (queue.items.size() < 2) return false;
  const Work& first = queue.items.front().work;
  return std::next(queue.items.begin())->work.run_early && first.lets_next_start &&
         first.lets_next_start();
}

// `item` is a list of one.
StreamScheduler::Point StreamScheduler::Push(const Queue& queue, std::list<Item> item) {
  if (queue->items.empty()) busy_.push_back(queue);
  const uint64_t number = ++last_number_;
  item.front().number = number;
  if (item.front().work.kernel) {
    ++queue->kernels;
    ++kernels_;
  }
  if (item.front().work.needs_streams) ++waits_;
  if (item.front().work.calls_program) ++functions_;
  if (item.front().work.takes_room) ++queue->taking_room;
  queue->items.splice(queue->items.end(), item);
  ++pending_;
  return Point(queue, number);
}

StreamScheduler::Point StreamScheduler::Submit(const Queue& queue, Work work) {
  if (OneOperation::depth_ != 0 && std::exchange(OneOperation::begun_, true)) {
    work.takes_room = false;
  }
  std::list<Item> item;
  item.push_back(Item{std::move(work), Point(), 0});
  return SubmitAll(queue, std::move(item));
}

StreamScheduler::Point StreamScheduler::Submit(const Queue& queue, std::vector<Work> works) {
  std::list<Item> items;
  for (Work& work : works) {
    if (!items.empty()) work.takes_room = false;
    items.push_back(Item{std::move(work), Point(), 0});
  }
  return SubmitAll(queue, std::move(items));
}

StreamScheduler::Point StreamScheduler::SubmitAll(const Queue& queue, std::list<Item> items) {
  Lock lock(mutex_);
  while (items.front().work.takes_room && queue->taking_room >= kMostQueued) {
    WaitFor(Point(queue, queue->items.front().number), lock);
  }
  Point point;
  while (!items.empty()) {
    std::list<Item> first;
    first.splice(first.end(), items, items.begin());
    point = Push(queue, std::move(first));
  }
  RunAtCall(lock);
  if (kernels_ != 0) StartThread();
  return point;
}

void StreamScheduler::Wait(const Queue& queue, const Point& point) {
  std::list<Item> item;
  item.push_back(Item{Work(), point, 0});
  item.front().work.takes_room = false;
  Lock lock(mutex_);
  if (!IsDone(point)) Push(queue, std::move(item));
  RunAtCall(lock);
}

StreamScheduler::Point StreamScheduler::Record(const Queue& queue) {
  Lock lock(mutex_);
  const Point point = queue->items.empty() ? Point() : Point(queue, last_number_);
  RunAtCall(lock);
  return point;
}

bool StreamScheduler::Query(const Point& point) {
  Lock lock(mutex_);
  RunAtCall(lock);
  RunInPassing(lock);
  if (IsDone(point)) return true;
  const Queue queue = Choose(point);
  if (queue != nullptr) {
    RunFirst(queue, queue == point.queue_ ? Turn::kAskedAfter : Turn::kInPassing, lock);
    RunReady(lock);
  }
  return false;
}

void StreamScheduler::Finish(const Point& point) {
  Lock lock(mutex_);
  RunInPassing(lock);
  WaitFor(point, lock);
}

void StreamScheduler::FinishDevice(DeviceOrdinal device) {
  Lock lock(mutex_);
  const uint64_t last = last_number_;
  const auto has_work = [&](const Queue& queue) {
    return queue->device == device && queue->items.front().number <= last;
  };
  RunInPassing(lock);
  for (;;) {
    const auto busy = std::find_if(busy_.begin(), busy_.end(), has_work);
    if (busy == busy_.end()) return;
    WaitFor(Point(*busy, last), lock);
  }
}

template <typename Visit>
void StreamScheduler::VisitUses(const AddressRange& range, const Visit& visit) const {
  if (pending_ == 0) return;
  const Lock lock(mutex_);
  for (const Queue& queue : busy_) {
    for (const Item& item : queue->items) {
      const auto& [written, read] = item.work.ranges;
      if (written.overlaps(range)) visit(item, written, Access::kReadWrite);
      if (read.overlaps(range)) visit(item, read, Access::kRead);
    }
  }
}

bool StreamScheduler::Uses(const AddressRange& range) const {
  bool found = false;
  VisitUses(range, [&](const Item&, const AddressRange&, Access) { found = true; });
  return found;
}

std::vector<PendingUse> StreamScheduler::UsesOf(const AddressRange& range) const {
  std::vector<PendingUse> uses;
  VisitUses(range, [&](const Item& item, const AddressRange& used, Access access) {
    const Work& work = item.work;
    uses.push_back(PendingUse{work.stream, used, access, item.number, work.call_id});
  });
  std::sort(uses.begin(), uses.end(), [](const PendingUse& a, const PendingUse& b) {
    return std::pair(a.number, b.access) < std::pair(b.number, a.access);  // what it writes first
  });
  return uses;
}

std::optional<PendingUse> StreamScheduler::KernelThatUsed(uint32_t mapping) const {
  if (IsIdle()) return std::nullopt;
  const Lock lock(mutex_);
  for (const Queue& queue : busy_) {
    int begun = queue->next_begun ? 2 : 1;
    for (auto item = queue->items.begin(); begun > 0; ++item, --begun) {
      const Work& work = item->work;
      if (!work.has_used || !work.has_used(mapping)) continue;
      return PendingUse{work.stream, AddressRange(), Access::kNone, item->number, work.call_id};
    }
  }
  return std::nullopt;
}

StreamScheduler::Queue StreamScheduler::Choose(const Point& point) {
  return policy_ == StreamPolicy::kSeeded ? ChooseAnyReady() : FindRunnable(point);
}

StreamScheduler::Queue StreamScheduler::FindRunnable(const Point& point) {
  // What the first item waits for has work that is not done, and so on: it was queued before.
  const Point* needed = &point;
  while (!needed->queue_->running) {
    if (CanRun(*needed->queue_)) return needed->queue_;
    needed = &needed->queue_->items.front().after;
  }
  return nullptr;
}

StreamScheduler::Queue StreamScheduler::ChooseAnyReady() {
  const auto can_run = [](const Queue& queue) { return CanRun(*queue); };
  const auto ready = std::count_if(busy_.begin(), busy_.end(), can_run);
  if (ready == 0) return nullptr;
  uint64_t skipped = random_() % static_cast<uint64_t>(ready);
  for (const Queue& queue : busy_) {
    if (can_run(queue) && skipped-- == 0) return queue;
  }
  return nullptr;
}

// Holds on to the queue: it may be the last one to do so.
Progress StreamScheduler::RunFirst(const Queue& chosen, Turn turn, Lock& lock) {
  const Queue queue = chosen;
  queue->running = true;
  queue->passed_over = 0;
  const bool seeded = policy_ == StreamPolicy::kSeeded;
  bool early = CanRunEarly(*queue) && (!seeded || random_() % 2 == 0);
  const bool only_early = early && seeded;
  Progress of_next = early ? RunEarly(queue.get(), turn, lock) : Progress::kWaiting;
  Item& item = queue->items.front();
  lock.unlock();
  Progress progress = Progress::kWaiting;
  try {
    if (!only_early) progress = item.work.run ? item.work.run(turn) : Progress::kDone;
  } catch (...) {  // the thread ends
    lock.lock();
    EndTurn(queue, Progress::kDone);
    throw;
  }
  lock.lock();
  if (progress != Progress::kDone && !early && !seeded && CanRunEarly(*queue)) {
    of_next = RunEarly(queue.get(), turn, lock);  // at once
  }
  EndTurn(queue, progress);
  return progress == Progress::kWaiting ? of_next : progress;
}

void StreamScheduler::EndTurn(const Queue& queue, Progress progress) {
  queue->running = false;
  queue->begun = progress != Progress::kDone;
  if (progress == Progress::kDone) {
    // An eager machine lets it go on at the call.
    queue->begun = std::exchange(queue->next_begun, false) && policy_ != StreamPolicy::kEager;
    std::list<Item> done;
    done.splice(done.end(), queue->items, queue->items.begin());
    --pending_;
    ++ended_;
    if (done.front().work.kernel) {
      --queue->kernels;
      --kernels_;
    }
    if (done.front().work.needs_streams) {
      --waits_;
      wait_ended_ = true;
    }
    if (done.front().work.calls_program) --functions_;
    if (done.front().work.takes_room) --queue->taking_room;
    if (queue->items.empty()) busy_.erase(std::find(busy_.begin(), busy_.end(), queue));
    if (busy_.empty()) wait_ended_ = false;
  }
  progress_.notify_all();
}

Progress StreamScheduler::RunEarly(QueueState* queue, Turn turn, Lock& lock) {
  Item& next = *std::next(queue->items.begin());
  queue->next_begun = true;
  lock.unlock();
  const Progress progress = next.work.run_early(turn);
  lock.lock();
  return progress;
}

template <typename Visit>
void StreamScheduler::ForEachOnce(const Visit& visit) {
  const uint64_t round = ++last_round_;
  for (;;) {
    const auto next = std::find_if(busy_.begin(), busy_.end(),
                                   [&](const Queue& queue) { return queue->round < round; });
    if (next == busy_.end()) return;
    (*next)->round = round;
    visit(Queue(*next));
  }
}

void StreamScheduler::RunAtCall(Lock& lock) {
  ++calls_;
  policy_ == StreamPolicy::kSeeded ? RunAtRandom(lock) : RunReady(lock);
}

void StreamScheduler::RunReady(Lock& lock) {
  if (policy_ != StreamPolicy::kEager) return;
  const auto may_begin = [](const Queue& queue) {
    return CanRun(*queue) && (!queue->begun || (!queue->next_begun && CanRunEarly(*queue)));
  };
  for (;;) {
    const auto next = std::find_if(busy_.begin(), busy_.end(), may_begin);
    if (next == busy_.end()) return;
    RunFirst(*next, Turn::kAtTheCall, lock);
  }
}

void StreamScheduler::RunInPassing(Lock& lock) {
  ++calls_;
  if (policy_ == StreamPolicy::kSeeded || kernels_ == 0) return;
  ForEachOnce([&](const Queue& queue) {
    const bool due = queue->kernels != 0 && !queue->begun && ++queue->passed_over > kPatience;
    if (!queue->begun && !due) return;
    const Queue runs = FindRunnable(Point(queue, queue->items.front().number));
    if (runs != nullptr) RunFirst(runs, Turn::kInPassing, lock);
    // Now that it has begun to get turns it goes on doing so.
    if (due) queue->passed_over = kPatience;
  });
  RunReady(lock);
}

void StreamScheduler::RunAtRandom(Lock& lock) {
  while (random_() % 3 == 0) {
    const Queue queue = ChooseAnyReady();
    if (queue == nullptr) return;
    RunFirst(queue, Turn::kInPassing, lock);
  }
}

bool StreamScheduler::RunOthers(const Queue& queue, const Queue& needed, Turn turn, Lock& lock) {
  bool got_on = false;
  ForEachOnce([&](const Queue& other) {
    if (other == queue || !CanRun(*other)) return;
    const bool unasked = other->items.front().work.needs_streams != nullptr && other != needed;
    got_on |= RunFirst(other, unasked ? Turn::kUnasked : turn, lock) != Progress::kWaiting;
  });
  return got_on;
}

bool StreamScheduler::RunWaits(Lock& lock) {
  bool got_on = false;
  ForEachOnce([&](const Queue& queue) {
    if (!queue->items.front().work.needs_streams || !CanRun(*queue)) return;
    got_on |= RunFirst(queue, Turn::kUnasked, lock) == Progress::kDone;
  });
  if (got_on) RunReady(lock);
  return got_on;
}

bool StreamScheduler::IsInVain() const {
  if (waits_ == 0) return false;
  for (const Queue& queue : busy_) {
    const Item& first = queue->items.front();
    if (queue->running) return false;
    if (!IsDone(first.after)) continue;
    if (!first.work.needs_streams || !first.work.needs_streams()) return false;
  }
  const size_t own = static_cast<size_t>(other_threads_.load()) + (thread_ == nullptr ? 0 : 1);
  return ThreadsOfProcess() == 1 + own;
}

void StreamScheduler::WaitFor(const Point& point, Lock& lock) {
  Rest rest;
  while (!IsDone(point)) {
    ++calls_;
    const uint64_t ended = ended_;
    const Queue queue = Choose(point);
    if (queue == nullptr) {
      progress_.wait(lock);
      continue;
    }
    const bool needed = policy_ != StreamPolicy::kSeeded || queue == point.queue_;
    const bool alone = kernels_ == static_cast<size_t>(queue->kernels);
    const Turn turn = alone ? Turn::kWaitedFor : Turn::kShared;
    const Progress progress = RunFirst(queue, needed ? turn : Turn::kInPassing, lock);
    if (progress == Progress::kDone) continue;
    const bool others =
        RunOthers(queue, IsDone(point) ? nullptr : FindRunnable(point), Turn::kShared, lock);
    if (progress != Progress::kWaiting || others || ended != ended_ || IsDone(point)) {
      rest = Rest();
    } else if (IsInVain()) {
      RunFirst(FindRunnable(point), Turn::kInVain, lock);
    } else {
      rest.Take(progress_, lock, waits_ == kernels_ ? Rest::kOfWaits : Rest::kOfKernels);
    }
  }
  RunReady(lock);
}

}  // namespace twinmmu
