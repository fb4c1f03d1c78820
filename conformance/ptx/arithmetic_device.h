// Runs arithmetic cases on a device.

#ifndef TWINMMU_CONFORMANCE_PTX_ARITHMETIC_DEVICE_H_
#define TWINMMU_CONFORMANCE_PTX_ARITHMETIC_DEVICE_H_

#include <functional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "api/driver.h"
#include "conformance/ptx/arithmetic_cases.h"
#include "conformance/ptx/arithmetic_recording.h"

namespace twinmmu::conformance {

// What device 0 of the driver gives for each case. Those that its compiler refuses are told to
// `refused`, with the reason, and left out; any other error ends it.
absl::StatusOr<ArithmeticRecording> RecordArithmetic(
    Driver& driver, absl::Span<const ArithmeticCase> cases,
    const std::function<void(const ArithmeticCase&, absl::string_view reason)>& refused);

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_PTX_ARITHMETIC_DEVICE_H_
