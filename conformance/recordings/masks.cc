#include "conformance/recordings/masks.h"

#include <algorithm>
#include <string>

#include "absl/strings/match.h"

namespace twinmmu::conformance {
namespace {

// The rule that the test is about: "MAP-5".
std::string RuleOf(const Section& section) { return TextOr(section.begin, "rule"); }

bool IsDeviceCode(const Section&, const Json& recorded, const Json& seen, const std::string&) {
  const std::string call = TextOr(recorded, "call");
  const bool needs_it = call == "LoadModule" || call == "Launch";
  return needs_it && TextOr(seen, "code") != "CUDA_SUCCESS";
}

bool IsUndefined(const Section& section, const Json& recorded, const Json& seen,
                 const std::string&) {
  const bool ended = TextOr(recorded, "code") == kProcessEnded;
  return ended || (section.begin.contains("undefined") && TextOr(seen, "code") != "CUDA_SUCCESS");
}

bool IsRace(const Section& section, const Json&, const Json&, const std::string&) {
  return absl::StartsWith(RuleOf(section), "THREAD-") &&
         std::any_of(section.lines.begin(), section.lines.end(),
                     [](const Json& line) { return line.contains("thread"); });
}

bool IsViewOfTheCpu(const Section& section, const Json& recorded, const Json&,
                    const std::string& key) {
  const bool stored = absl::StartsWith(RuleOf(section), "HOST-") && key == "data";
  return stored || (TextOr(recorded, "attribute") == "HOST_POINTER" &&
                    TextOr(recorded, "code") == "CUDA_SUCCESS");
}

// Descriptors of recorded calls have names.
bool IsForeignDescriptor(const Section&, const Json& recorded, const Json&, const std::string&) {
  return TextOr(recorded, "call") == "ImportShareableHandle" &&
         TextOr(recorded, "code") == "CUDA_SUCCESS" &&
         TextOr(recorded, "descriptor").substr(0, 2) == "0x";
}

bool IsLimitOfTheProcess(const Section&, const Json& recorded, const Json&, const std::string&) {
  return TextOr(recorded, "call") == "ExportShareableHandle" &&
         TextOr(recorded, "code") == "CUDA_ERROR_OPERATING_SYSTEM";
}

bool IsNameOfDevice(const Section&, const Json& recorded, const Json& seen, const std::string&) {
  return TextOr(recorded, "call") == "GetDeviceName" &&
         TextOr(seen, "value") == "TwinMMU simulated " + TextOr(recorded, "value");
}

}  // namespace

absl::Span<const Mask> SimulatorMasks() {
  static constexpr Mask kMasks[] = {
      {"device code",
       "A replay does not run the kernels of a recording; what follows in that test depends on "
       "them.",
       IsDeviceCode, true},
      {"undefined",
       "The process ended in the call, or no driver promises anything about it and this one gave "
       "some answer. The simulator refuses it and says why, or does what the rule allows.",
       IsUndefined, true},
      {"race",
       "Threads worked on one range at once; which of them comes first is a matter of timing.",
       IsRace, true},
      {"view of the CPU",
       "The addresses of a replay are mere numbers, which the CPU cannot access; and what a "
       "program stores to host memory itself, without a call, is not in the recording.",
       IsViewOfTheCpu, false},
      {"foreign descriptor",
       "The program imported a descriptor that no recorded call gave, such as a duplicate; it is "
       "not in the recording.",
       IsForeignDescriptor, true},
      {"limit of the process", "The program had limited its own descriptors, which no call shows.",
       IsLimitOfTheProcess, true},
      {"name of the device",
       "The driver's functions on the simulator say that each device is simulated.", IsNameOfDevice,
       false},
  };
  return kMasks;
}

}  // namespace twinmmu::conformance
