#include "sim/base/striped_mutex.h"

namespace twinmmu {

void StripedMutex::UsePlace() {
  static std::atomic<uint32_t> threads{0};
  if (place_of_thread_ < 0) {
    place_of_thread_ = static_cast<int>(threads.fetch_add(1, std::memory_order_relaxed) % kPlaces);
  }
  int used = places_used_.load();
  while (used <= place_of_thread_ &&
         !places_used_.compare_exchange_weak(used, place_of_thread_ + 1)) {
  }
}

// Who holds the entrance waits for nobody that holds stripes, but that these leave.
void StripedMutex::EnterThroughEntrance(Stripes stripes) {
  UnlockStripes(stripes);
  const std::lock_guard lock(entrance_);
  ForEach(stripes, [&](int i) { stripes_[i].mutex.lock(); });
}

void StripedMutex::EnterLater(Stripes stripes, Place& place) {
  // Most writers leave before a thread that sleeps is woken.
  if (SpinUntil([&] { return !IsClosed(stripes) && TryEnter(stripes, place); })) return;
  EnterStripes(stripes);
  ForEach(stripes, [&](int i) { place.inside[i].fetch_add(1); });
  UnlockStripes(stripes);
}

void StripedMutex::AwaitReaders(Stripes stripes) {
  const auto all_left = [&] { return !HasReaders(stripes); };
  if (SpinUntil(all_left)) return;
  std::unique_lock lock(waiting_);
  waiting_writers_.fetch_add(1);
  reader_left_.wait(lock, all_left);
  waiting_writers_.fetch_sub(1);
}

void StripedMutex::WakeWritersNow() {
  const std::lock_guard lock(waiting_);
  reader_left_.notify_all();
}

}  // namespace twinmmu
