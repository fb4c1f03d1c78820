// Random calls of all functions, through the C interface, in processes one after the other until
// the time is over: on each profile, from 1 to 8 threads, with dead handles, null pointers, numbers
// that mean nothing, and with what earlier calls gave. In every fourth process the host has no
// memory for some of what calls allocate.
//
// Usage: random_calls LIBRARY SECONDS [FIRST_SEED [PROCESSES]]. So many processes call at a time;
// as many as the machine has processors unless it is said. What a process did is reproduced by its
// seed, as far as its threads take turns alike: random_calls LIBRARY 0 SEED 1. Says how many calls
// there were, and of each process that crashed or did not come to its end the seed and the last
// calls; the exit code is 1 if there was one.
//
// Not done is what no library can survive: copies to addresses of the host that nobody has, and so
// a process that faults at an address which it passed itself, though within a structure, is not
// counted.

#include <dlfcn.h>
#include <execinfo.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <new>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "sim/profile/profile.h"

namespace {

constexpr size_t kMostThreads = 8;
constexpr size_t kMostParameters = 14;
constexpr size_t kCallsOfProcess = 20'000;
constexpr unsigned int kMostSeconds = 60;  // of a process
// Half of it for the rooms of all threads. A host may take a minute to touch some GiB for the first
// time.
constexpr rlim_t kMemoryOfProcess = rlim_t{1} << 30;
constexpr size_t kRoom = size_t{4} << 20;
constexpr size_t kBehindRoom = size_t{1} << 30;
constexpr size_t kWordsOfRoom = 24;
constexpr size_t kPointers = 16;

// What each parameter is: h a handle, a device pointer or a size; f a function; p memory; s a text;
// o where a handle is put, d an address; i handles; v pointers.
struct Signature {
  const char* symbol;
  const char* parameters;
};
constexpr Signature kSignatures[] = {
#include "sim/libcuda/tests/signatures.inc"
};

constexpr char kPtx[] = R"(
.version 8.0
.target sm_52
.address_size 64
.visible .global .u32 counter = 5;
.visible .entry store(.param .u64 at) {
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [at];
  st.global.u64 [%rd1], %rd1;
  ret;
}
)";

using Clock = std::chrono::steady_clock;
using Random = std::mt19937_64;
using Any = uintptr_t;
using Function = int(Any, Any, Any, Any, Any, Any, Any, Any, Any, Any, Any, Any, Any, Any);

// What the process that looks on sees of the one that calls.
struct Place {
  std::atomic<uint32_t> function{0};
  std::atomic<uint32_t> threads{0};
  std::array<std::atomic<uint32_t>, kMostThreads> running = {};  // function + 1 of each thread
  std::atomic<uint64_t> calls{0};
};
Clock::time_point last_call = Clock::time_point::max();
Place* place = nullptr;

// Exit codes.
constexpr int kNoMemory = 3;
constexpr int kFaultOfItsOwn = 77;

// --- Allocations that fail -----------------------------------------------------------------------

// Of which one fails; 0: none.
std::atomic<uint32_t> fails_of{0};
// Of this thread: while it is in a call, how many will work before the next one that fails.
thread_local bool in_call = false;
thread_local uint32_t until_failure = 0;
thread_local std::minstd_rand when;

bool Fails() {
  if (!in_call || fails_of == 0 || until_failure-- != 0) return false;
  until_failure = static_cast<uint32_t>(when() % fails_of);
  errno = ENOMEM;
  return true;
}

// --- What calls are given ------------------------------------------------------------------------

constexpr uint64_t kLeastPointer = 1 << 16;  // what is smaller is a size, a number, or null

// What calls of all threads gave.
class Known {
 public:
  void Keep(uint64_t value) {
    if (value >= kLeastPointer) values_[next_++ % values_.size()] = value;
  }
  uint64_t Any(Random* random) const { return values_[(*random)() % values_.size()]; }

