// ProgramWorld: the objects that a random program has made.

#ifndef TWINMMU_CONFORMANCE_ABI_RANDOM_PROGRAM_WORLD_H_
#define TWINMMU_CONFORMANCE_ABI_RANDOM_PROGRAM_WORLD_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "conformance/abi/driver_under_test.h"
#include "conformance/abi/pools/pool_test.h"
#include "conformance/abi/random/random_words.h"

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

class ProgramWorld : public RandomWords {
 public:
  using RandomWords::RandomWords;

  const RandomBlock& OneBlock() { return blocks[Below(blocks.size())]; }
  // A part of a block, of at most `most` bytes.
  RandomBlock Part(size_t most = 1 << 16);
  CUstream AnyStream();

  // "b3+16", or what the number is where it is small.
  std::string NameOf(CUdeviceptr address) const;
  std::string AddBlock(CUdeviceptr base, size_t size);
  void RemoveBlock(const std::string& name);

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
  int blocks_made_ = 0;
};

using RandomStep = RandomStepIn<ProgramWorld>;
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
