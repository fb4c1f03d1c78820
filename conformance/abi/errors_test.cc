// Names and texts of results.

#include "conformance/abi/abi_fixtures.h"
#include "conformance/abi/driver_under_test.h"

namespace twinmmu::abi {
namespace {

TEST(ErrorsTest, HaveTheirNamesAndTexts) {
#define ERROR(name, text) \
  { CUDA_##name, "CUDA_" #name, text }
  const struct {
    CUresult result;
    const char* name;
    const char* text;
  } kErrors[] = {
      ERROR(SUCCESS, "no error"),
      ERROR(ERROR_INVALID_VALUE, "invalid argument"),
      ERROR(ERROR_OUT_OF_MEMORY, "out of memory"),
      ERROR(ERROR_NOT_INITIALIZED, "initialization error"),
      ERROR(ERROR_DEINITIALIZED, "driver shutting down"),
      ERROR(ERROR_STUB_LIBRARY, "CUDA driver is a stub library"),
      ERROR(ERROR_CALL_REQUIRES_NEWER_DRIVER,
            "API call is not supported in the installed CUDA driver"),
      ERROR(ERROR_DEVICE_UNAVAILABLE, "CUDA-capable device(s) is/are busy or unavailable"),
      ERROR(ERROR_NO_DEVICE, "no CUDA-capable device is detected"),
      ERROR(ERROR_INVALID_DEVICE, "invalid device ordinal"),
      ERROR(ERROR_INVALID_IMAGE, "device kernel image is invalid"),
      ERROR(ERROR_INVALID_CONTEXT, "invalid device context"),
      ERROR(ERROR_MAP_FAILED, "mapping of buffer object failed"),
      ERROR(ERROR_UNMAP_FAILED, "unmapping of buffer object failed"),
      ERROR(ERROR_ALREADY_MAPPED, "resource already mapped"),
      ERROR(ERROR_NOT_MAPPED, "resource not mapped"),
      ERROR(ERROR_ECC_UNCORRECTABLE, "uncorrectable ECC error encountered"),
      ERROR(ERROR_UNSUPPORTED_LIMIT, "limit is not supported on this architecture"),
      ERROR(ERROR_PEER_ACCESS_UNSUPPORTED,
            "peer access is not supported between these two devices"),
      ERROR(ERROR_INVALID_PTX, "a PTX JIT compilation failed"),
      ERROR(ERROR_UNSUPPORTED_PTX_VERSION,
            "the provided PTX was compiled with an unsupported toolchain."),
      ERROR(ERROR_FILE_NOT_FOUND, "file not found"),
      ERROR(ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND, "shared object symbol not found"),
      ERROR(ERROR_OPERATING_SYSTEM, "OS call failed or operation not supported on this OS"),
      ERROR(ERROR_INVALID_HANDLE, "invalid resource handle"),
      ERROR(ERROR_ILLEGAL_STATE, "the operation cannot be performed in the present state"),
      ERROR(ERROR_NOT_FOUND, "named symbol not found"),
      ERROR(ERROR_NOT_READY, "device not ready"),
      ERROR(ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered"),
      ERROR(ERROR_LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch"),
      ERROR(ERROR_LAUNCH_TIMEOUT, "the launch timed out and was terminated"),
      ERROR(ERROR_PEER_ACCESS_ALREADY_ENABLED, "peer access is already enabled"),
      ERROR(ERROR_PEER_ACCESS_NOT_ENABLED, "peer access has not been enabled"),
      ERROR(ERROR_PRIMARY_CONTEXT_ACTIVE, "cannot set while device is active in this process"),
      ERROR(ERROR_CONTEXT_IS_DESTROYED, "context is destroyed"),
      ERROR(ERROR_TOO_MANY_PEERS, "peer mapping resources exhausted"),
      ERROR(ERROR_HOST_MEMORY_ALREADY_REGISTERED,
            "part or all of the requested memory range is already mapped"),
      ERROR(ERROR_HOST_MEMORY_NOT_REGISTERED,
            "pointer does not correspond to a registered memory region"),
      ERROR(ERROR_MISALIGNED_ADDRESS, "misaligned address"),
      ERROR(ERROR_LAUNCH_FAILED, "unspecified launch failure"),
      ERROR(ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "too many blocks in cooperative launch"),
      ERROR(ERROR_NOT_PERMITTED, "operation not permitted"),
      ERROR(ERROR_NOT_SUPPORTED, "operation not supported"),
      ERROR(ERROR_SYSTEM_NOT_READY, "system not yet initialized"),
      ERROR(ERROR_SYSTEM_DRIVER_MISMATCH,
            "system has unsupported display driver / cuda driver combination"),
      ERROR(ERROR_STREAM_CAPTURE_UNSUPPORTED, "operation not permitted when stream is capturing"),
      ERROR(ERROR_STREAM_CAPTURE_INVALIDATED,
            "operation failed due to a previous error during capture"),
      ERROR(ERROR_STREAM_CAPTURE_UNJOINED, "capturing stream has unjoined work"),
      ERROR(ERROR_STREAM_CAPTURE_IMPLICIT,
            "operation would make the legacy stream depend on a capturing blocking stream"),
      ERROR(ERROR_TIMEOUT, "wait operation timed out"),
      ERROR(ERROR_GRAPH_EXEC_UPDATE_FAILURE,
            "the graph update was not performed because it included changes which violated "
            "constraints specific to instantiated graph update"),
      ERROR(ERROR_UNKNOWN, "unknown error"),
  };
#undef ERROR
  for (const auto& error : kErrors) {
    const char* name = nullptr;
    const char* text = nullptr;
    EXPECT_EQ(cuGetErrorName(error.result, &name), CUDA_SUCCESS);
    EXPECT_EQ(cuGetErrorString(error.result, &text), CUDA_SUCCESS);
    EXPECT_STREQ(name, error.name);
    EXPECT_STREQ(text, error.text);
  }
}

// The texts of what was never a result are null, not "unknown".
TEST(ErrorsTest, UnknownNumbersHaveNeither) {
  for (const int number : {-1, 918, 9999}) {
    const char* name = "before";
    const char* text = "before";
    EXPECT_EQ(cuGetErrorName(static_cast<CUresult>(number), &name), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuGetErrorString(static_cast<CUresult>(number), &text), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(name, nullptr) << number;
    EXPECT_EQ(text, nullptr) << number;
  }
}

}  // namespace
}  // namespace twinmmu::abi
