// RandomWords: the dice of a random program, and what it has written down. For programs over the
// driver's interface, and over the runtime's.

#ifndef TWINMMU_CONFORMANCE_ABI_RANDOM_RANDOM_WORDS_H_
#define TWINMMU_CONFORMANCE_ABI_RANDOM_RANDOM_WORDS_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace twinmmu {

template <typename Handle>
struct RandomObject {
  std::string name;
  Handle handle = {};
  std::string kind;  // what its steps need to know
  size_t size = 0;   // of memory
};

// Named in the order in which they were made.
template <typename Handle>
class RandomObjects {
 public:
  explicit RandomObjects(std::string prefix) : prefix_(std::move(prefix)) {}

  const std::string& Add(Handle handle, std::string kind = "", size_t size = 0) {
    live_.push_back({prefix_ + std::to_string(++made_), handle, std::move(kind), size});
    return live_.back().name;
  }
  void Remove(const std::string& name) {
    for (size_t i = 0; i < live_.size(); ++i) {
      if (live_[i].name == name) return static_cast<void>(live_.erase(live_.begin() + long(i)));
    }
  }
  std::string NameOf(Handle handle) const {
    for (const auto& object : live_) {
      if (object.handle == handle) return object.name;
    }
    return handle == Handle{} ? "none" : "unknown";
  }
  bool empty() const { return live_.empty(); }
  size_t size() const { return live_.size(); }
  const RandomObject<Handle>& operator[](size_t i) const { return live_[i]; }

 private:
  const std::string prefix_;
  std::vector<RandomObject<Handle>> live_;
  int made_ = 0;
};

class RandomWords {
 public:
  explicit RandomWords(uint64_t seed) : dice_(seed) {}

  // --- Dice
  size_t Below(size_t end) { return dice_() % end; }
  bool OneIn(size_t n) { return Below(n) == 0; }
  template <typename T>
  T Of(std::initializer_list<T> all) {
    return all.begin()[Below(all.size())];
  }
  // Of RandomObjects or a vector that is not empty.
  template <typename All>
  const auto& One(const All& all) {
    return all[Below(all.size())];
  }

  // --- Writing down: a call, its code, and then what it gave if that is 0.
  template <typename Code, typename... Words>
  bool Say(Code code, const Words&... words) {
    std::ostringstream line;
    ((line << words << ' '), ...);
    line << "-> " << static_cast<int>(code);
    lines.push_back(line.str());
    return static_cast<int>(code) == 0;
  }
  template <typename... Words>
  void Gave(const Words&... words) {
    std::ostringstream more;
    ((more << ' ' << words), ...);
    lines.back() += more.str();
  }

  std::vector<std::string> lines;

 private:
  std::mt19937_64 dice_;
};

// A kind of call, with how often it is made. It may do nothing where there is no object for it.
template <typename World>
struct RandomStepIn {
  int weight;
  void (*run)(World& world);
};

template <typename World>
void MakeOneOf(const std::vector<RandomStepIn<World>>& steps, World& world) {
  size_t all = 0;
  for (const auto& step : steps) all += static_cast<size_t>(step.weight);
  size_t at = world.Below(all);
  for (const auto& step : steps) {
    if (at < static_cast<size_t>(step.weight)) return step.run(world);
    at -= static_cast<size_t>(step.weight);
  }
}

// Bytes as one number.
inline uint64_t HashOfBytes(const void* memory, size_t size) {
  uint64_t hash = 14695981039346656037u;
  for (size_t i = 0; i < size; ++i) {
    hash = (hash ^ static_cast<const unsigned char*>(memory)[i]) * 1099511628211u;
  }
  return hash;
}

}  // namespace twinmmu

#endif  // TWINMMU_CONFORMANCE_ABI_RANDOM_RANDOM_WORDS_H_
