// RuntimeWorld: what a random program of the runtime has made.

#ifndef TWINMMU_CONFORMANCE_RUNTIME_RUNTIME_WORLD_H_
#define TWINMMU_CONFORMANCE_RUNTIME_RUNTIME_WORLD_H_

#include <cuda_runtime.h>

#include <string>
#include <vector>

#include "conformance/abi/random/random_words.h"

namespace random_runtime {

template <typename Handle>
using Object = twinmmu::RandomObject<Handle>;
template <typename Handle>
using Objects = twinmmu::RandomObjects<Handle>;

class RuntimeWorld : public twinmmu::RandomWords {
 public:
  using RandomWords::RandomWords;

  // A default stream in one of three.
  cudaStream_t AnyStream() { return streams.empty() || OneIn(3) ? nullptr : One(streams).handle; }

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
};

using Step = twinmmu::RandomStepIn<RuntimeWorld>;
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

#endif  // TWINMMU_CONFORMANCE_RUNTIME_RUNTIME_WORLD_H_
