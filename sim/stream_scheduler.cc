#include "sim/stream_scheduler.h"

#include <algorithm>
#include <utility>

namespace twinmmu {

// Queues that wait for each other's work keep each other alive until they let go of it.
StreamScheduler::~StreamScheduler() {
  for (const Queue& queue : busy_) queue->items.clear();
}

StreamScheduler::Queue StreamScheduler::MakeQueue(DeviceOrdinal device) const {
  auto queue = std::make_shared<QueueState>();
  queue->device = device;
  return queue;
}

bool StreamScheduler::IsDone(const Point& point) {
  return point.queue_ == nullptr || point.queue_->items.empty() ||
         point.queue_->items.front().number > point.number_;
}

bool StreamScheduler::CanRun(const QueueState& queue) {
  return !queue.running && IsDone(queue.items.front().after);
}

// `item` is a list of one.
StreamScheduler::Point StreamScheduler::Push(const Queue& queue, std::list<Item> item, Lock& lock) {
  if (queue->items.empty()) busy_.push_back(queue);
  const uint64_t number = ++last_number_;
  item.front().number = number;
  queue->items.splice(queue->items.end(), item);
  ++pending_;
  RunAtRandom(lock);
  return Point(queue, number);
}

StreamScheduler::Point StreamScheduler::Submit(const Queue& queue, Work work) {
  std::list<Item> item;
  item.push_back(Item{std::move(work), Point(), 0});
  Lock lock(mutex_);
  return Push(queue, std::move(item), lock);
}

void StreamScheduler::Wait(const Queue& queue, const Point& point) {
  std::list<Item> item;
  item.push_back(Item{Work(), point, 0});
  Lock lock(mutex_);
  if (IsDone(point)) return RunAtRandom(lock);
  Push(queue, std::move(item), lock);
}

StreamScheduler::Point StreamScheduler::Record(const Queue& queue) {
  Lock lock(mutex_);
  const Point point = queue->items.empty() ? Point() : Point(queue, last_number_);
  RunAtRandom(lock);
  return point;
}

bool StreamScheduler::Query(const Point& point) {
  Lock lock(mutex_);
  RunAtRandom(lock);
  if (IsDone(point)) return true;
  const Queue queue = Choose(point);
  if (queue != nullptr) RunFirst(queue, lock);
  return false;
}

void StreamScheduler::Finish(const Point& point) {
  Lock lock(mutex_);
  while (!IsDone(point)) Step(point, lock);
}

void StreamScheduler::FinishDevice(DeviceOrdinal device) {
  Lock lock(mutex_);
  const uint64_t last = last_number_;
  const auto has_work = [&](const Queue& queue) {
    return queue->device == device && queue->items.front().number <= last;
  };
  for (;;) {
    const auto busy = std::find_if(busy_.begin(), busy_.end(), has_work);
    if (busy == busy_.end()) return;
    Step(Point(*busy, last), lock);
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
    uses.push_back(PendingUse{work.stream, work.call, used, access, item.number, work.call_number});
  });
  std::sort(uses.begin(), uses.end(), [](const PendingUse& a, const PendingUse& b) {
    return std::pair(a.number, b.access) < std::pair(b.number, a.access);  // what it writes first
  });
  return uses;
}

StreamScheduler::Queue StreamScheduler::Choose(const Point& point) {
  if (policy_ == StreamPolicy::kSeeded) return ChooseAnyReady();
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

void StreamScheduler::Step(const Point& point, Lock& lock) {
  const Queue queue = Choose(point);
  if (queue == nullptr) return progress_.wait(lock);
  RunFirst(queue, lock);
}

void StreamScheduler::RunFirst(const Queue& queue, Lock& lock) {
  queue->running = true;
  const std::function<void()>& run = queue->items.front().work.run;
  lock.unlock();
  if (run) run();
  lock.lock();
  queue->items.pop_front();
  queue->running = false;
  --pending_;
  if (queue->items.empty()) busy_.erase(std::find(busy_.begin(), busy_.end(), queue));
  progress_.notify_all();
}

void StreamScheduler::RunAtRandom(Lock& lock) {
  if (policy_ != StreamPolicy::kSeeded) return;
  while (random_() % 3 == 0) {
    const Queue queue = ChooseAnyReady();
    if (queue == nullptr) return;
    RunFirst(queue, lock);
  }
}

}  // namespace twinmmu
