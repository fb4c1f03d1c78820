// Names of the values of enumerations in a recording. A value without a name is its number.

#ifndef TWINMMU_API_TESTING_RECORDING_VALUE_NAMES_H_
#define TWINMMU_API_TESTING_RECORDING_VALUE_NAMES_H_

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace twinmmu {

template <typename T>
using ValueName = std::pair<T, const char*>;

[[noreturn]] inline void RefuseText(const std::string& text, const char* what) {
  throw std::invalid_argument(absl::StrCat("\"", text, "\" is no ", what));
}

// Throws a std::exception where `text` is neither a name of the table nor a number.
template <typename T, size_t kCount>
T ValueOf(const ValueName<T> (&table)[kCount], const std::string& text, const char* what) {
  for (const auto& [value, name] : table) {
    if (text == name) return value;
  }
  int64_t number = 0;
  if (!absl::SimpleAtoi(text, &number)) RefuseText(text, what);
  return static_cast<T>(number);
}

template <typename T, size_t kCount>
std::string NameOf(const ValueName<T> (&table)[kCount], T value) {
  for (const auto& [known, name] : table) {
    if (value == known) return name;
  }
  return absl::StrCat(static_cast<int64_t>(value));
}

}  // namespace twinmmu

#endif  // TWINMMU_API_TESTING_RECORDING_VALUE_NAMES_H_