 private:
  std::array<std::atomic<uint64_t>, 64> values_ = {};
  std::atomic<size_t> next_{0};
};
Known handles;
Known addresses;

struct CallOfThread {
  std::array<Any, kMostParameters> given = {};
  std::array<char*, kMostParameters> rooms = {};
  char** pointers = nullptr;
};
thread_local CallOfThread* current = nullptr;

void DoNothing(void*) {}

// Nothing is behind it, for what says that it is larger.
char* MakeRoom() {
  void* const memory = mmap(nullptr, kRoom + kBehindRoom, PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) std::_Exit(kNoMemory);
  if (mprotect(memory, kRoom, PROT_READ | PROT_WRITE) != 0) std::_Exit(kNoMemory);
  return static_cast<char*>(memory);
}

const char* ProfileOf(Random* random) {
  const auto profiles = twinmmu::NamedProfiles();
  return profiles[(*random)() % profiles.size()].name;
}

class Caller {
 public:
  explicit Caller(uint64_t seed) : random_(seed) {
    when.seed(static_cast<uint32_t>(seed));
    for (char*& room : call_.rooms) room = MakeRoom();
    call_.pointers = reinterpret_cast<char**>(MakeRoom());
    current = &call_;
  }
  ~Caller() {
    for (char* const room : call_.rooms) munmap(room, kRoom + kBehindRoom);
    munmap(call_.pointers, kRoom + kBehindRoom);
  }
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  int Call(const Signature& signature, Function* function) {
    const size_t count = std::strlen(signature.parameters);
    const auto has = [&](const char* word) {
      return std::strstr(signature.symbol, word) != nullptr;
    };
    may_write_ = has("Memcpy") || has("Load") || has("Link") || has("Batch");
    has_list_ = has("LoadData") || has("LoadFromFile") || has("LaunchKernelEx");
    call_.given = {};
    for (size_t i = 0; i < kPointers; ++i) {
      call_.pointers[i] = call_.rooms[random_() % kMostParameters];
    }
    for (size_t i = 0; i < count; ++i) call_.given[i] = Make(signature.parameters[i], i);
    const auto& g = call_.given;
    in_call = true;
    const int result = function(g[0], g[1], g[2], g[3], g[4], g[5], g[6], g[7], g[8], g[9], g[10],
                                g[11], g[12], g[13]);
    in_call = false;
    for (size_t i = 0; result == 0 && i < count; ++i) {
      const char parameter = signature.parameters[i];
      if ((parameter != 'o' && parameter != 'd') || g[i] == 0) continue;
      uint64_t value = 0;
      std::memcpy(&value, call_.rooms[i], sizeof(value));
      (parameter == 'o' ? handles : addresses).Keep(value);
    }
    return result;
  }

 private:
  Any Make(char parameter, size_t i) {
    switch (parameter) {
      case 'h':
        return Number();
      case 'f':
        return random_() % 4 == 0 ? 0 : reinterpret_cast<Any>(DoNothing);
      case 's':
        return Text();
      case 'v':
        return random_() % 4 == 0 ? 0 : reinterpret_cast<Any>(call_.pointers);
      default:
        return random_() % 8 == 0 ? 0 : FillRoom(parameter, call_.rooms[i]);
    }
  }

  Any Known() { return (random_() % 4 == 0 ? addresses : handles).Any(&random_); }
  Any Number() {
    static constexpr Any kNumbers[] = {0,       1,   2,   3,       4,           5,       6,
                                       8,       16,  32,  64,      4096,        1 << 16, 2 << 20,
                                       4 << 20, 700, 801, ~Any{0}, Any{1} << 40};
    return random_() % 2 == 0 ? Known() : kNumbers[random_() % std::size(kNumbers)];
  }
  Any Text() {
    static constexpr const char* kTexts[] = {nullptr,  "",         "store",        "counter",
                                             "cuInit", "cuMemMap", "0000:00:00.0", kPtx};
    return reinterpret_cast<Any>(kTexts[random_() % std::size(kTexts)]);
  }

