// Pool: records that are named by small numbers instead of pointers.

#ifndef TWINMMU_SIM_BASE_POOL_H_
#define TWINMMU_SIM_BASE_POOL_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace twinmmu {

// Grows by chunks, so a record never moves and a pool of a million has no slack worth naming.
// Where Add throws std::bad_alloc nothing has changed; nothing else throws. Not thread-safe.
template <typename T>
class Pool {
 public:
  uint32_t Add(const T& record) {
    uint32_t id;
    if (free_.empty()) {
      if (next_ / kChunk == chunks_.size()) Grow();
      id = next_++;
    } else {
      id = free_.back();
      free_.pop_back();
    }
    (*this)[id] = record;
    return id;
  }
  void Remove(uint32_t id) { free_.push_back(id); }
  // Up to `count` ids for records, as far as there is room without more memory; how many. Each is
  // live from then on.
  size_t Take(size_t count, uint32_t* ids) {
    size_t taken = 0;
    for (; taken < count && !free_.empty(); ++taken) {
      ids[taken] = free_.back();
      free_.pop_back();
    }
    for (; taken < count && next_ / kChunk != chunks_.size(); ++taken) ids[taken] = next_++;
    return taken;
  }

  T& operator[](uint32_t id) { return (*chunks_[id / kChunk])[id % kChunk]; }
  const T& operator[](uint32_t id) const { return (*chunks_[id / kChunk])[id % kChunk]; }
  size_t size() const { return next_ - free_.size(); }

 private:
  static constexpr uint32_t kChunk = 1024;
  using Chunk = std::array<T, kChunk>;

  // With room to remove every record.
  void Grow() {
    const size_t records = (chunks_.size() + 1) * kChunk;
    if (free_.capacity() < records) free_.reserve(2 * records);
    chunks_.push_back(std::make_unique<Chunk>());
  }

  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::vector<uint32_t> free_;
  uint32_t next_ = 0;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_BASE_POOL_H_
