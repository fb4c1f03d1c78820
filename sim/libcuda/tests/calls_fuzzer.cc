// Any calls of the driver's functions, from 1 to 8 threads, on any machine: with numbers that mean
// nothing, dead handles, null pointers, and with what earlier calls gave.
//
// The first byte says how many threads, the second which machine; the others choose functions, and
// of each parameter what it is. Not done is what no library can survive: pointers that are neither
// null nor readable, and copies to addresses of the host that the simulator need not know.

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <type_traits>
#include <vector>

#include "sim/libcuda/process.h"
#include "sim/profile/profile.h"
#include "third_party/cuda_abi/include/cuda.h"

namespace {

using twinmmu::Profile;
using twinmmu::libcuda::Process;

constexpr size_t kMaxThreads = 8;
constexpr size_t kMaxCalls = 64;  // of each thread
constexpr size_t kRoom = size_t{4} << 20;

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

// What earlier calls gave, of all threads.
class Known {
 public:
  void Clear() {
    for (auto& each : values_) each = 0;
  }
  void Add(uint64_t value) { values_[next_++ % values_.size()] = value; }
  uint64_t Get(uint8_t which) const { return values_[which % values_.size()]; }

 private:
  std::array<std::atomic<uint64_t>, 32> values_ = {};
  std::atomic<size_t> next_{0};
};
Known known;

// Descriptors that the driver gave, which are the program's to close.
class Descriptors {
 public:
  void Add(int descriptor) {
    const std::lock_guard lock(mutex_);
    open_.push_back(descriptor);
  }
  void Close() {
    for (const int descriptor : open_) close(descriptor);
    open_.clear();
  }

 private:
  std::mutex mutex_;
  std::vector<int> open_;
};
Descriptors descriptors;

void DoNothing(void*) {}
void DoNothingInCallback(CUstream, CUresult, void*) {}

// Calls as the bytes say.
class Caller {
 public:
  Caller(const uint8_t* data, size_t size, char* room) : data_(data), size_(size), room_(room) {
    std::fill(std::begin(pointers_), std::end(pointers_), room);
  }

  void Run();

 private:
  uint8_t Byte() { return at_ < size_ ? data_[at_++] : 0; }

  uint64_t Number() {
    static constexpr uint64_t kNumbers[] = {0,           1,       2,       3,    4,
                                            8,           32,      64,      4095, 4096,
                                            1 << 16,     2 << 20, 4 << 20, 700,  uint64_t{1} << 40,
                                            ~uint64_t{0}};
    const uint8_t which = Byte();
    return (which & 1) != 0 ? known.Get(which >> 1) : kNumbers[which / 2 % std::size(kNumbers)];
  }

  // Room for any answer, with a structure of any kind in it.
  char* Room() {
    const uint8_t kind = Byte();
    if (kind == 0) return nullptr;
    std::memset(room_, 0, 256);
    if (kind % 4 == 1) {
      std::memcpy(room_, kPtx, sizeof(kPtx));
    } else if (kind % 4 == 2) {
      for (uint32_t i = 0; i < 8; ++i) std::memcpy(room_ + 4 * i, Small(), 4);
    } else if (kind % 4 == 3) {
      for (uint32_t i = 0; i < 16; ++i) std::memcpy(room_ + 8 * i, Word(), 8);
    }
    return room_;
  }
  const void* Small() {
    word_ = Byte() % 8;
    return &word_;
  }
  const void* Word() {
    word_ = Number();
    return &word_;
  }
  const char* Text() {
    static constexpr const char* kTexts[] = {nullptr,  "",         "store",        "counter",
                                             "cuInit", "cuMemMap", "0000:00:00.0", kPtx};
    return kTexts[Byte() % std::size(kTexts)];
  }

  template <typename T>
  T Any() {
    if constexpr (std::is_same_v<T, CUhostFn>) {
      return DoNothing;
    } else if constexpr (std::is_same_v<T, CUstreamCallback>) {
      return DoNothingInCallback;
    } else if constexpr (std::is_same_v<T, CUcontext> || std::is_same_v<T, CUstream> ||
                         std::is_same_v<T, CUevent> || std::is_same_v<T, CUmodule> ||
                         std::is_same_v<T, CUfunction> || std::is_same_v<T, CUarray>) {
      return reinterpret_cast<T>(Number());
    } else if constexpr (std::is_same_v<T, const char*>) {
      return Text();
    } else if constexpr (std::is_same_v<T, void**>) {
      return Byte() % 4 == 0 ? nullptr : pointers_;
    } else if constexpr (std::is_pointer_v<T>) {
      return reinterpret_cast<T>(Room());
    } else if constexpr (std::is_class_v<T>) {  // a handle of another process
      T handle = {};
      if (const void* const bytes = Room()) std::memcpy(&handle, bytes, sizeof(handle));
      return handle;
    } else {
      return static_cast<T>(Number());
    }
  }

