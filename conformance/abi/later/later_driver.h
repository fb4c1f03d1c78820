// Tests of what came after CUDA 13.0. Nobody measured any of it: they assert what the documentation
// of the driver says, and where that is silent our choice (docs/reference/contract.md).

#ifndef TWINMMU_CONFORMANCE_ABI_LATER_LATER_DRIVER_H_
#define TWINMMU_CONFORMANCE_ABI_LATER_LATER_DRIVER_H_

#include "conformance/abi/abi_fixtures.h"

namespace twinmmu::abi {

// The driver is of that version, and device 0 has a capability that came with it.
template <int version, int attribute>
class LaterDriverTest : public ContextTest {
 protected:
  void SetUp() override {
    if (DriverVersion() < version) GTEST_SKIP() << "the driver is older than this";
    ContextTest::SetUp();
    int value = 0;
    ASSERT_EQ(cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(attribute), 0),
              CUDA_SUCCESS);
    if (value == 0) GTEST_SKIP() << "the device does not have this";
  }
};

}  // namespace twinmmu::abi

#endif  // TWINMMU_CONFORMANCE_ABI_LATER_LATER_DRIVER_H_
