#include "sim/libcuda/error_texts.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "api/driver_error.h"

namespace twinmmu::libcuda {
namespace {

struct Texts {
  std::string name;
  std::string text;
};

constexpr int kMaxCode = 999;  // CUDA_ERROR_UNKNOWN, the last

// Codes of our cuda.h whose text differs from their name, as programs may look for it in what they
// print.
// Source: cuGetErrorString of driver 580.159.
constexpr std::pair<int, const char*> kTexts[] = {
    {0, "no error"},
    {1, "invalid argument"},
    {3, "initialization error"},
    {4, "driver shutting down"},
    {34, "CUDA driver is a stub library"},
    {36, "API call is not supported in the installed CUDA driver"},
    {46, "CUDA-capable device(s) is/are busy or unavailable"},
    {100, "no CUDA-capable device is detected"},
    {101, "invalid device ordinal"},
    {200, "device kernel image is invalid"},
    {201, "invalid device context"},
    {205, "mapping of buffer object failed"},
    {206, "unmapping of buffer object failed"},
    {208, "resource already mapped"},
    {211, "resource not mapped"},
    {214, "uncorrectable ECC error encountered"},
    {215, "limit is not supported on this architecture"},
    {217, "peer access is not supported between these two devices"},
    {218, "a PTX JIT compilation failed"},
    {304, "OS call failed or operation not supported on this OS"},
    {400, "invalid resource handle"},
    {401, "the operation cannot be performed in the present state"},
    {500, "named symbol not found"},
    {600, "device not ready"},
    {700, "an illegal memory access was encountered"},
    {701, "too many resources requested for launch"},
    {702, "the launch timed out and was terminated"},
    {704, "peer access is already enabled"},
    {705, "peer access has not been enabled"},
    {708, "cannot set while device is active in this process"},
    {711, "peer mapping resources exhausted"},
    {712, "part or all of the requested memory range is already mapped"},
    {713, "pointer does not correspond to a registered memory region"},
    {719, "unspecified launch failure"},
    {800, "operation not permitted"},
    {801, "operation not supported"},
    {802, "system not yet initialized"},
    {803, "system has unsupported display driver / cuda driver combination"},
    {900, "operation not permitted when stream is capturing"},
    {909, "wait operation timed out"},
    {999, "unknown error"},
};

// CUDA_ERROR_OUT_OF_MEMORY: "out of memory".
std::string TextOf(int code, const std::string& name) {
  for (const auto& [known, text] : kTexts) {
    if (known == code) return text;
  }
  std::string text(absl::StripPrefix(name, "CUDA_ERROR_"));
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) {
    return c == '_' ? ' ' : static_cast<char>(std::tolower(c));
  });
  return text;
}

// Never destroyed: programs ask until the end.
const std::map<int, Texts>& AllTexts() {
  static const auto* const all = [] {
    auto* const made = new std::map<int, Texts>;
    for (int code = 0; code <= kMaxCode; ++code) {
      const std::string name = DriverCodeName(static_cast<DriverCode>(code));
      if (absl::StrContains(name, " ")) continue;  // "CUDA_ERROR 12": not one of the table
      made->emplace(code, Texts{name, TextOf(code, name)});
    }
    return made;
  }();
  return *all;
}

const Texts* Find(int code) {
  const auto found = AllTexts().find(code);
  return found != AllTexts().end() ? &found->second : nullptr;
}

}  // namespace

const char* ErrorName(cuda_abi::CUresult code) {
  const Texts* const texts = Find(code);
  return texts != nullptr ? texts->name.c_str() : nullptr;
}

const char* ErrorText(cuda_abi::CUresult code) {
  const Texts* const texts = Find(code);
  return texts != nullptr ? texts->text.c_str() : nullptr;
}

}  // namespace twinmmu::libcuda
