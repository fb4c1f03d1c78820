// What CudaExecutor makes of the driver's outputs, and its use of contexts. Arguments, missing and
// failing functions: see every_call_test.cc.

#include "backend/cuda_executor.h"

#include <algorithm>
#include <string>
#include <vector>

#include "api/driver_error.h"
#include "api/testing/matchers.h"
#include "backend/fake_driver.h"
#include "backend/primary_contexts.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

constexpr DeviceOrdinal kDevice(1);  // the fake's CUdevice 101
constexpr DeviceAddress kAddress(0x1000);

class CudaExecutorTest : public testing::Test {
 protected:
  FakeDriver fake_;
  const DriverTable table_ = FakeDriver::Table();
  PrimaryContexts contexts_{table_};
  CudaExecutor executor_{contexts_};
};

// What the driver creates comes back with its value and its device.
TEST_F(CudaExecutorTest, ReturnsTheObjectsThatTheDriverMakes) {
  EXPECT_THAT(executor_.CreateStream(kDevice), IsOkAndHolds(Stream(kDevice, 0xa1)));
  EXPECT_THAT(executor_.CreateEvent(kDevice), IsOkAndHolds(Event(kDevice, 0xa1)));
  EXPECT_THAT(executor_.LoadModule(kDevice, "x"), IsOkAndHolds(Module(kDevice, 0xa1)));
  EXPECT_THAT(executor_.GetKernel(Module(kDevice, 1), "k"), IsOkAndHolds(Kernel(kDevice, 0xa1)));
}

// "Not ready" answers a query with false; success with true; anything else is an error.
TEST_F(CudaExecutorTest, AnswersQueries) {
  EXPECT_THAT(executor_.QueryStream(Stream(kDevice)), IsOkAndHolds(true));
  EXPECT_THAT(executor_.QueryEvent(Event(kDevice, 1)), IsOkAndHolds(true));
  fake_.SetResult(Symbol::cuStreamQuery, 600);
  fake_.SetResult(Symbol::cuEventQuery, 600);
  EXPECT_THAT(executor_.QueryStream(Stream(kDevice)), IsOkAndHolds(false));
  EXPECT_THAT(executor_.QueryEvent(Event(kDevice, 1)), IsOkAndHolds(false));
  fake_.SetResult(Symbol::cuStreamQuery, 700);
  fake_.SetResult(Symbol::cuEventQuery, 700);
  EXPECT_THAT(executor_.QueryStream(Stream(kDevice)), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(executor_.QueryEvent(Event(kDevice, 1)), StatusIs(absl::StatusCode::kDataLoss));
}

// A fill of a width that the driver has no function for is refused without a call.
TEST_F(CudaExecutorTest, RefusesFillsOfOtherWidths) {
  for (const uint64_t width : {0, 3, 8}) {
    const FillPattern pattern{0, Bytes(width)};
    EXPECT_THAT(executor_.Fill(kDevice, kAddress, pattern, 1),
                HasDriverCode(DriverCode::kInvalidValue));
    EXPECT_THAT(executor_.Fill(Stream(kDevice), kAddress, pattern, 1),
                StatusIs(absl::StatusCode::kInvalidArgument));
  }
  EXPECT_THAT(fake_.TakeCalls(), ElementsAre());
}

// The driver gets the module's text with a NUL behind it, though the caller's has none.
TEST_F(CudaExecutorTest, TerminatesTheTextOfAModule) {
  const std::string text = "abcdef";
  EXPECT_THAT(executor_.LoadModule(kDevice, absl::string_view(text).substr(1, 3)), IsOk());
  EXPECT_EQ(fake_.jit_image, "bcd");
}

// Likewise the name of a kernel.
TEST_F(CudaExecutorTest, TerminatesTheNameOfAKernel) {
  const std::string text = "abcdef";
  EXPECT_THAT(executor_.GetKernel(Module(kDevice, 1), absl::string_view(text).substr(1, 3)),
              IsOk());
  EXPECT_THAT(fake_.TakeCalls(), testing::Contains(HasSubstr("\"bcd\"")));
}

// What the compiler said stands behind the message of the call.
TEST_F(CudaExecutorTest, ShowsTheCompilersLog) {
  fake_.SetResult(Symbol::cuModuleLoadDataEx, 218);
  fake_.jit_log = "ptxas error: line 3";
  const auto module = executor_.LoadModule(kDevice, "x");
  EXPECT_THAT(module, HasDriverCode(DriverCode::kInvalidPtx));
  EXPECT_THAT(std::string(module.status().message()),
              EndsWith("CUDA_ERROR_INVALID_PTX (218)\nptxas error: line 3"));
  fake_.jit_log = "";
  EXPECT_THAT(std::string(executor_.LoadModule(kDevice, "x").status().message()),
              EndsWith("CUDA_ERROR_INVALID_PTX (218)"));
}

// A log that fills its buffer to the last byte is read no further.
TEST_F(CudaExecutorTest, SurvivesALogWithoutAnEnd) {
  fake_.SetResult(Symbol::cuModuleLoadDataEx, 218);
  fake_.jit_log = std::string(1 << 20, '#');
  const std::string message(executor_.LoadModule(kDevice, "x").status().message());
  EXPECT_EQ(std::count(message.begin(), message.end(), '#'), 8191);
}

void** launched_parameters = nullptr;

// A kernel's arguments are the caller's own array of pointers.
TEST_F(CudaExecutorTest, PassesTheArgumentsOfAKernel) {
  DriverTable table = FakeDriver::Table();
  table.cuLaunchKernel = [](cuda_abi::CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned,
                            unsigned, unsigned, cuda_abi::CUstream, void** parameters,
                            void** extra) {
    launched_parameters = parameters;
    return extra == nullptr ? 0 : 999;
  };
  PrimaryContexts contexts(table);
  CudaExecutor executor(contexts);
  const int first = 1;
  const int second = 2;
  const void* const arguments[] = {&first, &second};
  EXPECT_THAT(executor.Launch(Stream(kDevice), Kernel(kDevice, 1), {}, arguments), IsOk());
  EXPECT_EQ(launched_parameters, arguments);
}

// Where the primary context is current already, nothing is pushed or popped.
TEST_F(CudaExecutorTest, UsesTheContextThatIsCurrent) {
  FakeDriver::ContextStack() = {FakeDriver::PrimaryContext(101)};
  EXPECT_THAT(executor_.SynchronizeDevice(kDevice), IsOk());
  EXPECT_THAT(fake_.TakeCalls(), Not(testing::Contains(HasSubstr("PushCurrent"))));
  EXPECT_THAT(FakeDriver::ContextStack(), ElementsAre(FakeDriver::PrimaryContext(101)));
}

}  // namespace
}  // namespace twinmmu
