// Whatever a program passes, it gets an answer: null pointers, handles that are dead or that nobody
// gave out, numbers that mean nothing. But for pointers that are neither null nor readable, which
// no library can tell.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "conformance/abi/abi_fixtures.h"

namespace twinmmu::abi {
namespace {

// Where the genuine driver ends the process, it has nothing to compare.
class BadInputTest : public NewProcessTest {
 protected:
  void SetUp() override {
    if (IsNewProcess() || TraitsOf().survives_bad_pointers) return;
    GTEST_SKIP() << "the driver need not survive this";
  }
};

// The state in which a call is made.
enum class State { kBeforeInit, kWithoutContext, kWithContext };

void EnterState(State state) {
  if (state == State::kBeforeInit) return;
  ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
  EmptyStack();
  CUcontext context = nullptr;
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
  if (state == State::kWithContext) {
    ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
  }
}

void ExpectAnswer(const char* symbol, CUresult result) {
  const char* name = nullptr;
  EXPECT_EQ(cuGetErrorName(result, &name), CUDA_SUCCESS)
      << symbol << " returned " << static_cast<int>(result);
}

void ExpectThatItStillWorks() {
  EnterState(State::kWithContext);
  const Mapping mapping;
  const int written = 42;
  int read = 0;
  EXPECT_EQ(cuMemcpyHtoD(mapping.address(), &written, 4), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyDtoH(&read, mapping.address(), 4), CUDA_SUCCESS);
  EXPECT_EQ(read, 42);
}

// --- All functions, with nothing -----------------------------------------------------------------

// As many parameters as any function has: one with fewer does not look at the rest.
using WithNumbers =
    Function<CUresult(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t,
                      uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t)>;

void CallAllWithNothing(State state) {
  struct Export {
    const char* symbol;
    int version;
  };
  for (const auto [symbol, version] : {
#define TWINMMU_CUDA_EXPORT(support, name, symbol, version) Export{#symbol, version},
#include "third_party/cuda_abi/exports.inc"
       }) {
    if (version > DriverVersion()) continue;
    if (state == State::kBeforeInit && std::string(symbol) == "cuInit") continue;
    EnterState(state);
    ExpectAnswer(symbol, WithNumbers(symbol)(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
  }
  ExpectThatItStillWorks();
}

TEST_F(BadInputTest, NullsAndZerosBeforeInit) {
  if (RanInNewProcess()) return;
  CallAllWithNothing(State::kBeforeInit);
}

TEST_F(BadInputTest, NullsAndZerosWithoutAContext) {
  if (RanInNewProcess()) return;
  CallAllWithNothing(State::kWithoutContext);
}

TEST_F(BadInputTest, NullsAndZerosInAContext) {
  if (RanInNewProcess()) return;
  CallAllWithNothing(State::kWithContext);
}

// --- Functions with numbers that mean nothing ----------------------------------------------------

// What a pointer points to: room for any answer, and for thousands of any structure.
alignas(64) unsigned char room[1 << 16];

void DoNothing(void*) {}
TWINMMU_ANY_TYPES void DoNothingInCallback(CUstream, CUresult, void*) {}

class WrongNumbers {
 public:
  template <typename... Parameters>
  void Call(const Function<CUresult(Parameters...)>& function) {
    ExpectAnswer(function.symbol(), function(Any<Parameters>()...));
  }

 private:
  template <typename T>
  TWINMMU_ANY_TYPES T Any() {
    if constexpr (std::is_same_v<T, CUhostFn>) {
      return DoNothing;
    } else if constexpr (std::is_same_v<T, CUstreamCallback>) {
      return DoNothingInCallback;
    } else if constexpr (std::is_same_v<T, CUcontext> || std::is_same_v<T, CUstream> ||
                         std::is_same_v<T, CUevent>) {
      return reinterpret_cast<T>(Number());
    } else if constexpr (std::is_pointer_v<T>) {
      std::fill(std::begin(room), std::end(room), static_cast<unsigned char>(0));
      return reinterpret_cast<T>(room);
    } else if constexpr (std::is_class_v<T>) {  // a handle of another process
      T handle = {};
      const uint64_t number = Number();
      static_assert(sizeof(handle) >= sizeof(number));
      std::memcpy(&handle, &number, sizeof(number));
      return handle;
    } else {
      return static_cast<T>(Number());
    }
  }

  uint64_t Number() {
    static constexpr uint64_t kNumbers[] = {
        1,
        2,
        3,
        8,
        4095,
        uint64_t{1} << 20,
        uint64_t{1} << 60,
        (uint64_t{1} << 60) + 1,
        ~uint64_t{0},
    };
    return kNumbers[random_() % std::size(kNumbers)];
  }

  std::minstd_rand random_;
};

// Copies from and to whatever is there: an address that the driver knows nothing of is one of the
// host's, and is read as that.
bool TakesAddressesOfTheHost(const char* symbol) {
  return std::string(symbol) == "cuMemcpy" || std::string(symbol) == "cuMemcpyAsync";
}

template <typename Signature>
void CallWithWrongNumbers(State state, const Function<Signature>& function, WrongNumbers& wrong) {
  constexpr int kRounds = 20;
  if (TakesAddressesOfTheHost(function.symbol())) return;
  for (int round = 0; round < kRounds; ++round) {
    EnterState(state);
    wrong.Call(function);
  }
}

void CallAllWithWrongNumbers(State state) {
  WrongNumbers wrong;
#define TWINMMU_VALUE(name) static_assert(true)
#define TWINMMU_TYPE(name) static_assert(true)
#define TWINMMU_FUNCTION(name) CallWithWrongNumbers(state, name, wrong)
#include "third_party/cuda_abi/cuda_header_names.inc"
  ExpectThatItStillWorks();
}

TEST_F(BadInputTest, WrongNumbersBeforeInit) {
  if (RanInNewProcess()) return;
  CallAllWithWrongNumbers(State::kBeforeInit);
}

TEST_F(BadInputTest, WrongNumbersWithoutAContext) {
  if (RanInNewProcess()) return;
  CallAllWithWrongNumbers(State::kWithoutContext);
}

TEST_F(BadInputTest, WrongNumbersInAContext) {
  if (RanInNewProcess()) return;
  CallAllWithWrongNumbers(State::kWithContext);
}

// --- What ends the process on the genuine driver -------------------------------------------------

TEST_F(BadInputTest, NullPlacesForTexts) {
  EXPECT_EQ(cuGetErrorName(CUDA_SUCCESS, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGetErrorString(CUDA_SUCCESS, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(BadInputTest, NoRoomForTheNameOfADevice) {
  if (RanInNewProcess()) return;
  EnterState(State::kWithoutContext);
  char name[8] = "before";
  EXPECT_EQ(cuDeviceGetName(name, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDeviceGetName(name, -1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_STREQ(name, "before");
}

TEST_F(BadInputTest, NullNamesAndPlacesForFunctions) {
  void* function = nullptr;
  EXPECT_EQ(cuGetProcAddress(nullptr, &function, 12000, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGetProcAddress("cuInit", nullptr, 12000, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(BadInputTest, StreamsOfDeadContexts) {
  if (RanInNewProcess()) return;
  EnterState(State::kWithContext);
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  CUevent event = nullptr;
  EXPECT_EQ(cuCtxCreate(&context, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamCreate(&stream, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuEventCreate(&event, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxDestroy(context), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamQuery(stream), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuStreamSynchronize(stream), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuStreamDestroy(stream), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuEventQuery(event), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuEventDestroy(event), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(BadInputTest, DestroyedStreamsAndEvents) {
  if (RanInNewProcess()) return;
  EnterState(State::kWithContext);
  CUstream stream = nullptr;
  CUevent event = nullptr;
  EXPECT_EQ(cuStreamCreate(&stream, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuEventCreate(&event, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamDestroy(stream), CUDA_SUCCESS);
  EXPECT_EQ(cuEventDestroy(event), CUDA_SUCCESS);
  unsigned int flags = 0;
  EXPECT_EQ(cuStreamGetFlags(stream, &flags), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuStreamDestroy(stream), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuEventRecord(event, nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuEventDestroy(event), CUDA_ERROR_INVALID_HANDLE);
}

// What becomes current is looked at when it is used.
TEST_F(BadInputTest, DestroyedContexts) {
  if (RanInNewProcess()) return;
  EnterState(State::kWithoutContext);
  CUcontext context = nullptr;
  CUcontext current = nullptr;
  EXPECT_EQ(cuCtxCreate(&context, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxDestroy(context), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxDestroy(context), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxPushCurrent(context), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxPopCurrent(&current), CUDA_SUCCESS);
  EXPECT_EQ(current, context);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

// They may become current, and are then of no use.
TEST_F(BadInputTest, InventedContexts) {
  if (RanInNewProcess()) return;
  EnterState(State::kWithoutContext);
  const auto invented = reinterpret_cast<CUcontext>(uintptr_t{0x1234});
  CUdeviceptr address = 0;
  unsigned int version = 0;
  EXPECT_EQ(cuCtxSetCurrent(invented), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxPushCurrent(invented), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAlloc(&address, 100), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(cuCtxGetApiVersion(invented, &version), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuCtxDestroy(invented), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(BadInputTest, CopiesBetweenInventedContexts) {
  if (RanInNewProcess()) return;
  EnterState(State::kWithContext);
  const auto invented = reinterpret_cast<CUcontext>(uintptr_t{0x1234});
  const Buffer buffer(100);
  EXPECT_EQ(cuMemcpyPeer(buffer.address(), invented, buffer.address(), invented, 4),
            CUDA_ERROR_INVALID_CONTEXT);
}

}  // namespace
}  // namespace twinmmu::abi
