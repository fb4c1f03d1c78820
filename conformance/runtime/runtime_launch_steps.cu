// Launches: plain ones, cooperative ones, and those with attributes.

#include <sstream>

#include "conformance/runtime/runtime_kernels.h"
#include "conformance/runtime/runtime_world.h"

namespace random_runtime {

namespace {

struct Shape {
  dim3 grid;
  dim3 block;
  size_t shared = 0;
  std::string words;
};

Shape AnyShape(RuntimeWorld& world) {
  Shape shape;
  shape.grid = {world.Of({1u, 2u, 4u, 4u, 16u, 48u, 48u}), world.Of({1u, 1u, 1u, 2u}), 1};
  shape.block = {world.Of({1u, 32u, 32u, 64u, 128u}), world.Of({1u, 1u, 2u}),
                 world.Of({1u, 1u, 1u, 2u})};
  shape.shared = world.Of<size_t>({0, 0, 0, 0, 1024, 1024, 1024, 40 << 10, 40 << 10, 64 << 10});
  if (world.OneIn(12)) {  // what no launch may have
    switch (world.Below(4)) {
      case 0:
        (world.OneIn(2) ? shape.grid.x : shape.grid.z) = 0;
        break;
      case 1:
        (world.OneIn(2) ? shape.grid.y : shape.grid.z) = 65536;
        break;
      case 2:
        shape.block.x = world.Of({0u, 1025u, 2048u});
        break;
      default:
        shape.block.z = world.Of({0u, 65u});
    }
  }
  std::ostringstream text;
  text << shape.grid.x << ' ' << shape.grid.y << ' ' << shape.grid.z << " of " << shape.block.x
       << ' ' << shape.block.y << ' ' << shape.block.z << " with " << shape.shared;
  shape.words = text.str();
  return shape;
}

// What a launch has left in the first of its words.
void GiveWord(RuntimeWorld& world, const Arguments& arguments) {
  unsigned word = 0;
  if (arguments.count == 0 || cudaDeviceSynchronize() != cudaSuccess) return;
  cudaMemcpy(&word, arguments.to, sizeof(word), cudaMemcpyDeviceToHost);
  world.Gave(word);
}

void Launch(RuntimeWorld& world) {
  const Kernel kernel = AnyKernel(world);
  Arguments arguments;
  FindArguments(world, &arguments);
  const Shape shape = AnyShape(world);
  std::string name;
  const cudaStream_t stream = StreamFor(world, &name);
  const bool null = world.OneIn(20);
  if (world.Say(cudaLaunchKernel(kernel.function, shape.grid, shape.block,
                                 null ? nullptr : arguments.pointers, shape.shared, stream),
                "cudaLaunchKernel", kernel.name, shape.words, name, arguments.words, null)) {
    GiveWord(world, arguments);
  }
}

void LaunchCooperative(RuntimeWorld& world) {
  const Kernel kernel = AnyKernel(world);
  Arguments arguments;
  FindArguments(world, &arguments);
  Shape shape = AnyShape(world);
  const bool many = world.OneIn(6);  // more than there can be at once
  if (many) shape.grid.x = 1 << 20;
  std::string name;
  const cudaStream_t stream = StreamFor(world, &name);
  if (world.Say(cudaLaunchCooperativeKernel(kernel.function, shape.grid, shape.block,
                                            arguments.pointers, shape.shared, stream),
                "cudaLaunchCooperativeKernel", kernel.name, many, shape.words, name,
                arguments.words)) {
    GiveWord(world, arguments);
  }
}

// The error is the last one, which may be an older one at times.
void LaunchInBrackets(RuntimeWorld& world) {
  Arguments arguments;
  FindArguments(world, &arguments);
  const Shape shape = AnyShape(world);
  std::string name;
  const cudaStream_t stream = StreamFor(world, &name);
  unsigned* const to = reinterpret_cast<unsigned*>(arguments.to);
  const size_t which = world.Below(3);
  if (!world.OneIn(4)) cudaGetLastError();
  switch (which) {
    case 0:
      FillWords<<<shape.grid, shape.block, shape.shared, stream>>>(to, arguments.count,
                                                                   arguments.value);
      break;
    case 1:
      FewThreads<<<shape.grid, shape.block, shape.shared, stream>>>(to, arguments.count,
                                                                    arguments.value);
      break;
    default:
      PairOfBlocks<<<shape.grid, shape.block, shape.shared, stream>>>(to, arguments.count,
                                                                      arguments.value);
  }
  world.Say(cudaGetLastError(), "<<<>>>", which, shape.words, name, arguments.words);
  GiveWord(world, arguments);
}

cudaLaunchAttribute AnyAttribute(RuntimeWorld& world, std::string* words) {
  cudaLaunchAttribute attribute = {};
  const int id = world.Of({0, 2, 2, 3, 4, 4, 4, 4, 4, 5, 6, 6, 8, 8, 10, 14});
  attribute.id = static_cast<cudaLaunchAttributeID>(id);
  unsigned more[2] = {0, 0};
  if (id == 4) {  // the dimensions of a cluster
    attribute.val.clusterDim.x = world.Of({1u, 2u, 2u, 2u, 2u, 4u, 8u, 16u, 3u, 0u});
    attribute.val.clusterDim.y = more[0] = world.Of({1u, 1u, 1u, 1u, 1u, 2u});
    attribute.val.clusterDim.z = more[1] = world.OneIn(12) ? 0 : 1;
  } else {
    attribute.val.priority = world.Of({0, 1, 1, 1, 1, 1, 2, 7, -3});
  }
  std::ostringstream text;
  text << " attribute " << id << ": " << attribute.val.priority << ' ' << more[0] << ' ' << more[1];
  *words += text.str();
  return attribute;
}

// A launch with attributes, or what is said of such a launch.
void LaunchEx(RuntimeWorld& world) {
  const Kernel kernel = AnyKernel(world);
  Arguments arguments;
  FindArguments(world, &arguments);
  const Shape shape = AnyShape(world);
  std::string words = shape.words;
  std::string name;
  cudaLaunchAttribute attributes[2];
  cudaLaunchConfig_t config = {};
  config.gridDim = shape.grid;
  config.blockDim = shape.block;
  config.dynamicSmemBytes = shape.shared;
  config.stream = StreamFor(world, &name);
  config.attrs = attributes;
  config.numAttrs = static_cast<unsigned>(world.Below(3));
  for (unsigned i = 0; i < config.numAttrs; ++i) attributes[i] = AnyAttribute(world, &words);
  int number = 0;
  switch (world.Below(6)) {
    case 0:
      if (world.Say(cudaOccupancyMaxPotentialClusterSize(&number, kernel.function, &config),
                    "cudaOccupancyMaxPotentialClusterSize", kernel.name, words)) {
        world.Gave(number);
      }
      return;
    case 1:
      // How many there are depends on which multiprocessors a device has.
      if (world.Say(cudaOccupancyMaxActiveClusters(&number, kernel.function, &config),
                    "cudaOccupancyMaxActiveClusters", kernel.name, words)) {
        world.Gave(number > 0);
      }
      return;
    default:
      if (world.Say(cudaLaunchKernelExC(&config, kernel.function, arguments.pointers),
                    "cudaLaunchKernelExC", kernel.name, words, name, arguments.words)) {
        GiveWord(world, arguments);
      }
  }
}

}  // namespace

Steps LaunchSteps() {
  return {{14, Launch}, {6, LaunchCooperative}, {8, LaunchInBrackets}, {14, LaunchEx}};
}

}  // namespace random_runtime
