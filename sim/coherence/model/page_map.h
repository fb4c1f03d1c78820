// PageMap: what is known of memory, by pages of 4 KiB.

#ifndef TWINMMU_SIM_COHERENCE_MODEL_PAGE_MAP_H_
#define TWINMMU_SIM_COHERENCE_MODEL_PAGE_MAP_H_

#include <cstdint>
#include <deque>
#include <iterator>
#include <unordered_map>
#include <utility>

namespace twinmmu::coherence {

// Locations go by the address of their first byte.
using LocationId = uint64_t;

constexpr uint64_t kPageShift = 12;
constexpr uint64_t kPageBytes = uint64_t{1} << kPageShift;

inline uint64_t PageOf(LocationId location) { return location >> kPageShift; }

// `Page` is copyable if this is to be. Pages stay where they are until they are erased.
template <typename Page>
class PageMap {
 public:
  PageMap() = default;
  PageMap(const PageMap& other) : pages_(other.pages_), order_(other.order_) {}
  PageMap& operator=(const PageMap& other) {
    if (this != &other) *this = PageMap(other);
    return *this;
  }
  PageMap(PageMap&& other) noexcept { *this = std::move(other); }
  PageMap& operator=(PageMap&& other) noexcept {
    pages_ = std::move(other.pages_);
    order_ = std::move(other.order_);
    ForgetLast();
    other.ForgetLast();
    return *this;
  }

  bool empty() const { return pages_.empty(); }
  size_t size() const { return pages_.size(); }

  // Null: there is none.
  Page* Find(uint64_t number) {
    if (last_number_ == number) return last_;
    return Search(number);
  }
  const Page* Find(uint64_t number) const { return const_cast<PageMap*>(this)->Find(number); }
  // Makes it if there is none.
  Page* Get(uint64_t number) {
    Page* const found = Find(number);
    return found != nullptr ? found : Make(number);
  }
  void Erase(uint64_t number) {
    ForgetLast();
    pages_.erase(number);
  }
  // From `first` to `last`; calls gone(page) for each before.
  template <typename Gone>
  void Erase(uint64_t first, uint64_t last, const Gone& gone) {
    ForgetLast();
    if (last - first < pages_.size()) {
      for (uint64_t number = first; number <= last; ++number) {
        const auto page = pages_.find(number);
        if (page == pages_.end()) continue;
        gone(page->second);
        pages_.erase(page);
      }
      return;
    }
    for (auto page = pages_.begin(); page != pages_.end();) {
      const bool erases = first <= page->first && page->first <= last;
      if (erases) gone(page->second);
      page = erases ? pages_.erase(page) : std::next(page);
    }
  }
  // The page that was made first, but never `except`. False: there is none.
  bool Oldest(uint64_t except, uint64_t* number) {
    while (!order_.empty()) {
      const uint64_t front = order_.front();
      if (pages_.count(front) != 0 && front != except) {
        *number = front;
        return true;
      }
      order_.pop_front();
      if (front == except) {
        order_.push_back(front);
        if (pages_.size() <= 1) return false;
      }
    }
    return false;
  }
  void Clear() {
    pages_.clear();
    order_.clear();
    ForgetLast();
  }

  auto begin() const { return pages_.begin(); }
  auto end() const { return pages_.end(); }
  auto begin() { return pages_.begin(); }
  auto end() { return pages_.end(); }

 private:
  static constexpr uint64_t kNone = ~uint64_t{0};

  void ForgetLast() {
    last_number_ = kNone;
    last_ = nullptr;
  }
  Page* Search(uint64_t number) {
    const auto found = pages_.find(number);
    last_number_ = number;
    last_ = found == pages_.end() ? nullptr : &found->second;
    return last_;
  }
  Page* Make(uint64_t number) {
    // Numbers of pages that are no more stay until they come to the front, but not for ever.
    if (order_.size() > 2 * pages_.size() + 64) {
      order_.clear();
      for (const auto& [page, unused] : pages_) order_.push_back(page);
    }
    order_.push_back(number);
    last_ = &pages_[number];
    last_number_ = number;
    return last_;
  }

  std::unordered_map<uint64_t, Page> pages_;
  std::deque<uint64_t> order_;    // as they were made; also some that are no more
  uint64_t last_number_ = kNone;  // that was looked for last
  Page* last_ = nullptr;          // null: it is not there
};

}  // namespace twinmmu::coherence

#endif  // TWINMMU_SIM_COHERENCE_MODEL_PAGE_MAP_H_
