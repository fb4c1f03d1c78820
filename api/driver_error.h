// The driver's own error code, carried inside an absl::Status.
//
// Programs branch on the canonical code of a status (table in driver_error.cc; the ones that
// matter: INVALID_VALUE InvalidArgument, OUT_OF_MEMORY ResourceExhausted, NOT_SUPPORTED
// Unimplemented, NOT_PERMITTED PermissionDenied, NOT_INITIALIZED FailedPrecondition,
// INVALID_DEVICE NotFound, ILLEGAL_ADDRESS DataLoss). Where the canonical code is too coarse,
// GetDriverError() returns the driver's code and its name, the call that failed, and who raised the
// error.

#ifndef TWINMMU_API_DRIVER_ERROR_H_
#define TWINMMU_API_DRIVER_ERROR_H_

#include <optional>
#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "api/requirements.h"

namespace twinmmu {

// CUresult. Open: an unnamed value is kept unchanged. The table in driver_error.cc has all names;
// here are the codes that programs branch on.
enum class DriverCode : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kCallRequiresNewerDriver = 36,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kNoBinaryForGpu = 209,
  kUnsupportedLimit = 215,
  kPeerAccessUnsupported = 217,
  kInvalidPtx = 218,
  kUnsupportedPtxVersion = 222,
  kFileNotFound = 301,
  kSharedObjectSymbolNotFound = 302,
  kOperatingSystem = 304,
  kInvalidHandle = 400,
  kIllegalState = 401,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kLaunchOutOfResources = 701,
  kLaunchTimeout = 702,
  kPeerAccessAlreadyEnabled = 704,
  kPeerAccessNotEnabled = 705,
  kContextIsDestroyed = 709,
  kAssert = 710,
  kHostMemoryAlreadyRegistered = 712,
  kHostMemoryNotRegistered = 713,
  kIllegalInstruction = 715,
  kMisalignedAddress = 716,
  kLaunchFailed = 719,
  kCooperativeLaunchTooLarge = 720,
  kNotPermitted = 800,
  kNotSupported = 801,
  kUnknown = 999,
};

// "CUDA_ERROR_INVALID_VALUE"; "CUDA_ERROR 12345" for a code without a name.
std::string DriverCodeName(DriverCode code);
std::ostream& operator<<(std::ostream& out, DriverCode code);

// The canonical code of a driver code; kUnknown for a code without a name.
absl::StatusCode CanonicalCode(DriverCode code);

// Who raised an error: the driver itself, the loader (no library, or no function in it for this
// call), the simulator, a test that makes a call fail on purpose (api/testing/fault_plan.h), or a
// checker that did not forward the call (api/testing/checked_vmm.h).
enum class ErrorOrigin { kDriver, kLoader, kSimulator, kInjected, kChecker };
// "driver", "loader", "simulator", "injected", "checker"
absl::string_view ToString(ErrorOrigin origin);
std::ostream& operator<<(std::ostream& out, ErrorOrigin origin);

// What a status carries from the driver.
struct DriverError {
  DriverCode code = DriverCode::kUnknown;
  ErrorOrigin origin = ErrorOrigin::kDriver;
  std::string call;  // the driver's name of the call: "cuMemMap"

  friend bool operator==(const DriverError& a, const DriverError& b) {
    return a.code == b.code && a.origin == b.origin && a.call == b.call;
  }
};

// A status with the canonical code of `error.code`, `message`, and `error` as payload. OkStatus()
// for kSuccess.
absl::Status MakeDriverStatus(const DriverError& error, absl::string_view message);

// The driver error inside `status`; nullopt for a status that is OK or carries none. Code that
// passes a status on may change its message, but must keep its payloads.
std::optional<DriverError> GetDriverError(const absl::Status& status);

// The driver's code of `status`: kSuccess when it is OK, kUnknown when it carries no driver error.
DriverCode GetDriverCode(const absl::Status& status);

}  // namespace twinmmu

#endif  // TWINMMU_API_DRIVER_ERROR_H_
