// How often in a second two kernels can meet: each writes a flag, and waits for the other's. The
// argument is the file of libcuda.so.1.
//
//   Meetings/<where>: two kernels that meet again and again; the counters are `kernels`, meetings a
//   second, `yields`, the same of two threads or processes of the host that yield until they see
//   the other's flag, and `ratio`, how many times as long a meeting of kernels takes.
//   Launches/<where>: the same, but each meeting has two launches of its own, which are waited for.
//
// Those of blocks have kernels of 8 blocks of 256 threads: the first thread of each meets the first
// one of the other kernel's, and the rest of its block waits for it.

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <new>
#include <string>
#include <thread>

#include "benchmark/benchmark.h"
#include "third_party/cuda_abi/include/cuda.h"

namespace twinmmu {
namespace {

constexpr char kPtx[] = R"(
.version 8.0
.target sm_70
.address_size 64
.visible .entry meet(.param .u64 mine, .param .u64 theirs, .param .u32 first, .param .u32 last) {
  .reg .pred %p<3>;
  .reg .b32 %r<6>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [mine];
  ld.param.u64 %rd2, [theirs];
  mov.u32 %r4, %ctaid.x;
  mul.wide.u32 %rd3, %r4, 4;
  add.u64 %rd1, %rd1, %rd3;
  add.u64 %rd2, %rd2, %rd3;
  mov.u32 %r5, %tid.x;
  setp.ne.u32 %p2, %r5, 0;
  ld.param.u32 %r1, [first];
  ld.param.u32 %r2, [last];
NEXT:
  @%p2 bra MET;
  st.release.sys.global.u32 [%rd1], %r1;
WAIT:
  ld.acquire.sys.global.u32 %r3, [%rd2];
  setp.lt.u32 %p1, %r3, %r1;
  @%p1 bra WAIT;
MET:
  bar.sync 0;
  add.u32 %r1, %r1, 1;
  setp.le.u32 %p1, %r1, %r2;
  @%p1 bra NEXT;
  ret;
}
)";
constexpr uint32_t kInOneLaunch = 5'000;
constexpr uint32_t kLaunches = 1'000;
constexpr size_t kFlagApart = 256;

struct Shape {
  uint32_t blocks = 1;
  uint32_t threads = 1;
};
constexpr Shape kOneThread;
constexpr Shape kBlocks{8, 256};

std::string* path = nullptr;

void Check(bool holds, const char* what) {
  if (holds) return;
  std::cerr << what << " failed\n";
  std::_Exit(1);
}

template <typename Function>
Function* Find(const char* symbol) {
  static void* const library = dlopen(path->c_str(), RTLD_NOW | RTLD_LOCAL);
  Check(library != nullptr, path->c_str());
  auto* const found = reinterpret_cast<Function*>(dlsym(library, symbol));
  Check(found != nullptr, symbol);
  return found;
}

#define TWINMMU_SYMBOL(name) #name
#define TWINMMU_FIND(name) Find<decltype(::name)>(TWINMMU_SYMBOL(name))
#define TWINMMU_CALL(name, ...) Check(TWINMMU_FIND(name)(__VA_ARGS__) == CUDA_SUCCESS, #name)

// Descriptors, from one process to the other.
class Channel {
 public:
  Channel() { Check(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends_) == 0, "socketpair"); }
  ~Channel() {
    for (const int end : ends_) close(end);
  }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  void Send(int descriptor) {
    Message message;
    cmsghdr* const part = CMSG_FIRSTHDR(&message.header);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(part), &descriptor, sizeof(descriptor));
    Check(sendmsg(ends_[0], &message.header, 0) == 1, "sendmsg");
  }
  int Receive() {
    Message message;
    Check(recvmsg(ends_[1], &message.header, 0) == 1, "recvmsg");
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(CMSG_FIRSTHDR(&message.header)), sizeof(descriptor));
    return descriptor;
  }

 private:
  struct Message {
    Message() {
      header.msg_iov = &vector;
      header.msg_iovlen = 1;
      header.msg_control = room;
      header.msg_controllen = sizeof(room);
    }

    char byte = 0;
    iovec vector = {&byte, 1};
    alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
    msghdr header = {};
  };

  int ends_[2];
};

// A process that has a context and the kernel.
class Machine {
 public:
  Machine() {
    TWINMMU_CALL(cuInit, 0);
    CUcontext context = nullptr;
    TWINMMU_CALL(cuDevicePrimaryCtxRetain, &context, 0);
    TWINMMU_CALL(cuCtxSetCurrent, context);
    CUmodule module = nullptr;
    TWINMMU_CALL(cuModuleLoadData, &module, kPtx);
    TWINMMU_CALL(cuModuleGetFunction, &kernel_, module, "meet");
    context_ = context;
  }

