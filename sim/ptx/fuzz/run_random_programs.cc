// main for LLVMFuzzerTestOneInput with bytes that depend on a number: many programs without
// libFuzzer, and each of them again.
//
//   run_random_programs FIRST COUNT [PROCESSES]
//
// Prints the number of each program that crashes, or takes longer than a minute; another process
// goes on behind it. The exit code is 1 if there was one.

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

constexpr unsigned kSecondsOfAProgram = 60;
// Of a process, which keeps what it has seen.
constexpr uint64_t kProgramsOfAProcess = 5000;

// Programs for a process, which writes into memory that is shared at which it is.
struct Part {
  uint64_t next = 0;
  uint64_t end = 0;
};

[[noreturn]] void RunPart(volatile Part* part) {
  for (uint64_t i = part->next; i < part->end; ++i) {
    part->next = i;
    alarm(kSecondsOfAProgram);
    std::mt19937_64 random(i);
    std::vector<uint8_t> bytes(20 + random() % 300);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  }
  _exit(0);
}

class Runner {
 public:
  Runner(uint64_t first, uint64_t count, size_t processes)
      : next_(first), end_(first + count), parts_(Share(processes)) {
    for (size_t i = 0; i < processes; ++i) free_.push_back(i);
  }

  // How many programs failed.
  uint64_t Run() {
    while (next_ < end_ || !running_.empty()) {
      while (next_ < end_ && !free_.empty()) Start();
      if (!running_.empty()) WaitForOne();
    }
    return failed_;
  }

 private:
  static Part* Share(size_t count) {
    void* const memory = mmap(nullptr, count * sizeof(Part), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    return static_cast<Part*>(memory);
  }
  void Start() {
    const size_t place = free_.back();
    free_.pop_back();
    parts_[place] = {next_, std::min(next_ + kProgramsOfAProcess, end_)};
    next_ = parts_[place].end;
    Fork(place);
  }
  void Fork(size_t place) {
    const pid_t child = fork();
    if (child < 0) std::abort();
    if (child == 0) RunPart(&parts_[place]);
    running_[child] = place;
  }
  void WaitForOne() {
    int status = 0;
    const pid_t child = wait(&status);
    const auto found = running_.find(child);
    if (found == running_.end()) return;
    const size_t place = found->second;
    running_.erase(found);
    free_.push_back(place);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
    Part& part = parts_[place];
    ++failed_;
    std::printf("program %llu: ", static_cast<unsigned long long>(part.next));
    if (WIFSIGNALED(status)) {
      std::printf("signal %d\n", WTERMSIG(status));
    } else {
      std::printf("exit code %d\n", WEXITSTATUS(status));
    }
    std::fflush(stdout);
    if (++part.next == part.end) return;
    free_.pop_back();
    Fork(place);
  }

  uint64_t next_;
  const uint64_t end_;
  Part* const parts_;  // by place, one for each process
  std::vector<size_t> free_;
  std::map<pid_t, size_t> running_;
  uint64_t failed_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) {
    std::fprintf(stderr, "usage: %s FIRST COUNT [PROCESSES]\n", argv[0]);
    return 2;
  }
  const uint64_t first = std::strtoull(argv[1], nullptr, 10);
  const uint64_t count = std::strtoull(argv[2], nullptr, 10);
  const uint64_t processes = argc == 4 ? std::strtoull(argv[3], nullptr, 10) : 1;
  const uint64_t failed =
      Runner(first, count, static_cast<size_t>(std::max<uint64_t>(processes, 1))).Run();
  std::printf("%llu programs, %llu failed\n", static_cast<unsigned long long>(count),
              static_cast<unsigned long long>(failed));
  return failed == 0 ? 0 : 1;
}
