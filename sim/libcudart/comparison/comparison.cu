// Arguments: names of groups; without any, all but what tells the properties of the machine.

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>

#include "sim/libcudart/comparison/comparison.h"

namespace comparison {
namespace {

struct Group {
  const char* name;
  void (*ask)();
};
constexpr char kProperties[] = "properties";
constexpr Group kGroups[] = {
    {"devices", AskAboutDevices},
    {"errors", AskAboutErrors},
    {"memory", AskAboutMemory},
    {"host_memory", AskAboutHostMemory},
    {"managed", AskAboutManagedMemory},
    {"pools", AskAboutPools},
    {"copies", AskAboutCopies},
    {"arrays", AskAboutArrays},
    {"array_copies", AskAboutArrayCopies},
    {"textures", AskAboutTextures},
    {"streams", AskAboutStreams},
    {"events", AskAboutEvents},
    {"captures", AskAboutCaptures},
    {"graphs", AskAboutGraphs},
    {"nodes", AskAboutNodes},
    {"any_nodes", AskAboutNodesOfAnyType},
    {"launches", AskAboutLaunches},
    {"functions", AskAboutFunctions},
    {"variables", AskAboutVariables},
    {"libraries", AskAboutLibraries},
    {"sharing", AskAboutSharing},
    {"host_functions", AskInHostFunctions},
    {"two_devices", AskAcrossDevices},
    {kProperties, AskAboutProperties},
};

constexpr int kMostAttempts = 40;
constexpr unsigned kMostSeconds = 20;

int* calls;  // begun by the child
std::map<int, std::string> skipped;

std::string ReadAll(int pipe) {
  std::string all;
  char part[4096];
  for (ssize_t size; (size = read(pipe, part, sizeof(part))) > 0;) all.append(part, size);
  return all;
}

// What the group prints, if it comes to its end.
bool Attempt(const Group& group, std::string* output) {
  int ends[2];
  if (pipe(ends) != 0) return false;
  *calls = 0;
  const pid_t child = fork();
  if (child == 0) {
    alarm(kMostSeconds);
    dup2(ends[1], 1);
    close(ends[0]);
    close(ends[1]);
    group.ask();
    std::fflush(stdout);
    _exit(0);
  }
  close(ends[1]);
  *output = ReadAll(ends[0]);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFSIGNALED(status)) return true;
  skipped[*calls] = WTERMSIG(status) == SIGALRM ? "does not end" : strsignal(WTERMSIG(status));
  return false;
}

void Run(const Group& group) {
  skipped.clear();
  std::string output;
  for (int i = 0; i < kMostAttempts && !Attempt(group, &output); ++i) {
  }
  std::printf("[%s]\n%s", group.name, output.c_str());
  std::fflush(stdout);
}

}  // namespace

bool BeginCall(const char* text) {
  ++*calls;
  std::printf("%s: ", text);
  std::fflush(stdout);
  const auto found = skipped.find(*calls);
  if (found == skipped.end()) return true;
  std::printf("%s\n", found->second.c_str());
  return false;
}

void EndCall(cudaError_t error) {
  const cudaError_t last = cudaGetLastError();
  std::printf("%s", cudaGetErrorName(error));
  if (last != error) std::printf(", the last error is %s", cudaGetErrorName(last));
  std::printf("\n");
  std::fflush(stdout);
}

void Tell(const char* text, long long value) {
  std::printf("  %s = %lld\n", text, value);
  std::fflush(stdout);
}

}  // namespace comparison

int main(int count, char** names) {
  using comparison::calls;
  calls = static_cast<int*>(
      mmap(nullptr, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  if (calls == MAP_FAILED) return 2;
  for (const auto& group : comparison::kGroups) {
    bool wanted = count == 1 && group.name != comparison::kProperties;
    for (int i = 1; i < count; ++i) wanted = wanted || std::strcmp(names[i], group.name) == 0;
    if (wanted) comparison::Run(group);
  }
  return 0;
}
