// The loader against small libraries made for it (testdata/), and against none.

#include "backend/loader.h"

#include <cstdlib>
#include <string>
#include <vector>

#include "api/driver_error.h"
#include "api/testing/matchers.h"
#include "backend/cuda_driver.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::string Library(const std::string& name) { return "backend/lib" + name + ".so"; }

std::vector<std::string> SymbolsIn(const DriverTable& table, SymbolState state) {
  std::vector<std::string> names;
  ForEachSymbol([&](auto, Symbol symbol) {
    if (StateOf(table, symbol) == state) names.push_back(Info(symbol).name);
  });
  return names;
}

class LoaderTest : public testing::TestWithParam<const char*> {};

// Every function is found: by either cuGetProcAddress in exactly the version of the list, and by
// its exported name where there is none.
TEST_P(LoaderTest, FindsEveryFunction) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const DriverTable table, LoadDriver(Library(GetParam())));
  EXPECT_THAT(SymbolsIn(table, SymbolState::kTooOld), ElementsAre());
  EXPECT_THAT(SymbolsIn(table, SymbolState::kMissing), ElementsAre());
  EXPECT_EQ(SymbolsIn(table, SymbolState::kFound).size(), kSymbolCount);
  EXPECT_EQ(table.driver_version, 13000);
  EXPECT_EQ(table.library, Library(GetParam()));
}
INSTANTIATE_TEST_SUITE_P(Ways, LoaderTest,
                         testing::Values("fake_cuda_12", "fake_cuda_11", "fake_cuda_dlsym"));

// A driver made of a library is ready to use.
TEST(OpenCudaDriverTest, OpensALibrary) {
  const auto driver = OpenCudaDriver({Library("fake_cuda_12")});
  ASSERT_THAT(driver, IsOk());
  EXPECT_THAT((*(*driver)->vmm())->GetDriverVersion(), IsOkAndHolds(13000));
}

// Too old and missing are told apart: by what cuGetProcAddress says (cuMemcpyDtoD), and, where it
// does not know the name, by the driver's own version (cuMemUnmap is of CUDA 10.2, this driver of
// 10.1; cuStreamQuery is older than both).
TEST(LoadDriverTest, TellsTooOldFromMissing) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const DriverTable unmap, LoadDriver(Library("fake_cuda_old")));
  EXPECT_THAT(SymbolsIn(unmap, SymbolState::kTooOld), ElementsAre("cuMemcpyDtoD", "cuMemUnmap"));
  EXPECT_THAT(SymbolsIn(unmap, SymbolState::kMissing), ElementsAre());

  TWINMMU_ASSERT_OK_AND_ASSIGN(const DriverTable query, LoadDriver(Library("fake_cuda_partial")));
  EXPECT_THAT(SymbolsIn(query, SymbolState::kTooOld), ElementsAre());
  EXPECT_THAT(SymbolsIn(query, SymbolState::kMissing), ElementsAre("cuStreamQuery"));
}

// What is missing fails when it is called, and only that.
TEST(OpenCudaDriverTest, WorksWithoutSomeFunctions) {
  const auto driver = OpenCudaDriver({Library("fake_cuda_old")});
  ASSERT_THAT(driver, IsOk());
  Vmm& vmm = **(*driver)->vmm();
  EXPECT_THAT(vmm.Map({}, {}), IsOk());
  const absl::Status unmap = vmm.Unmap({});
  EXPECT_THAT(unmap, StatusIs(absl::StatusCode::kUnimplemented));
  EXPECT_EQ(GetDriverError(unmap), (DriverError{DriverCode::kCallRequiresNewerDriver,
                                                ErrorOrigin::kLoader, "cuMemUnmap"}));
  EXPECT_EQ(unmap.message(),
            "backend/libfake_cuda_old.so (driver version 10010) is too old for cuMemUnmap, which "
            "needs version 10020");
}

// A driver that finds no device says so with its own code.
TEST(OpenCudaDriverTest, GivesTheCodeOfCuInit) {
  const auto driver = OpenCudaDriver({Library("fake_cuda_no_device")});
  EXPECT_THAT(driver, StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(driver, HasDriverCode(DriverCode::kNoDevice));
  EXPECT_EQ(driver.status().message(), "cuInit(flags=0) failed: CUDA_ERROR_NO_DEVICE (100)");
}

// No library: "no driver", the linker's reason, and where it looked.
TEST(OpenCudaDriverTest, SaysWhereItLookedForTheLibrary) {
  setenv("LD_LIBRARY_PATH", "/nowhere/lib", 1);
  const auto driver = OpenCudaDriver({"libtwinmmu_is_not_there.so.1"});
  EXPECT_THAT(driver, StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_EQ(GetDriverError(driver.status()),
            (DriverError{static_cast<DriverCode>(303), ErrorOrigin::kLoader, "dlopen"}));
  EXPECT_THAT(std::string(driver.status().message()),
              AllOf(HasSubstr("no driver: cannot load libtwinmmu_is_not_there.so.1: "),
                    HasSubstr("No such file"), HasSubstr("LD_LIBRARY_PATH=\"/nowhere/lib\"")));
}

// A path is looked for nowhere else.
TEST(OpenCudaDriverTest, LooksForAPathOnlyThere) {
  const auto driver = OpenCudaDriver({"/nowhere/libcuda.so.1"});
  EXPECT_THAT(std::string(driver.status().message()),
              AllOf(HasSubstr("no driver: cannot load /nowhere/libcuda.so.1: "),
                    Not(HasSubstr("LD_LIBRARY_PATH"))));
}

// A library that is no driver has none of the functions, cuInit to begin with.
TEST(OpenCudaDriverTest, RefusesALibraryThatIsNoDriver) {
  const auto driver = OpenCudaDriver({"libm.so.6"});
  EXPECT_THAT(driver, StatusIs(absl::StatusCode::kUnimplemented));
  EXPECT_EQ(driver.status().message(), "libm.so.6 has no cuInit (version 2000)");
}

}  // namespace
}  // namespace twinmmu
