// HostKernels: the kernels of kernels/, run by the host: mutants need thousands of launches.

#ifndef TWINMMU_CONFORMANCE_MUTANTS_FRAMEWORK_HOST_KERNELS_H_
#define TWINMMU_CONFORMANCE_MUTANTS_FRAMEWORK_HOST_KERNELS_H_

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "conformance/mutants/framework/real.h"
#include "kernels/common.h"

namespace twinmmu::conformance {

// Does what each kernel does by copies of the machine below, which so decides what the device may
// access. An access that is refused there is a fault: the launch has succeeded, and every later
// call in a context of any device gives ILLEGAL_ADDRESS, or MISALIGNED_ADDRESS. Nothing compiles
// the text; only its entries count.
//
// A kernel is done when its launch returns. Two are not: one that waits for its partner on another
// device runs when that one is launched; and one that obeys orders makes a round whenever the host
// looks, and its last when the host waits for it.
class HostKernels : public Real {
 public:
  using Real::Real;

  CALL(LoadModule) override;
  CALL(UnloadModule) override;
  CALL(GetKernel) override;
  CALL(Launch) override;

  // What a fault stops.
  CALL(Write) override;
  CALL(Read) override;
  CALL(Move) override;
  CALL(Set) override;
  CALL(CreateStream) override;
  CALL(QueryStream) override;
  CALL(SynchronizeStream) override;
  CALL(SynchronizeDevice) override;
  CALL(GetMemoryInfo) override;
  CALL(GetAddressRange) override;

 private:
  struct Arguments;
  // Who writes through a, and who reads through b.
  struct AliasTrial {
    DeviceOrdinal writer;
    uint64_t a;
    DeviceOrdinal reader;
    uint64_t b;
    uint64_t rounds;
    uint64_t result;
  };
  // A kernel that obeys orders.
  struct Obeying {
    Stream stream;
    uint64_t word;
    uint64_t board;
    uint32_t done;
    std::optional<uint32_t> cached;  // the word, as it was first loaded through the L1 cache
  };

  absl::Status Context();
  // Each gives the status of its first access that was refused.
  absl::Status Run(const std::string& name, Stream stream, const LaunchConfig& config,
                   const Arguments& arguments);
  absl::Status RunShare(DeviceOrdinal device, const LaunchConfig& config,
                        const Arguments& arguments);
  absl::Status RunWord(const std::string& name, DeviceOrdinal device, const Arguments& arguments);
  absl::Status RunFill(DeviceOrdinal device, const Arguments& arguments);
  absl::Status RunVerify(DeviceOrdinal device, const Arguments& arguments);
  absl::Status RunCount(DeviceOrdinal device, uint32_t threads, const Arguments& arguments);
  absl::Status RunAliasPair(DeviceOrdinal device, const Arguments& arguments);
  absl::Status RunAlias(const AliasTrial& trial);
  absl::Status RunRound(Obeying& kernel, Order order, OrderBoard& board);
  absl::Status Load(DeviceOrdinal device, uint64_t address, void* value, size_t size);
  absl::Status Store(DeviceOrdinal device, uint64_t address, const void* value, size_t size);

  void Fault(const absl::Status& status);
  // All kernels that obey make a round, unless they are told to stop.
  void MakeRounds();
  // Those that `ends` is true for end after one more round.
  template <typename Predicate>
  void EndKernels(Predicate ends);

  std::mutex mutex_;  // guards what follows
  uint64_t last_ = 0;
  std::map<uint64_t, std::string> modules_;  // text
  std::map<uint64_t, std::string> kernels_;  // name
  std::optional<AliasTrial> waiting_;        // a writer without a reader
  std::vector<Obeying> obeying_;
  DriverCode fault_ = DriverCode::kSuccess;
};

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_MUTANTS_FRAMEWORK_HOST_KERNELS_H_