  CUdeviceptr MakeFlags() const {
    CUdeviceptr flags = 0;
    TWINMMU_CALL(cuMemAlloc, &flags, 2 * kFlagApart);
    TWINMMU_CALL(cuMemsetD8, flags, 0, 2 * kFlagApart);
    return flags;
  }

  // The process of side 0 makes them.
  static CUdeviceptr MakeSharedFlags(size_t side, Channel* channel) {
    constexpr size_t kSize = size_t{2} << 20;
    CUmemAllocationProp properties = {};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    CUmemGenericAllocationHandle memory = 0;
    if (side == 0) {
      int descriptor = -1;
      TWINMMU_CALL(cuMemCreate, &memory, kSize, &properties, 0);
      TWINMMU_CALL(cuMemExportToShareableHandle, &descriptor, memory,
                   CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
      channel->Send(descriptor);
    } else {
      const intptr_t descriptor = channel->Receive();
      TWINMMU_CALL(cuMemImportFromShareableHandle, &memory, reinterpret_cast<void*>(descriptor),
                   CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    }
    CUdeviceptr flags = 0;
    TWINMMU_CALL(cuMemAddressReserve, &flags, kSize, 0, 0, 0);
    TWINMMU_CALL(cuMemMap, flags, kSize, 0, memory, 0);
    CUmemAccessDesc access = {properties.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    TWINMMU_CALL(cuMemSetAccess, flags, kSize, &access, 1);
    return flags;
  }

  CUstream MakeStream() const {
    TWINMMU_CALL(cuCtxSetCurrent, context_);
    CUstream stream = nullptr;
    TWINMMU_CALL(cuStreamCreate, &stream, 1);
    return stream;
  }

  void Launch(CUstream stream, CUdeviceptr flags, size_t side, uint32_t first, uint32_t last,
              const Shape& shape) const {
    CUdeviceptr mine = flags + side * kFlagApart;
    CUdeviceptr theirs = flags + (1 - side) * kFlagApart;
    void* parameters[] = {&mine, &theirs, &first, &last};
    Check(launch_(kernel_, shape.blocks, 1, 1, shape.threads, 1, 1, 0, stream, parameters,
                  nullptr) == 0,
          "a launch");
  }

  void Wait(CUstream stream) const { Check(synchronize_(stream) == 0, "a kernel"); }

 private:
  CUcontext context_ = nullptr;
  CUfunction kernel_ = nullptr;
  decltype(::cuLaunchKernel)* const launch_ = TWINMMU_FIND(cuLaunchKernel);
  decltype(::cuStreamSynchronize)* const synchronize_ = TWINMMU_FIND(cuStreamSynchronize);
};

// What two processes have in common.
struct Common {
  std::atomic<uint32_t> begun{0};
  std::array<std::atomic<uint32_t>, 128> flags = {};  // the first and the last one are used
  std::atomic<double> seconds{0};
};

// Runs two of `body`, and says how long the two took from where both have begun.
double InTwo(bool processes, const std::function<void(size_t side, Common& common,
                                                      const std::function<void()>& begin)>& body) {
  void* const memory =
      mmap(nullptr, sizeof(Common), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  Check(memory != MAP_FAILED, "mmap");
  auto& common = *new (memory) Common;
  const auto run = [&](size_t side) {
    std::chrono::steady_clock::time_point start;
    body(side, common, [&] {
      ++common.begun;
      while (common.begun < 2) std::this_thread::yield();
      start = std::chrono::steady_clock::now();
    });
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    if (side == 0) common.seconds = took.count();
  };
  if (processes) {
    pid_t children[2];
    for (size_t side = 0; side < 2; ++side) {
      children[side] = fork();
      if (children[side] == 0) {
        run(side);
        std::_Exit(0);
      }
    }
    for (const pid_t child : children) {
      int status = 0;
      waitpid(child, &status, 0);
      Check(status == 0, "a process");
    }
  } else {
    std::thread other([&] { run(1); });
    run(0);
    other.join();
  }
  const double seconds = common.seconds;
  munmap(memory, sizeof(Common));
  return seconds;
}

void MeetOnHost(size_t side, Common* common, uint32_t meetings) {
  auto& mine = common->flags[side * (common->flags.size() - 1)];
  auto& theirs = common->flags[(1 - side) * (common->flags.size() - 1)];
  for (uint32_t i = 1; i <= meetings; ++i) {
    mine = i;
    while (theirs < i) std::this_thread::yield();
  }
}

// A part of the two that meet: one launch for all meetings, or one for each.
void Meet(const Machine& machine, CUdeviceptr flags, size_t side, bool launches, const Shape& shape,
          const std::function<void()>& begin) {
  const CUstream stream = machine.MakeStream();
  begin();
  if (!launches) machine.Launch(stream, flags, side, 1, kInOneLaunch, shape);
  for (uint32_t i = 1; launches && i <= kLaunches; ++i) {
    machine.Launch(stream, flags, side, i, i, shape);
    machine.Wait(stream);
  }
  machine.Wait(stream);
}

double SecondsOfThreads(bool launches, const Shape& shape) {
  static const auto* const machine = new Machine;
  const CUdeviceptr flags = machine->MakeFlags();
  return InTwo(false, [&](size_t side, Common&, const std::function<void()>& begin) {
    Meet(*machine, flags, side, launches, shape, begin);
  });
}

double SecondsOfProcesses(bool launches, const Shape& shape) {
  Channel channel;
  return InTwo(true, [&](size_t side, Common&, const std::function<void()>& begin) {
    const Machine machine;
    Meet(machine, machine.MakeSharedFlags(side, &channel), side, launches, shape, begin);
  });
}

// One thread queues both kernels, and waits for both.
double SecondsOfStreams(bool launches, const Shape& shape) {
  static const auto* const machine = new Machine;
  const CUdeviceptr flags = machine->MakeFlags();
  const CUstream streams[] = {machine->MakeStream(), machine->MakeStream()};
  const auto start = std::chrono::steady_clock::now();
  for (uint32_t i = 1; i <= (launches ? kLaunches : 1); ++i) {
    const uint32_t last = launches ? i : kInOneLaunch;
    for (const size_t side : {size_t{0}, size_t{1}}) {
      machine->Launch(streams[side], flags, side, i, last, shape);
    }
    for (const CUstream stream : streams) machine->Wait(stream);
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

enum class Where { kStreams, kThreads, kProcesses };

void Measure(benchmark::State& state, Where where, bool launches, const Shape& shape = kOneThread) {
  const uint32_t meetings = launches ? kLaunches : kInOneLaunch;
  double by_kernels = 0;
  double by_host = 0;
  for (auto _ : state) {
    const double seconds = where == Where::kStreams     ? SecondsOfStreams(launches, shape)
                           : where == Where::kProcesses ? SecondsOfProcesses(launches, shape)
                                                        : SecondsOfThreads(launches, shape);
    state.SetIterationTime(seconds);
    by_kernels += seconds;
    by_host += InTwo(where == Where::kProcesses,
                     [&](size_t side, Common& common, const std::function<void()>& begin) {
                       begin();
                       MeetOnHost(side, &common, meetings);
                     });
  }
  const double all = static_cast<double>(meetings) * static_cast<double>(state.iterations());
  state.counters["kernels"] = all / by_kernels;
  state.counters["yields"] = all / by_host;
  state.counters["ratio"] = by_kernels / by_host;
}

#define TWINMMU_MEASURE(name, ...) \
  BENCHMARK_CAPTURE(Measure, name, __VA_ARGS__)->UseManualTime()->Iterations(5)

// Processes first: while this one has not loaded the library.
TWINMMU_MEASURE(meetings_of_processes, Where::kProcesses, false);
TWINMMU_MEASURE(launches_of_processes, Where::kProcesses, true);
TWINMMU_MEASURE(meetings_of_processes_blocks, Where::kProcesses, false, kBlocks);
TWINMMU_MEASURE(launches_of_processes_blocks, Where::kProcesses, true, kBlocks);
TWINMMU_MEASURE(meetings_of_streams, Where::kStreams, false);
TWINMMU_MEASURE(launches_of_streams, Where::kStreams, true);
TWINMMU_MEASURE(meetings_of_streams_blocks, Where::kStreams, false, kBlocks);
TWINMMU_MEASURE(launches_of_streams_blocks, Where::kStreams, true, kBlocks);
TWINMMU_MEASURE(meetings_of_threads, Where::kThreads, false);
TWINMMU_MEASURE(launches_of_threads, Where::kThreads, true);

}  // namespace
}  // namespace twinmmu

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (argc != 2) {
    std::cerr << "usage: polling_benchmark [--benchmark_...] FILE, which is libcuda.so.1\n";
    return 2;
  }
  twinmmu::path = new std::string(argv[1]);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
