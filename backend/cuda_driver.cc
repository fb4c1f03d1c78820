#include "backend/cuda_driver.h"

#include <utility>

#include "backend/call_driver.h"
#include "backend/cuda_executor.h"
#include "backend/cuda_multicast.h"
#include "backend/cuda_sparse_arrays.h"
#include "backend/cuda_vmm.h"
#include "backend/loader.h"
#include "backend/primary_contexts.h"

namespace twinmmu {
namespace {

class CudaDriver final : public Driver {
 public:
  CudaDriver(DriverTable table, bool allow_multicast)
      : table_(std::move(table)), allow_multicast_(allow_multicast) {}

  absl::StatusOr<Vmm*> vmm() override { return &vmm_; }
  absl::StatusOr<Executor*> executor() override { return &executor_; }
  absl::StatusOr<Multicast*> multicast() override {
    if (allow_multicast_) return &multicast_;
    return absl::UnimplementedError(
        "multicast is off on hardware: where it goes wrong it can put GPUs out of service for "
        "everybody who shares the machine. To allow it set "
        "CudaDriverOptions::allow_multicast_on_hardware, or for `twinmmu conformance` give "
        "--allow-multicast");
  }
  absl::StatusOr<SparseArrays*> sparse_arrays() override { return &sparse_arrays_; }

 private:
  const DriverTable table_;
  PrimaryContexts contexts_{table_};
  CudaVmm vmm_{table_, contexts_};
  CudaExecutor executor_{contexts_};
  const bool allow_multicast_;
  CudaMulticast multicast_{table_};
  CudaSparseArrays sparse_arrays_{contexts_};
};

}  // namespace

absl::StatusOr<std::unique_ptr<Driver>> OpenCudaDriver(const CudaDriverOptions& options) {
  absl::StatusOr<DriverTable> table = LoadDriver(options.library);
  if (!table.ok()) return table.status();
  return MakeCudaDriver(*std::move(table), options);
}

absl::StatusOr<std::unique_ptr<Driver>> MakeCudaDriver(DriverTable table,
                                                       const CudaDriverOptions& options) {
  const absl::Status status = Call<Symbol::cuInit>(table, 0u);
  if (!status.ok()) return status;
  return std::make_unique<CudaDriver>(std::move(table), options.allow_multicast_on_hardware);
}

}  // namespace twinmmu
