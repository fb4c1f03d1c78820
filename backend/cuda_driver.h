// The CUDA driver behind the interface of api/.
//
// Each call of the interface is one call of the driver, with the arguments as they came; what the
// driver answers comes back. A function that the driver lacks, or has not got in the version
// needed, makes the calls that need it Unimplemented (origin: loader); all others work.
//
// Several of these may live in one process, and beside cuda.h and the CUDA runtime: this header and
// what it includes define no name of CUDA.

#ifndef TWINMMU_BACKEND_CUDA_DRIVER_H_
#define TWINMMU_BACKEND_CUDA_DRIVER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "api/driver.h"

namespace twinmmu {

struct DriverTable;

struct CudaDriverOptions {
  std::string library = "libcuda.so.1";  // a name that the dynamic linker finds, or a path
  // Driver::multicast() is there, and makes the driver's calls. Without, it is Unimplemented and no
  // function of multicast objects is ever called: these reserve a part of the switch that joins the
  // GPUs, and a program that goes wrong there can put GPUs out of service for everybody who shares
  // the machine. Set it only where you may, and never in what others run by default.
  bool allow_multicast_on_hardware = false;
};

// Loads the library and initialises the driver. The primary context of a device is retained when a
// call first needs it, and released with the Driver.
// FailedPrecondition: "no driver" (there is no such library; the message says where it was looked
// for), or there is no device (NO_DEVICE). Otherwise the status of the code that cuInit gave.
absl::StatusOr<std::unique_ptr<Driver>> OpenCudaDriver(
    const CudaDriverOptions& options = CudaDriverOptions());

// The same over functions from elsewhere (backend/driver_table.h); options.library is not used.
absl::StatusOr<std::unique_ptr<Driver>> MakeCudaDriver(
    DriverTable table, const CudaDriverOptions& options = CudaDriverOptions());

}  // namespace twinmmu

#endif  // TWINMMU_BACKEND_CUDA_DRIVER_H_