  // A structure of any kind. No number in it can be taken for a pointer to where nothing is but
  // great ones, which the handler of faults knows again.
  Any FillRoom(char parameter, char* room) {
    std::memset(room, 0, kWordsOfRoom * 8);
    const bool no_list = has_list_ && random_() % 64 != 0;
    const uint64_t kind = parameter == 'i' ? 3 : random_() % (no_list ? 1 : 4);
    if (kind == 1) std::memcpy(room, kPtx, sizeof(kPtx));
    for (size_t i = 0; kind == 2 && i < kWordsOfRoom; ++i) {
      const uint64_t high = random_() % 8;
      const uint64_t two = high == 0 ? 0 : high << 32 | random_() % 8;
      std::memcpy(room + 8 * i, &two, sizeof(two));
    }
    for (size_t i = 0; kind == 3 && i < kWordsOfRoom; ++i) {
      const Any made = may_write_ ? addresses.Any(&random_) : Known();
      const uint64_t words[] = {0, made, reinterpret_cast<Any>(call_.rooms[i % kMostParameters]),
                                kLeastPointer};
      std::memcpy(room + 8 * i, &words[random_() % (parameter == 'i' ? 2 : std::size(words))], 8);
    }
    return reinterpret_cast<Any>(room);
  }

  Random random_;
  bool may_write_ = false;  // where a structure says: handles are no good there
  bool has_list_ = false;   // most numbers say that it goes on behind the end of the room
  CallOfThread call_;
};

// --- A process that calls ------------------------------------------------------------------------

// Whether the program itself named the address: as a parameter, or in a structure.
bool IsNamed(uint64_t address, bool canonical) {
  if (current == nullptr) return false;
  const auto names = [&](uint64_t word) {
    if (!canonical) return word >> 47 != 0 && word >> 47 != 0x1ffff;
    return word >= kLeastPointer && address - word < (uint64_t{1} << 26);
  };
  for (const Any given : current->given) {
    if (names(given)) return true;
  }
  for (const char* const room : current->rooms) {
    for (size_t i = 0; i + 8 <= kWordsOfRoom * 8; i += 4) {
      uint64_t word = 0;
      std::memcpy(&word, room + i, sizeof(word));
      if (names(word)) return true;
    }
  }
  return false;
}

void OnFault(int signal, siginfo_t* info, void*) {
  const bool canonical = info->si_code != SI_KERNEL;
  if (IsNamed(reinterpret_cast<uint64_t>(info->si_addr), canonical)) _exit(kFaultOfItsOwn);
  std::fprintf(stderr, "fault at %p, called from:\n", info->si_addr);
  void* frames[32];
  backtrace_symbols_fd(frames, backtrace(frames, std::size(frames)), STDERR_FILENO);
  ::signal(signal, SIG_DFL);
  raise(signal);
}

// These take addresses of the host as numbers, end the process, or wait for what does not come.
bool IsLeftOut(const std::string& symbol) {
  for (const char* const left_out :
       {"cuMemcpy", "cuMemcpy_ptds", "cuMemcpyAsync", "cuMemcpyAsync_ptsz", "cuMemcpyPeer",
        "cuMemcpyPeer_ptds", "cuMemcpyPeerAsync", "cuMemcpyPeerAsync_ptsz",
        "cuPointerGetAttributes", "cuMemcpyBatchAsync", "cuMemcpyBatchAsync_v2",
        "cuCheckpointProcessLock"}) {
    if (symbol == left_out) return true;
  }
  return false;
}

struct Found {
  uint32_t number;
  Function* function;
};

