// A recording of arithmetic: what a device gave for each case, in a compressed file.

#ifndef TWINMMU_CONFORMANCE_PTX_ARITHMETIC_RECORDING_H_
#define TWINMMU_CONFORMANCE_PTX_ARITHMETIC_RECORDING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "conformance/ptx/arithmetic_cases.h"

namespace twinmmu::conformance {

struct RecordedCase {
  std::string name;          // ArithmeticCase::name
  uint64_t inputs_hash = 0;  // HashOfInputs
  OperandValues results;     // as Simulate gives them
};

struct ArithmeticRecording {
  std::string device;
  int driver_version = 0;
  std::string date;  // "2026-01-31"
  std::vector<RecordedCase> cases;
  std::vector<std::string> refused;  // names of cases that the driver's compiler does not take
};

// Internal: the file cannot be written.
absl::Status WriteArithmetic(const std::string& path, const ArithmeticRecording& recording);
// NotFound: there is no such file. DataLoss: it is none of these, or damaged.
absl::StatusOr<ArithmeticRecording> ReadArithmetic(const std::string& path);

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_PTX_ARITHMETIC_RECORDING_H_
