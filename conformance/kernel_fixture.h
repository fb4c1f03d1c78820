// KernelTest: the fixture of all tests that launch kernels.

#ifndef TWINMMU_CONFORMANCE_KERNEL_FIXTURE_H_
#define TWINMMU_CONFORMANCE_KERNEL_FIXTURE_H_

#include <optional>

#include "conformance/fixtures.h"
#include "kernels/kernels.h"

namespace twinmmu::conformance {

// The CUDA version that brought PTX 7.5, of which kernels/ is.
inline constexpr int kKernelsSince = 11050;

// The reservation's first four granules are mapped read-write: three to work in, and the fourth
// holds results. The other four are free.
class KernelTest : public MappedTest {
 protected:
  void TearDown() override;

  // True: kernels() is ready. False: the driver is too old for them, which has been recorded, or
  // the test has failed; it returns.
  bool LoadKernels();
  Kernels& kernels() { return *kernels_; }

  AddressRange work() const { return Granules(0, 3 + extra_); }
  AddressRange alias() const { return Granules(4, 4); }
  DeviceAddress result() const { return result_.base; }

  // Makes work() a range of several mappings: moves the results elsewhere.
  void MapTheRest();
  // Maps the allocation a second time, at alias().
  void MapAlias();

  // Expects that a kernel on `stream` finds in `range` what Kernels::Fill writes for `seed`.
  void ExpectVerified(Stream stream, const AddressRange& range, uint64_t seed);

  // What the last kernel left at result().
  template <typename T>
  absl::StatusOr<T> ReadResult() {
    T value = {};
    absl::Status status = executor().SynchronizeDevice(device());
    status.Update(executor().CopyDeviceToHost(device(), &value, result(), Bytes(sizeof(T))));
    if (!status.ok()) return status;
    return value;
  }

 private:
  AddressRange result_;
  uint64_t extra_ = 0;
  std::optional<Kernels> kernels_;
};

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_KERNEL_FIXTURE_H_
