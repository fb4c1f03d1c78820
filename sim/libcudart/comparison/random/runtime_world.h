// RuntimeWorld: what a random program of the runtime has made, its dice, and what it has written
// down.

#ifndef TWINMMU_SIM_LIBCUDART_COMPARISON_RANDOM_RUNTIME_WORLD_H_
#define TWINMMU_SIM_LIBCUDART_COMPARISON_RANDOM_RUNTIME_WORLD_H_

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace random_runtime {

template <typename Handle>
struct Object {
  std::string name;
  Handle handle = {};
  size_t size = 0;   // of memory
  std::string kind;  // what its steps need to know
};

// Named in the order in which they were made.
template <typename Handle>
class Objects {
 public:
  explicit Objects(std::string prefix) : prefix_(std::move(prefix)) {}

  const std::string& Add(Handle handle, size_t size = 0, std::string kind = "") {
    live_.push_back({prefix_ + std::to_string(++made_), handle, size, std::move(kind)});
    return live_.back().name;
  }
  void Remove(const std::string& name) {
    for (size_t i = 0; i < live_.size(); ++i) {
      if (live_[i].name == name) return static_cast<void>(live_.erase(live_.begin() + long(i)));
    }
  }
  std::string NameOf(Handle handle) const {
    for (const Object<Handle>& object : live_) {
      if (object.handle == handle) return object.name;
    }
    return handle == Handle{} ? "none" : "unknown";
  }
  bool empty() const { return live_.empty(); }
  size_t size() const { return live_.size(); }
  const Object<Handle>& operator[](size_t i) const { return live_[i]; }

 private:
  const std::string prefix_;
  std::vector<Object<Handle>> live_;
  int made_ = 0;
};

class RuntimeWorld {
 public:
  explicit RuntimeWorld(uint64_t seed) : dice_(seed) {}

  // --- Dice
  size_t Below(size_t end) { return dice_() % end; }
  bool OneIn(size_t n) { return Below(n) == 0; }
  template <typename T>
  T Of(std::initializer_list<T> all) {
    return all.begin()[Below(all.size())];
  }
  template <typename Handle>
  const Object<Handle>& One(const Objects<Handle>& all) {
    return all[Below(all.size())];
  }
  // A default stream in one of three.
  cudaStream_t AnyStream() { return streams.empty() || OneIn(3) ? nullptr : One(streams).handle; }

  // --- Writing down: a call, its error, and then what it gave if that is 0.
  template <typename... Words>
  bool Say(cudaError_t error, const Words&... words) {
    std::ostringstream line;
    ((line << words << ' '), ...);
    line << "-> " << static_cast<int>(error);
    lines.push_back(line.str());
    return error == cudaSuccess;
  }
  template <typename... Words>
  void Gave(const Words&... words) {
    std::ostringstream more;
    ((more << ' ' << words), ...);
    lines.back() += more.str();
  }

  std::vector<std::string> lines;
  Objects<char*> blocks{"b"};  // device memory; its bytes were set when it was made
  Objects<char*> pinned{"h"};  // of the host
  Objects<cudaMemPool_t> pools{"p"};
  Objects<cudaArray_t> arrays{"a"};
  Objects<cudaMipmappedArray_t> mipmaps{"m"};
  Objects<cudaTextureObject_t> textures{"t"};  // their kinds are the names of what they are of
  Objects<cudaSurfaceObject_t> surfaces{"u"};
  Objects<cudaStream_t> streams{"s"};
  Objects<cudaEvent_t> events{"e"};
  bool cache_config_set = false;  // of the device

 private:
  std::mt19937_64 dice_;
};

// A kind of call, with how often it is made. It may do nothing where there is no object for it.
struct Step {
  int weight;
  void (*run)(RuntimeWorld& world);
};
using Steps = std::vector<Step>;

Steps StreamSteps();
Steps EventSteps();
Steps LaunchSteps();
Steps FunctionSteps();
Steps DeviceSteps();
Steps LibrarySteps();
Steps GraphSteps();
Steps CaptureSteps();
Steps MemorySteps();
Steps PinnedMemorySteps();
Steps CopyMemorySteps();
Steps ManagedMemorySteps();
Steps PoolMemorySteps();
Steps ArrayMemorySteps();
Steps ArrayContentSteps();
Steps TextureObjectSteps();
Steps SymbolMemorySteps();

}  // namespace random_runtime

#endif  // TWINMMU_SIM_LIBCUDART_COMPARISON_RANDOM_RUNTIME_WORLD_H_