void CallAtRandom(uint64_t seed, size_t thread, const std::vector<Found>& functions,
                  Function* retain, Function* set_current) {
  Caller caller(seed);
  Random random(seed + 1);
  uint64_t context = 0;
  for (size_t call = 0; call < kCallsOfProcess / place->threads; ++call) {
    if (call % 64 == 0) {
      if (Clock::now() > last_call) return;
      retain(reinterpret_cast<Any>(&context), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
      const int result = set_current(context, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
      if (result >= 700 && result < 720) return;  // it is no good any more
    }
    const Found& found = functions[random() % functions.size()];
    place->running[thread] = found.number + 1;
    const int result = caller.Call(kSignatures[found.number], found.function);
    ++place->calls;
    if (result == 700) return;
  }
  place->running[thread] = 0;
}

// The profile, but for waits that nothing ends: they are soon over.
std::string FileOf(const char* profile) {
  const std::string name = std::string("random_calls_") + profile + ".json";
  const std::string made = name + std::to_string(getpid());
  std::FILE* const file = std::fopen(made.c_str(), "w");
  if (file == nullptr) return profile;
  std::fprintf(file, "{\"base\": \"%s\", \"wait_budget_ms\": 200}\n", profile);
  std::fclose(file);
  return std::rename(made.c_str(), name.c_str()) == 0 ? name : profile;
}

void Limit(__rlimit_resource resource, rlim_t most) {
  const rlimit limit = {most, most};
  setrlimit(resource, &limit);
}

[[noreturn]] void CallInThisProcess(const char* library, uint64_t seed) {
  Random random(seed);
  const char* const profile = ProfileOf(&random);
  static constexpr const char* kPolicies[] = {"eager", "deferred", "seeded"};
  setenv("TWINMMU_PROFILE", FileOf(profile).c_str(), 1);
  setenv("TWINMMU_STREAM_POLICY", kPolicies[random() % std::size(kPolicies)], 1);
  setenv("TWINMMU_MEMORY", "256MiB", 1);
  if (seed % 4 == 3) fails_of = 100;
  Limit(RLIMIT_FSIZE, rlim_t{1} << 20);
  Limit(RLIMIT_DATA, kMemoryOfProcess);
  alarm(kMostSeconds);
  void* const opened = dlopen(library, RTLD_NOW);
  if (opened == nullptr) std::_Exit(2);
  const auto find = [&](const char* symbol) {
    return reinterpret_cast<Function*>(dlsym(opened, symbol));
  };
  std::vector<Found> functions;
  for (uint32_t i = 0; i < std::size(kSignatures); ++i) {
    Function* const function = find(kSignatures[i].symbol);
    if (function != nullptr && !IsLeftOut(kSignatures[i].symbol))
      functions.push_back({i, function});
  }
  struct sigaction action = {};
  action.sa_sigaction = OnFault;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, nullptr);
  sigaction(SIGBUS, &action, nullptr);
  find("cuInit")(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
  Function* const retain = find("cuDevicePrimaryCtxRetain");
  Function* const set_current = find("cuCtxSetCurrent");
  place->threads = static_cast<uint32_t>(random() % 2 == 0 ? 1 : 1 + random() % kMostThreads);
  std::vector<std::thread> threads;
  for (size_t i = 1; i < place->threads; ++i) {
    threads.emplace_back(
        [&, i] { CallAtRandom(seed * 16 + i, i, functions, retain, set_current); });
  }
  CallAtRandom(seed * 16, 0, functions, retain, set_current);
  for (std::thread& thread : threads) thread.join();
  std::exit(0);
}

// --- The one that looks on -----------------------------------------------------------------------

struct Totals {
  uint64_t calls = 0;
  uint64_t processes = 0;
  uint64_t own_faults = 0;
  uint64_t found = 0;
};

void Judge(int status, uint64_t seed, const Place& of, Totals* totals) {
  totals->calls += of.calls;
  ++totals->processes;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  if (WIFEXITED(status) && WEXITSTATUS(status) == kFaultOfItsOwn) {
    ++totals->own_faults;
    return;
  }
  ++totals->found;
  Random random(seed);
  std::string running;
  for (const std::atomic<uint32_t>& function : of.running) {
    const uint32_t number = function - 1;
    if (number < std::size(kSignatures)) running += std::string(" ") + kSignatures[number].symbol;
  }
  std::printf("seed %llu, profile %s, %u threads: %s %d after %llu calls, in%s\n",
              static_cast<unsigned long long>(seed), ProfileOf(&random), of.threads.load(),
              WIFEXITED(status)             ? "exit code"
              : WTERMSIG(status) == SIGALRM ? "hangs"
                                            : "signal",
              WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status),
              static_cast<unsigned long long>(of.calls.load()), running.c_str());
  std::fflush(stdout);
}

// Processes that call, one after the other in each place.
class Watch {
 public:
  // One process in each place, and more until `end`.
  Watch(std::string library, uint64_t first_seed, size_t count, Clock::time_point end)
      : library_(std::move(library)), seed_(first_seed), end_(end), children_(count) {
    void* const memory = mmap(nullptr, count * sizeof(Place), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) std::_Exit(kNoMemory);
    places_ = static_cast<Place*>(memory);
  }

  Totals Run() {
    for (size_t i = 0; i < children_.size(); ++i) Start(i);
    for (size_t running = children_.size(); running > 0;) {
      int status = 0;
      const pid_t ended = waitpid(-1, &status, 0);
      if (ended < 0) continue;
      size_t i = 0;
      while (i < children_.size() && children_[i].process != ended) ++i;
      if (i == children_.size()) continue;
      Judge(status, children_[i].seed, places_[i], &totals_);
      if (Clock::now() < end_) {
        Start(i);
      } else {
        --running;
      }
    }
    return totals_;
  }

 private:
  struct Child {
    pid_t process = 0;
    uint64_t seed = 0;
  };

  void Start(size_t i) {
    new (&places_[i]) Place;
    children_[i].seed = seed_++;
    children_[i].process = fork();
    if (children_[i].process < 0) std::_Exit(kNoMemory);
    if (children_[i].process != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    place = &places_[i];
    CallInThisProcess(library_.c_str(), children_[i].seed);
  }

  std::string library_;
  uint64_t seed_;
  Clock::time_point end_;
  std::vector<Child> children_;
  Place* places_ = nullptr;
  Totals totals_;
};

}  // namespace

// Of the whole process, the library included.
extern "C" void* __libc_malloc(size_t size);
extern "C" void* malloc(size_t size) { return Fails() ? nullptr : __libc_malloc(size); }

int main(int argc, char** argv) {
  if (argc < 3 || argc > 5) {
    std::fprintf(stderr, "usage: random_calls LIBRARY SECONDS [FIRST_SEED [PROCESSES]]\n");
    return 2;
  }
  const std::string library = std::filesystem::absolute(argv[1]);
  const auto number = [&](int i) { return std::strtoull(argv[i], nullptr, 10); };
  const uint64_t seed = argc > 3 ? number(3) : 0;
  const size_t processes = argc > 4 ? number(4) : std::thread::hardware_concurrency();
  // Some calls write files, named by whatever text is at hand.
  std::string folder = std::filesystem::temp_directory_path() / "random_calls_XXXXXX";
  if (mkdtemp(folder.data()) == nullptr || chdir(folder.c_str()) != 0) return 2;
  const Clock::time_point end = Clock::now() + std::chrono::seconds(number(2));
  if (number(2) != 0) last_call = end;
  const Totals totals = Watch(library, seed, std::max(processes, size_t{1}), end).Run();
  std::filesystem::remove_all(folder);
  std::printf(
      "%llu calls in %llu processes: %llu crashes and hangs; %llu read where they said "
      "themselves, and nothing is\n",
      static_cast<unsigned long long>(totals.calls),
      static_cast<unsigned long long>(totals.processes),
      static_cast<unsigned long long>(totals.found),
      static_cast<unsigned long long>(totals.own_faults));
  return totals.found == 0 ? 0 : 1;
}
