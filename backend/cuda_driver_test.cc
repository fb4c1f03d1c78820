// The life of a CUDA driver: initialisation, primary contexts, threads.

#include "backend/cuda_driver.h"

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "api/driver_error.h"
#include "api/testing/matchers.h"
#include "backend/driver_table.h"
#include "backend/fake_driver.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class CudaDriverTest : public testing::Test {
 protected:
  FakeDriver fake_;
};

// The driver is initialised once, with no flags, and no device is touched by it.
TEST_F(CudaDriverTest, InitialisesTheDriverOnce) {
  const auto driver = MakeCudaDriver(FakeDriver::Table());
  ASSERT_THAT(driver, IsOk());
  EXPECT_THAT((*driver)->vmm(), IsOk());
  EXPECT_THAT((*driver)->executor(), IsOk());
  EXPECT_THAT(fake_.TakeCalls(), ElementsAre("cuInit(0x0)"));
}

// A driver that cannot be initialised is not made; its code says why.
TEST_F(CudaDriverTest, GivesTheCodeOfCuInit) {
  fake_.SetResult(Symbol::cuInit, 100);
  const auto driver = MakeCudaDriver(FakeDriver::Table());
  EXPECT_THAT(driver, StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_EQ(GetDriverError(driver.status()),
            (DriverError{DriverCode::kNoDevice, ErrorOrigin::kDriver, "cuInit"}));
}

// Calls that need no context make none.
TEST_F(CudaDriverTest, RetainsNoContextForMappings) {
  const auto driver = MakeCudaDriver(FakeDriver::Table());
  ASSERT_THAT(driver, IsOk());
  EXPECT_THAT((*(*driver)->vmm())->Map({}, {}), IsOk());
  EXPECT_EQ(fake_.RetainCount(100), 0);
}

// Each primary context in use is retained once, whoever asks, and released once at the end.
TEST_F(CudaDriverTest, ReleasesEachPrimaryContextOnce) {
  auto driver = MakeCudaDriver(FakeDriver::Table());
  ASSERT_THAT(driver, IsOk());
  for (const DeviceOrdinal device : {DeviceOrdinal(0), DeviceOrdinal(1), DeviceOrdinal(0)}) {
    EXPECT_THAT((*(*driver)->executor())->SynchronizeDevice(device), IsOk());
    EXPECT_THAT((*(*driver)->vmm())->GetMemoryInfo(device), IsOk());
  }
  EXPECT_EQ(fake_.RetainCount(100), 1);
  EXPECT_EQ(fake_.RetainCount(101), 1);
  *driver = nullptr;
  EXPECT_EQ(fake_.RetainCount(100), 0);
  EXPECT_EQ(fake_.RetainCount(101), 0);
}

// A context that could not be retained is tried again, and not released at the end.
TEST_F(CudaDriverTest, ForgetsAContextThatCouldNotBeRetained) {
  auto driver = MakeCudaDriver(FakeDriver::Table());
  ASSERT_THAT(driver, IsOk());
  Executor& executor = **(*driver)->executor();
  fake_.SetResult(Symbol::cuDevicePrimaryCtxRetain, 2);
  EXPECT_THAT(executor.SynchronizeDevice(DeviceOrdinal(0)),
              HasDriverCode(DriverCode::kOutOfMemory));
  fake_.SetResult(Symbol::cuDevicePrimaryCtxRetain, 0);
  EXPECT_THAT(executor.SynchronizeDevice(DeviceOrdinal(0)), IsOk());
  *driver = nullptr;
  EXPECT_EQ(fake_.RetainCount(100), 0);
}

// Unless the program asks for it there is no multicast: nothing is called, and the error says how
// to ask and why not to.
TEST_F(CudaDriverTest, HasNoMulticastUnlessItIsAllowed) {
  const auto driver = MakeCudaDriver(FakeDriver::Table());
  ASSERT_THAT(driver, IsOk());
  const absl::StatusOr<Multicast*> multicast = (*driver)->multicast();
  EXPECT_THAT(multicast, StatusIs(absl::StatusCode::kUnimplemented));
  EXPECT_THAT(std::string(multicast.status().message()),
              AllOf(HasSubstr("allow_multicast_on_hardware"), HasSubstr("out of service")));
  EXPECT_THAT(fake_.TakeCalls(), ElementsAre("cuInit(0x0)"));
  EXPECT_FALSE(CudaDriverOptions().allow_multicast_on_hardware);
}

// Threads that are the first to use a device at the same time retain its context once.
TEST_F(CudaDriverTest, RetainsOnceWhenThreadsRace) {
  for (int round = 0; round < 20; ++round) {
    auto driver = MakeCudaDriver(FakeDriver::Table());
    ASSERT_THAT(driver, IsOk());
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&, i] {
        const DeviceOrdinal device(i % 2);
        EXPECT_THAT((*(*driver)->vmm())->GetMemoryInfo(device), IsOk());
        EXPECT_THAT((*(*driver)->executor())->SynchronizeDevice(device), IsOk());
        EXPECT_THAT(FakeDriver::ContextStack(), ElementsAre());
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(fake_.RetainCount(100), 1);
    EXPECT_EQ(fake_.RetainCount(101), 1);
    *driver = nullptr;
    EXPECT_EQ(fake_.RetainCount(100), 0);
  }
}

}  // namespace
}  // namespace twinmmu
