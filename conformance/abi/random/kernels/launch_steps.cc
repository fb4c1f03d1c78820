// Launches: plain ones, cooperative ones, and those with attributes.

#include <algorithm>

#include "conformance/abi/abi_fixtures.h"
#include "conformance/abi/random/kernels/launch_world.h"
#include "conformance/abi/random/program_world.h"

namespace twinmmu::abi {
namespace {

// CUlaunchAttribute and CUlaunchConfig.
struct LaunchAttribute {
  int id;
  int pad;
  union {
    unsigned words[16];
    int number;
  } value;
};
struct LaunchDescription {
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  CUstream stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};

inline constexpr Function<CUresult(const LaunchDescription*, CUfunction, void**, void**)> launch_ex(
    "cuLaunchKernelEx");
inline constexpr Function<CUresult(int*, CUfunction, const LaunchDescription*)> largest_cluster(
    "cuOccupancyMaxPotentialClusterSize");
inline constexpr Function<CUresult(int*, CUfunction, const LaunchDescription*)> active_clusters(
    "cuOccupancyMaxActiveClusters");

// What a kernel is given: no more words than there are in a part of a block.
struct Arguments {
  RandomBlock part;
  unsigned count = 0;
  unsigned value = 0;
  void* pointers[3] = {&part.base, &count, &value};
};

bool FindArguments(ProgramWorld& world, Arguments* arguments) {
  if (world.blocks.empty()) return false;
  arguments->part = world.Part();
  arguments->part.base = arguments->part.base / 4 * 4;
  arguments->count = static_cast<unsigned>(arguments->part.size / 4);
  arguments->value = static_cast<unsigned>(world.Below(1000));
  return true;
}

// What a launch has left in the first of its words.
void GiveWord(ProgramWorld& world, const Arguments& arguments) {
  unsigned word = 0;
  if (arguments.count == 0 || cuCtxSynchronize() != CUDA_SUCCESS) return;
  cuMemcpyDtoH(&word, arguments.part.base, sizeof(word));
  world.Gave(word);
}

std::string AnyShape(ProgramWorld& world, LaunchDescription* launch) {
  launch->grid[0] = world.Of({1u, 2u, 4u, 4u, 16u, 16u, 48u});
  launch->grid[1] = world.Of({1u, 1u, 1u, 2u});
  launch->grid[2] = 1;
  launch->block[0] = world.Of({1u, 32u, 32u, 32u, 32u, 128u, 256u});
  launch->block[1] = world.Of({1u, 2u, 2u, 2u});
  launch->block[2] = world.Of({1u, 1u, 1u, 1u, 1u, 2u});
  launch->shared_bytes = world.Of({0u, 0u, 0u, 1024u, 1024u, 40u << 10, 64u << 10});
  if (world.OneIn(10)) {  // what no launch may have
    switch (world.Below(4)) {
      case 0:
        launch->grid[world.Below(3)] = 0;
        break;
      case 1:
        launch->grid[1 + world.Below(2)] = 65536;
        break;
      case 2:
        launch->block[0] = world.Of({0u, 1025u, 2048u});
        break;
      default:
        launch->block[2] = world.Of({0u, 65u});
    }
  }
  std::ostringstream text;
  for (const unsigned size : launch->grid) text << size << ' ';
  for (const unsigned size : launch->block) text << size << ' ';
  text << launch->shared_bytes;
  return text.str();
}

void Launch(ProgramWorld& world) {
  AnyKernel kernel;
  Arguments arguments;
  if (!FindAnyKernel(world, &kernel) || !FindArguments(world, &arguments)) return;
  LaunchDescription launch = {};
  const std::string shape = AnyShape(world, &launch);
  std::string name;
  const CUstream stream = StreamFor(world, &name);
  const auto& grid = launch.grid;
  const auto& block = launch.block;
  if (world.OneIn(3)) {
    // More than there can be at once.
    const unsigned blocks = world.OneIn(6) ? 1u << 20 : grid[0];
    if (world.Say(
            cuLaunchCooperativeKernel(kernel.handle, blocks, grid[1], grid[2], block[0], block[1],
                                      block[2], launch.shared_bytes, stream, arguments.pointers),
            "cuLaunchCooperativeKernel", kernel.name, blocks, shape, name, arguments.part.name,
            arguments.count, arguments.value)) {
      GiveWord(world, arguments);
    }
    return;
  }
  if (world.Say(cuLaunchKernel(kernel.handle, grid[0], grid[1], grid[2], block[0], block[1],
                               block[2], launch.shared_bytes, stream, arguments.pointers, nullptr),
                "cuLaunchKernel", kernel.name, shape, name, arguments.part.name, arguments.count,
                arguments.value)) {
    GiveWord(world, arguments);
  }
}

// With a buffer of arguments, or with pointers to them too.
void LaunchWithBuffer(ProgramWorld& world) {
  AnyKernel kernel;
  Arguments arguments;
  if (!FindAnyKernel(world, &kernel) || !FindArguments(world, &arguments)) return;
  struct {
    CUdeviceptr at;
    unsigned count;
    unsigned value;
    uint64_t more;
  } buffer = {arguments.part.base, arguments.count, arguments.value, 0};
  size_t size = world.Of<size_t>({16, 16, 24});
  const bool pointers = world.OneIn(4);
  void* extra[] = {reinterpret_cast<void*>(1), &buffer, reinterpret_cast<void*>(2), &size, nullptr};
  if (world.Say(cuLaunchKernel(kernel.handle, 4, 1, 1, 32, 2, 1, 0, nullptr,
                               pointers ? arguments.pointers : nullptr, extra),
                "cuLaunchKernel", "buffer", pointers, size, kernel.name, arguments.part.name,
                arguments.count, arguments.value)) {
    GiveWord(world, arguments);
  }
}

LaunchAttribute AnyAttribute(ProgramWorld& world, std::string* words) {
  LaunchAttribute attribute = {};
  attribute.id = world.Of({0, 2, 2, 3, 4, 4, 4, 4, 4, 4, 5, 6, 6, 8, 8, 9, 10, 14, 99});
  unsigned* const value = attribute.value.words;
  switch (attribute.id) {
    case 4:  // the dimensions of a cluster
      value[0] = world.Of({1u, 2u, 2u, 2u, 2u, 4u, 8u, 16u, 3u, 0u});
      value[1] = world.Of({1u, 1u, 1u, 1u, 1u, 2u});
      value[2] = world.OneIn(12) ? 0 : 1;
      break;
    case 9: {  // two domains, a byte each
      const unsigned domains = world.Of({0x0100u, 0x0203u, 0x0401u});
      value[0] = domains;
      break;
    }
    default:
      attribute.value.number = world.Of({0, 1, 1, 1, 1, 1, 2, 7, -3});
  }
  std::ostringstream text;
  text << " attribute " << attribute.id << ": " << attribute.value.number << ' ' << value[1] << ' '
       << value[2];
  *words += text.str();
  return attribute;
}

// A launch with attributes, or what is said of such a launch.
void LaunchEx(ProgramWorld& world) {
  AnyKernel kernel;
  Arguments arguments;
  if (!FindAnyKernel(world, &kernel) || !FindArguments(world, &arguments)) return;
  LaunchDescription launch = {};
  std::string words = AnyShape(world, &launch);
  std::string name;
  launch.stream = StreamFor(world, &name);
  LaunchAttribute attributes[2];
  launch.attributes = attributes;
  launch.attribute_count = static_cast<unsigned>(world.Below(3));
  for (unsigned i = 0; i < launch.attribute_count; ++i) {
    attributes[i] = AnyAttribute(world, &words);
  }
  int number = 0;
  switch (world.Below(5)) {
    case 0:
      if (world.Say(largest_cluster(&number, kernel.handle, &launch),
                    "cuOccupancyMaxPotentialClusterSize", kernel.name, words)) {
        world.Gave(number);
      }
      return;
    case 1:
      // How many there are depends on which multiprocessors a device has.
      if (world.Say(active_clusters(&number, kernel.handle, &launch),
                    "cuOccupancyMaxActiveClusters", kernel.name, words)) {
        world.Gave(number > 0);
      }
      return;
    default:
      if (world.Say(launch_ex(&launch, kernel.handle, arguments.pointers, nullptr),
                    "cuLaunchKernelEx", kernel.name, words, name, arguments.part.name,
                    arguments.count, arguments.value)) {
        GiveWord(world, arguments);
      }
  }
}

}  // namespace

RandomSteps LaunchSteps() { return {{14, Launch}, {3, LaunchWithBuffer}, {20, LaunchEx}}; }

}  // namespace twinmmu::abi
