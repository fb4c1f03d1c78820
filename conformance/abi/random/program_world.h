// ProgramWorld: the objects that a random program has made, its dice, and what it has written down.

#ifndef TWINMMU_CONFORMANCE_ABI_RANDOM_PROGRAM_WORLD_H_
#define TWINMMU_CONFORMANCE_ABI_RANDOM_PROGRAM_WORLD_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "conformance/abi/driver_under_test.h"
#include "conformance/abi/pools/pool_test.h"

namespace twinmmu::abi {

// Of an event for other processes: the genuine driver ends the process where a stream of another
// context waits for it.
inline constexpr char kShared[] = "shared";

// A range of addresses that some call has made.
struct RandomBlock {
  std::string name;
  CUdeviceptr base = 0;
  size_t size = 0;
  bool in_graph = false;  // whose work must find it, or the genuine driver ends the process
};

// Of an allocation in chunks of a reservation.
struct RandomMapping {
  std::string reservation;
  size_t chunk = 0;
  size_t chunks = 0;
  CUmemGenericAllocationHandle handle = 0;
  std::string allocation;
};

template <typename Handle>
struct RandomObject {
  std::string name;
  Handle handle = {};
  std::string kind;
};

template <typename Handle>
class RandomObjects {
 public:
  explicit RandomObjects(std::string prefix) : prefix_(std::move(prefix)) {}

  const std::string& Add(Handle handle, std::string kind = "") {
    live_.push_back({prefix_ + std::to_string(++made_), handle, std::move(kind)});
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

class ProgramWorld {
 public:
  explicit ProgramWorld(uint64_t seed) : dice_(seed) {}

  // --- Dice
  size_t Below(size_t end) { return dice_() % end; }
  bool OneIn(size_t n) { return Below(n) == 0; }
  template <typename T>
  T Of(std::initializer_list<T> all) {
    return all.begin()[Below(all.size())];
  }
  template <typename Handle>
  const RandomObject<Handle>& One(const RandomObjects<Handle>& all) {
    return all[Below(all.size())];
  }
  template <typename T>
  const T& One(const std::vector<T>& all) {
    return all[Below(all.size())];
  }
  const RandomBlock& OneBlock() { return blocks[Below(blocks.size())]; }
  // A part of a block, of at most `most` bytes.
  RandomBlock Part(size_t most = 1 << 16);
  CUstream AnyStream();

  // --- Writing down: a call, its code, and then what it gave if that is 0.
  template <typename... Words>
  bool Say(CUresult result, const Words&... words) {
    std::ostringstream line;
    ((line << words << ' '), ...);
    line << "-> " << static_cast<int>(result);
    lines.push_back(line.str());
    return result == CUDA_SUCCESS;
  }
  template <typename... Words>
  void Gave(const Words&... words) {
    std::ostringstream more;
    ((more << ' ' << words), ...);
    lines.back() += more.str();
  }
  // "b3+16", or what the number is where it is small.
  std::string NameOf(CUdeviceptr address) const;
  std::string AddBlock(CUdeviceptr base, size_t size);
  void RemoveBlock(const std::string& name);

  std::vector<std::string> lines;
  std::vector<RandomBlock> blocks;  // of cuMemAlloc and its like
  RandomObjects<CUstream> streams{"s"};
  RandomObjects<CUevent> events{"e"};  // their kind is kShared or empty
  RandomObjects<void*> pinned{"h"};
  RandomObjects<CUmemoryPool> pools{"p"};
  RandomObjects<CUdeviceptr> pieces{"a"};  // of pools
  RandomObjects<CUgraph> graphs{"g"};
  RandomObjects<CUgraphNode> nodes{"n"};  // their kind is the name of the graph
  RandomObjects<CUgraphExec> executables{"x"};
  RandomObjects<CUmodule> modules{"m"};
  RandomObjects<CUdeviceptr> reservations{"r"};
  RandomObjects<CUmemGenericAllocationHandle> allocations{"c"};
  RandomObjects<CUarray> arrays{"y"};
  RandomObjects<CUmipmappedArray> mipmaps{"u"};  // their kind is the number of their levels
  RandomObjects<CUtexObject> textures{"t"};      // their kind is what they show
  RandomObjects<CUsurfObject> surfaces{"z"};     // and theirs
  std::map<std::string, CUDA_ARRAY3D_DESCRIPTOR> shapes;  // of arrays and mipmaps
  std::map<std::string, CUDA_RESOURCE_DESC> resources;    // of textures and surfaces
  RandomObjects<void*> libraries{"l"};
  RandomObjects<void*> kernels{"k"};         // their kind is the name of the library
  RandomObjects<CUfunction> functions{"f"};  // and theirs that of the module or kernel
  RandomObjects<CUcontext> other_contexts{"d"};
  std::set<std::string> managed;        // names of blocks
  std::vector<RandomBlock> registered;  // of the host
  std::vector<RandomMapping> mappings;
  std::shared_ptr<struct NodeWorld> nodes_that_run;
  CUcontext context = nullptr;      // the current one
  std::vector<CUcontext> contexts;  // of all devices

 private:
  std::mt19937_64 dice_;
  int blocks_made_ = 0;
};

// A kind of call, with how often it is made. It may do nothing where there is no object for it.
struct RandomStep {
  int weight;
  void (*run)(ProgramWorld& world);
};
using RandomSteps = std::vector<RandomStep>;

// What all programs do.
RandomSteps MemorySteps();
RandomSteps CopySteps();
RandomSteps StreamSteps();
// usual/
RandomSteps PoolSteps();
RandomSteps GraphSteps();
RandomSteps ModuleSteps();
RandomSteps ContextSteps();
RandomSteps DeviceSteps();  // of programs with two devices
// arrays/
RandomSteps ArraySteps();
RandomSteps ArrayCopySteps();
RandomSteps BoxSteps();
RandomSteps TextureSteps();
RandomSteps TensorMapSteps();
// captures/
RandomSteps CaptureSteps();
RandomSteps NodeSteps();
RandomSteps NodeQuestionSteps();
RandomSteps NodeObjectSteps();
RandomSteps NodeExecutableSteps();
// kernels/
RandomSteps LibrarySteps();
RandomSteps FunctionSteps();
RandomSteps LaunchSteps();
RandomSteps OccupancySteps();
// memory/
RandomSteps ManagedSteps();
RandomSteps BatchSteps();
RandomSteps HostSteps();
RandomSteps PointerSteps();
RandomSteps MappingSteps();
RandomSteps MappedCopySteps();
// waits/
RandomSteps WaitSteps();
RandomSteps StreamSettingSteps();
RandomSteps ContextStackSteps();
RandomSteps GreenContextSteps();
RandomSteps SymbolSteps();

}  // namespace twinmmu::abi

#endif  // TWINMMU_CONFORMANCE_ABI_RANDOM_PROGRAM_WORLD_H_
