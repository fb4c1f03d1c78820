// What a program is told that starts the driver with wrong settings: on its standard error. The
// simulated driver is linked in: no other one can be meant.

#include <cstdlib>

#include "gtest/gtest.h"
#include "sim/libcuda/calls/entry_points.h"

namespace twinmmu::libcuda {
namespace {

constexpr CUresult kInvalidValue = 1;

TEST(WrongSettingsTest, TheProgramIsToldWhyTheDriverDoesNotStart) {
  const auto start = [] {
    setenv("TWINMMU_DEVICES", "many", 1);
    // A process that was forked leaves what it began with.
    std::_Exit(cuInit(0) == kInvalidValue ? 0 : 1);
  };
  EXPECT_EXIT(start(), testing::ExitedWithCode(0),
              "twinmmu: the simulated CUDA driver cannot start: .*TWINMMU_DEVICES");
}

}  // namespace
}  // namespace twinmmu::libcuda
