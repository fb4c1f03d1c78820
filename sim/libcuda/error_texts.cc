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

// Codes that the runtime has as well, with the same words: those of cuGetErrorString of driver
// 580.159 are among them.
constexpr std::pair<int, const char*> kTexts[] = {
#define TWINMMU_CUDART_ERROR(name, code, text) {code, text},
#include "third_party/cuda_abi/cudart_errors.inc"
};

// Others: "key rotation" of CUDA_ERROR_KEY_ROTATION.
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
