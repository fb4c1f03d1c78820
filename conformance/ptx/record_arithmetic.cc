// Records what a GPU's arithmetic gives, or prints such a recording.
//
//   record_arithmetic FILE          records on device 0 of this machine
//   record_arithmetic --print FILE [FORM]...
//
// Needs one GPU of sm_90 or later; takes less than a minute.

#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "backend/cuda_driver.h"
#include "conformance/ptx/arithmetic_cases.h"
#include "conformance/ptx/arithmetic_device.h"
#include "conformance/ptx/arithmetic_recording.h"

namespace twinmmu::conformance {
namespace {

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "record_arithmetic: %s\n", status.ToString().c_str());
  return 1;
}

int Record(const std::string& path) {
  const absl::StatusOr<std::unique_ptr<Driver>> driver = OpenCudaDriver();
  if (!driver.ok()) return Fail(driver.status());
  const std::vector<ArithmeticCase> cases = ArithmeticCases();
  const auto refused = [](const ArithmeticCase& arithmetic, absl::string_view reason) {
    std::printf("refused: %s: %s\n", arithmetic.name.c_str(), std::string(reason).c_str());
  };
  const absl::StatusOr<ArithmeticRecording> recording = RecordArithmetic(**driver, cases, refused);
  if (!recording.ok()) return Fail(recording.status());
  const absl::Status status = WriteArithmetic(path, *recording);
  if (!status.ok()) return Fail(status);
  std::printf("%s: %zu cases recorded, %zu refused\n", recording->device.c_str(),
              recording->cases.size(), recording->refused.size());
  return 0;
}

// "add.s32/3: 1 2 -> 3", in hexadecimal digits.
void PrintCase(const ArithmeticCase& arithmetic, const RecordedCase& recorded) {
  for (int trial = 0; trial < arithmetic.trials; ++trial) {
    std::string line = recorded.name + ":";
    for (const std::vector<uint64_t>& values : arithmetic.inputs) {
      if (!values.empty()) absl::StrAppend(&line, " ", absl::Hex(values[trial]));
    }
    line += " ->";
    for (const std::vector<uint64_t>& values : recorded.results) {
      if (!values.empty()) absl::StrAppend(&line, " ", absl::Hex(values[trial]));
    }
    std::puts(line.c_str());
  }
}

int Print(const std::string& path, const std::vector<std::string>& forms) {
  const absl::StatusOr<ArithmeticRecording> recording = ReadArithmetic(path);
  if (!recording.ok()) return Fail(recording.status());
  std::printf("%s, driver %d, %s\n", recording->device.c_str(), recording->driver_version,
              recording->date.c_str());
  for (const std::string& name : recording->refused) std::printf("refused: %s\n", name.c_str());
  const std::vector<ArithmeticCase> cases = ArithmeticCases();
  for (const RecordedCase& recorded : recording->cases) {
    for (const ArithmeticCase& arithmetic : cases) {
      bool wanted = forms.empty();
      for (const std::string& form : forms)
        wanted = wanted || absl::StartsWith(recorded.name, form);
      const bool same =
          arithmetic.name == recorded.name && HashOfInputs(arithmetic) == recorded.inputs_hash;
      if (wanted && same) PrintCase(arithmetic, recorded);
    }
  }
  return 0;
}

}  // namespace
}  // namespace twinmmu::conformance

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() >= 2 && arguments[0] == "--print") {
    return twinmmu::conformance::Print(arguments[1], {arguments.begin() + 2, arguments.end()});
  }
  if (arguments.size() == 1 && !absl::StartsWith(arguments[0], "-")) {
    return twinmmu::conformance::Record(arguments[0]);
  }
  std::fprintf(stderr, "usage: %s FILE | --print FILE [FORM]...\n", argv[0]);
  return 2;
}
