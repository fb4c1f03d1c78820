// Fixtures: which state of the driver a test begins with.

#ifndef TWINMMU_CONFORMANCE_ABI_ABI_FIXTURES_H_
#define TWINMMU_CONFORMANCE_ABI_ABI_FIXTURES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "conformance/abi/driver_under_test.h"
#include "gtest/gtest.h"

namespace twinmmu::abi {

// In what a driver may differ from another by design. Tests ask these, and nobody's name.
struct Traits {
  // Null pointers, and handles that are dead or invented, are errors. The genuine driver ends the
  // process for many of them.
  bool survives_bad_pointers;
  // cuGetExportTable looks its tables up.
  bool has_export_tables;
  // The forms of CUDA 2, such as cuMemAlloc without a suffix, are those of 32 bits. They are the
  // later ones otherwise.
  bool keeps_old_forms;
  // Multicast objects may be made. On hardware they can put the links between GPUs out of service
  // for everybody on the machine, and no test makes one.
  bool allows_multicast;
};

// Of the driver under test, by what it says of itself. Calls cuInit.
const Traits& TraitsOf();

// A test that needs a process in which nobody has called the driver yet: it begins with
//
//   if (RanInNewProcess()) return;
class NewProcessTest : public testing::Test {
 public:
  // Runs the current test alone in another process, with these variables ("NAME=VALUE") in its
  // environment. False: this is that process.
  static bool RanInNewProcess(const std::vector<std::string>& environment = {});
  static bool IsNewProcess();
};

// The driver is initialised, and the thread has no context.
class DriverTest : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;
};

// And the primary context of device 0 is current.
class ContextTest : public DriverTest {
 protected:
  void SetUp() override;

  CUcontext context_ = nullptr;
};

// And there is a second device, whose primary context is alive.
class TwoDevicesTest : public ContextTest {
 protected:
  void SetUp() override;

  CUcontext second_ = nullptr;
};

// Takes every context off the calling thread's stack.
void EmptyStack();
int DeviceCount();
int DriverVersion();  // may be called before cuInit
// Of the current context's device.
size_t FreeMemory();

inline constexpr size_t kChunk = size_t{2} << 20;  // the granularity of every GPU so far

// A mapping of memory of a device. Undone at the end.
class Mapping {
 public:
  // With read-write access for that device, unless not `granted`.
  explicit Mapping(CUdevice device = 0, bool granted = true);
  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  CUdeviceptr address() const { return address_; }
  CUmemGenericAllocationHandle handle() const { return handle_; }
  size_t size() const { return kChunk; }

 private:
  CUdeviceptr address_ = 0;
  CUmemGenericAllocationHandle handle_ = 0;
};

// Memory of cuMemAlloc, in the current context. Freed at the end.
class Buffer {
 public:
  explicit Buffer(size_t size) { EXPECT_EQ(cuMemAlloc(&address_, size), CUDA_SUCCESS); }
  ~Buffer() { EXPECT_EQ(cuMemFree(address_), CUDA_SUCCESS); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  CUdeviceptr address() const { return address_; }

 private:
  CUdeviceptr address_ = 0;
};

CUmemAllocationProp PinnedOn(CUdevice device);

// For pointers as numbers, as cuMemcpy takes them.
inline CUdeviceptr AddressOf(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

}  // namespace twinmmu::abi

#endif  // TWINMMU_CONFORMANCE_ABI_ABI_FIXTURES_H_