  // A handle or an address that was given is what later calls may name.
  template <typename T>
  static void Keep(T given) {
    if constexpr (std::is_same_v<T, CUdeviceptr*> || std::is_same_v<T, CUcontext*> ||
                  std::is_same_v<T, CUstream*> || std::is_same_v<T, CUevent*> ||
                  std::is_same_v<T, CUmodule*> || std::is_same_v<T, CUfunction*> ||
                  std::is_same_v<T, CUarray*>) {
      uint64_t value = 0;
      if (given == nullptr) return;
      std::memcpy(&value, given, sizeof(value));
      known.Add(value);
    }
  }

  template <typename... Parameters>
  void Call(const char* name, CUresult (*function)(Parameters...)) {
    // In this order, whatever the compiler evaluates first.
    std::tuple<Parameters...> given{Any<Parameters>()...};
    if (std::apply(function, given) != CUDA_SUCCESS) return;
    std::apply([](auto... each) { (Keep(each), ...); }, given);
    if (std::strcmp(name, "cuMemExportToShareableHandle") != 0) return;
    int descriptor = -1;
    std::memcpy(&descriptor, room_, sizeof(descriptor));
    if (descriptor > STDERR_FILENO) descriptors.Add(descriptor);
  }

  const uint8_t* data_;
  size_t size_;
  size_t at_ = 0;
  uint64_t word_ = 0;
  char* room_;
  void* pointers_[16];
};

// These take addresses of the host in numbers, or pointers in memory.
bool IsLeftOut(const char* name) {
  for (const char* const left_out : {"cuMemcpy", "cuMemcpyAsync", "cuMemcpyPeer",
                                     "cuMemcpyPeerAsync", "cuPointerGetAttributes"}) {
    if (std::strcmp(name, left_out) == 0) return true;
  }
  return false;
}

void Caller::Run() {
  using Entry = void (*)(Caller&);
  static const std::vector<Entry>* const kEntries = [] {
    auto* const entries = new std::vector<Entry>;
#define TWINMMU_VALUE(name) static_assert(true)
#define TWINMMU_TYPE(name) static_assert(true)
#define TWINMMU_FUNCTION(name) \
  if (!IsLeftOut(#name)) entries->push_back([](Caller& caller) { caller.Call(#name, ::name); })
#include "third_party/cuda_abi/cuda_header_names.inc"
    return entries;
  }();
  for (size_t call = 0; call < kMaxCalls && at_ < size_; ++call) {
    (*kEntries)[Byte() % kEntries->size()](*this);
  }
}

char* MakeRoom() {
  void* const room = mmap(nullptr, kRoom, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) std::abort();
  return static_cast<char*>(room);
}

void Restart(uint8_t machine) {
  const auto machines = twinmmu::NamedProfiles();
  Profile profile = machines[machine % machines.size()].make();
  profile.kernel_instruction_budget = 100'000;
  profile.multicast_wait_ms = 0;
  profile.wait_budget_ms = 10;
  Process::Get().Restart(profile);
  descriptors.Close();
  known.Clear();
}

// One of each, so that calls have something to work on. A machine may lack any of it.
void MakeSome() {
  CUcontext context = nullptr;
  cuDevicePrimaryCtxRetain(&context, 0);
  cuCtxSetCurrent(context);
  CUdeviceptr memory = 0;
  cuMemAlloc(&memory, 1 << 16);
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  CUmemGenericAllocationHandle handle = 0;
  cuMemCreate(&handle, 2 << 20, &properties, 0);
  CUdeviceptr address = 0;
  cuMemAddressReserve(&address, 4 << 20, 0, 0, 0);
  cuMemMap(address, 2 << 20, 0, handle, 0);
  CUmemAccessDesc access = {};
  access.location = properties.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  cuMemSetAccess(address, 2 << 20, &access, 1);
  CUstream stream = nullptr;
  cuStreamCreate(&stream, 1);
  CUevent event = nullptr;
  cuEventCreate(&event, 0);
  CUmodule module = nullptr;
  cuModuleLoadData(&module, kPtx);
  CUfunction function = nullptr;
  cuModuleGetFunction(&function, module, "store");
  for (const uint64_t value :
       {uint64_t{memory}, uint64_t{handle}, uint64_t{address}, uint64_t{address} + 4096,
        reinterpret_cast<uint64_t>(context), reinterpret_cast<uint64_t>(stream),
        reinterpret_cast<uint64_t>(event), reinterpret_cast<uint64_t>(module),
        reinterpret_cast<uint64_t>(function)}) {
    known.Add(value);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  static const std::vector<char*>* const kRooms = [] {
    auto* const rooms = new std::vector<char*>;
    for (size_t i = 0; i < kMaxThreads; ++i) rooms->push_back(MakeRoom());
    cuInit(0);
    return rooms;
  }();
  const size_t count = data[0] % kMaxThreads + 1;
  Restart(data[1]);
  MakeSome();
  const size_t part = (size - 2) / count;
  std::vector<std::thread> threads;
  for (size_t i = 1; i < count; ++i) {
    threads.emplace_back([=] {
      CUcontext context = nullptr;
      cuDevicePrimaryCtxRetain(&context, 0);
      cuCtxSetCurrent(context);
      Caller(data + 2 + i * part, part, (*kRooms)[i]).Run();
    });
  }
  Caller(data + 2, part, (*kRooms)[0]).Run();
  for (std::thread& thread : threads) thread.join();
  cuCtxSetCurrent(nullptr);
  return 0;
}
