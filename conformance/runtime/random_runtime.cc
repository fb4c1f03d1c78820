// Random programs over the runtime, each in a process of its own: what they ask, and what they are
// told. The same on each runtime that behaves the same.
//
//   random_runtime [FIRST [PROGRAMS [CALLS]]]
//
// The exit code is 1 if what was told cannot be written, and 2 for other arguments than numbers.

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "conformance/runtime/runtime_world.h"

namespace random_runtime {
namespace {

constexpr unsigned kMostSeconds = 60;

// All that a program leaves in its memory, as numbers.
void SayContents(RuntimeWorld& world) {
  for (size_t i = 0; i < world.blocks.size(); ++i) {
    const Object<char*>& block = world.blocks[i];
    std::vector<unsigned char> bytes(block.size);
    world.Say(cudaMemcpy(bytes.data(), block.handle, block.size, cudaMemcpyDeviceToHost),
              "contents", block.name);
    world.Gave(twinmmu::HashOfBytes(bytes.data(), bytes.size()));
  }
}

void RunProgram(uint64_t seed, size_t calls) {
  RuntimeWorld world(seed);
  Steps steps;
  for (const Steps& group :
       {MemorySteps(), PinnedMemorySteps(), CopyMemorySteps(), ManagedMemorySteps(),
        PoolMemorySteps(), ArrayMemorySteps(), ArrayContentSteps(), TextureObjectSteps(),
        SymbolMemorySteps(), StreamSteps(), EventSteps(), LaunchSteps(), FunctionSteps(),
        DeviceSteps(), LibrarySteps(), GraphSteps(), CaptureSteps()}) {
    steps.insert(steps.end(), group.begin(), group.end());
  }
  size_t written = 0;
  const auto write = [&] {
    for (; written < world.lines.size(); ++written)
      std::printf("%s\n", world.lines[written].c_str());
    std::fflush(stdout);
  };
  for (size_t attempts = 0; written < calls && attempts < 20 * calls; ++attempts) {
    twinmmu::MakeOneOf(steps, world);
    // What has run by then would be a matter of luck.
    cudaDeviceSynchronize();
    write();
  }
  world.Say(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  SayContents(world);
  write();
}

}  // namespace
}  // namespace random_runtime

int main(int argc, char** argv) {
  unsigned long long numbers[] = {1, 20, 300};
  for (int i = 1; i < argc; ++i) {
    char* end = nullptr;
    if (i <= 3) numbers[i - 1] = std::strtoull(argv[i], &end, 10);
    if (end == nullptr || end == argv[i] || *end != '\0') {
      std::fprintf(stderr, "usage: %s [FIRST [PROGRAMS [CALLS]]]\n", argv[0]);
      return 2;
    }
  }
  const auto [first, programs, calls] = numbers;
  for (unsigned long long seed = first; seed < first + programs; ++seed) {
    std::printf("program %llu\n", seed);
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      alarm(random_runtime::kMostSeconds);
      random_runtime::RunProgram(seed, calls);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) std::printf("the process ended by %d\n", status);
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      std::perror("what was told cannot be written");
      return 1;
    }
  }
  return 0;
}
