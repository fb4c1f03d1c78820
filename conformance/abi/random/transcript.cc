#include "conformance/abi/random/transcript.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "conformance/abi/driver_under_test.h"
#include "conformance/abi/random/fault.h"
#include "conformance/abi/random/program_world.h"

namespace twinmmu::abi {
namespace {

constexpr unsigned kSecondsAtMost = 60;
constexpr char kFaulted[] = "-faulted";

// All that a program leaves in its memory, as numbers.
void SayContents(ProgramWorld& world) {
  for (const RandomBlock& block : world.blocks) {
    std::vector<unsigned char> bytes(block.size);
    const CUresult result = cuMemcpyDtoH(bytes.data(), block.base, block.size);
    world.Say(result, "contents", block.name);
    world.Gave(HashOfBytes(bytes.data(), bytes.size()));
  }
}

struct Theme {
  const char* name;
  std::vector<RandomSteps> steps;
};

std::vector<Theme> AllThemes() {
  return {
      {"usual", {PoolSteps(), GraphSteps(), ModuleSteps(), ContextSteps()}},
      {"captures",
       {GraphSteps(), CaptureSteps(), NodeSteps(), NodeQuestionSteps(), NodeObjectSteps(),
        NodeExecutableSteps()}},
      {"kernels", {LibrarySteps(), FunctionSteps(), LaunchSteps(), OccupancySteps()}},
      {"waits",
       {WaitSteps(), StreamSettingSteps(), ContextStackSteps(), GreenContextSteps(),
        SymbolSteps()}},
      {"memory",
       {ManagedSteps(), BatchSteps(), HostSteps(), PointerSteps(), MappingSteps(),
        MappedCopySteps()}},
      {"arrays", {ArraySteps(), ArrayCopySteps(), BoxSteps(), TextureSteps(), TensorMapSteps()}},
  };
}

bool IsFaulted(const RandomProgram& program) {
  return program.theme.find(kFaulted) != std::string::npos;
}

RandomSteps StepsOf(const RandomProgram& program) {
  std::vector<RandomSteps> groups = {MemorySteps(), CopySteps(), StreamSteps()};
  if (program.devices == 1) {
    for (const Theme& theme : AllThemes()) {
      if (program.theme != theme.name && program.theme != std::string(theme.name) + kFaulted)
        continue;
      groups.insert(groups.end(), theme.steps.begin(), theme.steps.end());
    }
  } else {
    // Kernels and graphs of one device would not survive to find memory of the other.
    groups.insert(groups.end(), {PoolSteps(), DeviceSteps()});
  }
  RandomSteps steps;
  for (const RandomSteps& group : groups) steps.insert(steps.end(), group.begin(), group.end());
  return steps;
}

void Start(ProgramWorld& world, int devices) {
  world.Say(cuInit(0), "cuInit");
  for (int device = 0; device < devices; ++device) {
    CUcontext context = nullptr;
    world.Say(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
    world.contexts.push_back(context);
  }
  world.context = world.contexts[0];
  world.Say(cuCtxPushCurrent(world.context), "cuCtxPushCurrent");
}

// What has run by then, and in which order streams touch memory, would be a matter of luck.
void Synchronize(ProgramWorld& world) {
  for (const CUcontext context : world.contexts) {
    if (context != world.context) {
      cuCtxPushCurrent(context);
      cuCtxSynchronize();
      cuCtxPopCurrent(nullptr);
    }
  }
  cuCtxSynchronize();
}

void RunProgram(const RandomProgram& program, FILE* out) {
  ProgramWorld world(program.seed);
  const RandomSteps steps = StepsOf(program);
  size_t written = 0;
  const auto write = [&] {
    for (; written < world.lines.size(); ++written) {
      std::fprintf(out, "%s\n", world.lines[written].c_str());
    }
    std::fflush(out);
  };
  Start(world, program.devices);
  bool is_to_fault = IsFaulted(program);
  for (int attempts = 0;
       written < static_cast<size_t>(program.calls) && attempts < 20 * program.calls; ++attempts) {
    if (is_to_fault && written > static_cast<size_t>(program.calls) / 2) {
      Fault(world);
      is_to_fault = false;
    }
    MakeOneOf(steps, world);
    Synchronize(world);
    write();
  }
  world.Say(cuCtxSynchronize(), "cuCtxSynchronize");
  SayContents(world);
  write();
}

}  // namespace

std::vector<std::string> Themes() {
  std::vector<std::string> names;
  for (const char* const suffix : {"", kFaulted}) {
    for (const Theme& theme : AllThemes()) names.push_back(std::string(theme.name) + suffix);
  }
  return names;
}

std::vector<std::string> TranscriptOf(const RandomProgram& program) {
  int ends[2];
  if (pipe(ends) != 0) return {"no pipe"};
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    alarm(kSecondsAtMost);
    RunProgram(program, fdopen(ends[1], "w"));
    std::_Exit(0);
  }
  close(ends[1]);
  std::string text;
  char piece[4096];
  for (ssize_t got; (got = read(ends[0], piece, sizeof(piece))) > 0;) {
    text.append(piece, static_cast<size_t>(got));
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  if (status != 0) lines.push_back("the process ended by " + std::to_string(status));
  return lines;
}

}  // namespace twinmmu::abi
