#include "api/driver_error.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace twinmmu {
namespace {

struct Row {
  int code;
  const char* name;
  absl::StatusCode canonical;
};

// Every CUresult of CUDA 13.0, ordered by number. A code that says nothing to a caller of this
// interface is kInternal.
constexpr Row kTable[] = {
    {0, "CUDA_SUCCESS", absl::StatusCode::kOk},
    {1, "CUDA_ERROR_INVALID_VALUE", absl::StatusCode::kInvalidArgument},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", absl::StatusCode::kResourceExhausted},
    {3, "CUDA_ERROR_NOT_INITIALIZED", absl::StatusCode::kFailedPrecondition},
    {4, "CUDA_ERROR_DEINITIALIZED", absl::StatusCode::kFailedPrecondition},
    {5, "CUDA_ERROR_PROFILER_DISABLED", absl::StatusCode::kInternal},
    {6, "CUDA_ERROR_PROFILER_NOT_INITIALIZED", absl::StatusCode::kInternal},
    {7, "CUDA_ERROR_PROFILER_ALREADY_STARTED", absl::StatusCode::kInternal},
    {8, "CUDA_ERROR_PROFILER_ALREADY_STOPPED", absl::StatusCode::kInternal},
    {34, "CUDA_ERROR_STUB_LIBRARY", absl::StatusCode::kFailedPrecondition},
    {36, "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER", absl::StatusCode::kUnimplemented},
    {46, "CUDA_ERROR_DEVICE_UNAVAILABLE", absl::StatusCode::kUnavailable},
    {100, "CUDA_ERROR_NO_DEVICE", absl::StatusCode::kFailedPrecondition},
    {101, "CUDA_ERROR_INVALID_DEVICE", absl::StatusCode::kNotFound},
    {102, "CUDA_ERROR_DEVICE_NOT_LICENSED", absl::StatusCode::kInternal},
    {200, "CUDA_ERROR_INVALID_IMAGE", absl::StatusCode::kInvalidArgument},
    {201, "CUDA_ERROR_INVALID_CONTEXT", absl::StatusCode::kFailedPrecondition},
    {202, "CUDA_ERROR_CONTEXT_ALREADY_CURRENT", absl::StatusCode::kInternal},
    {205, "CUDA_ERROR_MAP_FAILED", absl::StatusCode::kInternal},
    {206, "CUDA_ERROR_UNMAP_FAILED", absl::StatusCode::kInternal},
    {207, "CUDA_ERROR_ARRAY_IS_MAPPED", absl::StatusCode::kInternal},
    {208, "CUDA_ERROR_ALREADY_MAPPED", absl::StatusCode::kAlreadyExists},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU", absl::StatusCode::kInvalidArgument},
    {210, "CUDA_ERROR_ALREADY_ACQUIRED", absl::StatusCode::kInternal},
    {211, "CUDA_ERROR_NOT_MAPPED", absl::StatusCode::kFailedPrecondition},
    {212, "CUDA_ERROR_NOT_MAPPED_AS_ARRAY", absl::StatusCode::kInternal},
    {213, "CUDA_ERROR_NOT_MAPPED_AS_POINTER", absl::StatusCode::kInternal},
    {214, "CUDA_ERROR_ECC_UNCORRECTABLE", absl::StatusCode::kDataLoss},
    {215, "CUDA_ERROR_UNSUPPORTED_LIMIT", absl::StatusCode::kInternal},
    {216, "CUDA_ERROR_CONTEXT_ALREADY_IN_USE", absl::StatusCode::kInternal},
    {217, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED", absl::StatusCode::kUnimplemented},
    {218, "CUDA_ERROR_INVALID_PTX", absl::StatusCode::kInvalidArgument},
    {219, "CUDA_ERROR_INVALID_GRAPHICS_CONTEXT", absl::StatusCode::kInternal},
    {220, "CUDA_ERROR_NVLINK_UNCORRECTABLE", absl::StatusCode::kDataLoss},
    {221, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND", absl::StatusCode::kUnimplemented},
    {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", absl::StatusCode::kUnimplemented},
    {223, "CUDA_ERROR_JIT_COMPILATION_DISABLED", absl::StatusCode::kFailedPrecondition},
    {224, "CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY", absl::StatusCode::kInternal},
    {225, "CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC", absl::StatusCode::kInternal},
    {226, "CUDA_ERROR_CONTAINED", absl::StatusCode::kDataLoss},
    {300, "CUDA_ERROR_INVALID_SOURCE", absl::StatusCode::kInvalidArgument},
    {301, "CUDA_ERROR_FILE_NOT_FOUND", absl::StatusCode::kNotFound},
    {302, "CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND", absl::StatusCode::kUnimplemented},
    {303, "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED", absl::StatusCode::kFailedPrecondition},
    {304, "CUDA_ERROR_OPERATING_SYSTEM", absl::StatusCode::kInternal},
    {400, "CUDA_ERROR_INVALID_HANDLE", absl::StatusCode::kInvalidArgument},
    {401, "CUDA_ERROR_ILLEGAL_STATE", absl::StatusCode::kFailedPrecondition},
    {402, "CUDA_ERROR_LOSSY_QUERY", absl::StatusCode::kFailedPrecondition},
    {500, "CUDA_ERROR_NOT_FOUND", absl::StatusCode::kNotFound},
    {600, "CUDA_ERROR_NOT_READY", absl::StatusCode::kUnavailable},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", absl::StatusCode::kDataLoss},
    {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", absl::StatusCode::kResourceExhausted},
    {702, "CUDA_ERROR_LAUNCH_TIMEOUT", absl::StatusCode::kDeadlineExceeded},
    {703, "CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING", absl::StatusCode::kInternal},
    {704, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", absl::StatusCode::kAlreadyExists},
    {705, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED", absl::StatusCode::kFailedPrecondition},
    {708, "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE", absl::StatusCode::kFailedPrecondition},
    {709, "CUDA_ERROR_CONTEXT_IS_DESTROYED", absl::StatusCode::kFailedPrecondition},
    {710, "CUDA_ERROR_ASSERT", absl::StatusCode::kDataLoss},
    {711, "CUDA_ERROR_TOO_MANY_PEERS", absl::StatusCode::kResourceExhausted},
    {712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", absl::StatusCode::kAlreadyExists},
    {713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", absl::StatusCode::kFailedPrecondition},
    {714, "CUDA_ERROR_HARDWARE_STACK_ERROR", absl::StatusCode::kDataLoss},
    {715, "CUDA_ERROR_ILLEGAL_INSTRUCTION", absl::StatusCode::kDataLoss},
    {716, "CUDA_ERROR_MISALIGNED_ADDRESS", absl::StatusCode::kDataLoss},
    {717, "CUDA_ERROR_INVALID_ADDRESS_SPACE", absl::StatusCode::kDataLoss},
    {718, "CUDA_ERROR_INVALID_PC", absl::StatusCode::kDataLoss},
    {719, "CUDA_ERROR_LAUNCH_FAILED", absl::StatusCode::kDataLoss},
    {720, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", absl::StatusCode::kInvalidArgument},
    {721, "CUDA_ERROR_TENSOR_MEMORY_LEAK", absl::StatusCode::kInternal},
    {800, "CUDA_ERROR_NOT_PERMITTED", absl::StatusCode::kPermissionDenied},
    {801, "CUDA_ERROR_NOT_SUPPORTED", absl::StatusCode::kUnimplemented},
    {802, "CUDA_ERROR_SYSTEM_NOT_READY", absl::StatusCode::kUnavailable},
    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", absl::StatusCode::kFailedPrecondition},
    {804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", absl::StatusCode::kInternal},
    {805, "CUDA_ERROR_MPS_CONNECTION_FAILED", absl::StatusCode::kInternal},
    {806, "CUDA_ERROR_MPS_RPC_FAILURE", absl::StatusCode::kInternal},
    {807, "CUDA_ERROR_MPS_SERVER_NOT_READY", absl::StatusCode::kInternal},
    {808, "CUDA_ERROR_MPS_MAX_CLIENTS_REACHED", absl::StatusCode::kInternal},
    {809, "CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED", absl::StatusCode::kInternal},
    {810, "CUDA_ERROR_MPS_CLIENT_TERMINATED", absl::StatusCode::kInternal},
    {811, "CUDA_ERROR_CDP_NOT_SUPPORTED", absl::StatusCode::kInternal},
    {812, "CUDA_ERROR_CDP_VERSION_MISMATCH", absl::StatusCode::kInternal},
    {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", absl::StatusCode::kInternal},
    {901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", absl::StatusCode::kInternal},
    {902, "CUDA_ERROR_STREAM_CAPTURE_MERGE", absl::StatusCode::kInternal},
    {903, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", absl::StatusCode::kInternal},
    {904, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", absl::StatusCode::kInternal},
    {905, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION", absl::StatusCode::kInternal},
    {906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT", absl::StatusCode::kInternal},
    {907, "CUDA_ERROR_CAPTURED_EVENT", absl::StatusCode::kInternal},
    {908, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD", absl::StatusCode::kInternal},
    {909, "CUDA_ERROR_TIMEOUT", absl::StatusCode::kDeadlineExceeded},
    {910, "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE", absl::StatusCode::kInternal},
    {911, "CUDA_ERROR_EXTERNAL_DEVICE", absl::StatusCode::kInternal},
    {912, "CUDA_ERROR_INVALID_CLUSTER_SIZE", absl::StatusCode::kInternal},
    {913, "CUDA_ERROR_FUNCTION_NOT_LOADED", absl::StatusCode::kInternal},
    {914, "CUDA_ERROR_INVALID_RESOURCE_TYPE", absl::StatusCode::kInternal},
    {915, "CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION", absl::StatusCode::kInternal},
    {916, "CUDA_ERROR_KEY_ROTATION", absl::StatusCode::kInternal},
    {999, "CUDA_ERROR_UNKNOWN", absl::StatusCode::kUnknown},
};
constexpr absl::string_view kPayloadUrl = "type.twinmmu.org/twinmmu.DriverError";

const Row* Find(DriverCode code) {
  const int number = static_cast<int>(code);
  const Row* row = std::lower_bound(std::begin(kTable), std::end(kTable), number,
                                    [](const Row& r, int n) { return r.code < n; });
  return row != std::end(kTable) && row->code == number ? row : nullptr;
}

}  // namespace

std::string DriverCodeName(DriverCode code) {
  const Row* row = Find(code);
  return row != nullptr ? row->name : absl::StrCat("CUDA_ERROR ", static_cast<int>(code));
}

std::ostream& operator<<(std::ostream& out, DriverCode code) { return out << DriverCodeName(code); }

absl::StatusCode CanonicalCode(DriverCode code) {
  const Row* row = Find(code);
  return row != nullptr ? row->canonical : absl::StatusCode::kUnknown;
}

absl::string_view ToString(ErrorOrigin origin) {
  switch (origin) {
    case ErrorOrigin::kDriver:
      return "driver";
    case ErrorOrigin::kLoader:
      return "loader";
    case ErrorOrigin::kSimulator:
      return "simulator";
    case ErrorOrigin::kInjected:
      return "injected";
    case ErrorOrigin::kChecker:
      return "checker";
  }
  return "unknown origin";
}

std::ostream& operator<<(std::ostream& out, ErrorOrigin origin) {
  const absl::string_view text = ToString(origin);
  return out.write(text.data(), static_cast<std::streamsize>(text.size()));
}

absl::Status MakeDriverStatus(const DriverError& error, absl::string_view message) {
  if (error.code == DriverCode::kSuccess) return absl::OkStatus();
  absl::Status status(CanonicalCode(error.code), message);
  status.SetPayload(kPayloadUrl,
                    absl::Cord(absl::StrCat(static_cast<int>(error.code), "|",
                                            static_cast<int>(error.origin), "|", error.call)));
  return status;
}

std::optional<DriverError> GetDriverError(const absl::Status& status) {
  const auto payload = status.GetPayload(kPayloadUrl);
  if (!payload.has_value()) return std::nullopt;
  const std::string text(*payload);
  const std::vector<std::string> parts = absl::StrSplit(text, absl::MaxSplits('|', 2));
  int code = 0;
  int origin = 0;
  const bool well_formed =
      parts.size() == 3 && absl::SimpleAtoi(parts[0], &code) && absl::SimpleAtoi(parts[1], &origin);
  if (!well_formed) return std::nullopt;
  return DriverError{static_cast<DriverCode>(code), static_cast<ErrorOrigin>(origin), parts[2]};
}

DriverCode GetDriverCode(const absl::Status& status) {
  if (status.ok()) return DriverCode::kSuccess;
  const std::optional<DriverError> error = GetDriverError(status);
  return error.has_value() ? error->code : DriverCode::kUnknown;
}

}  // namespace twinmmu
