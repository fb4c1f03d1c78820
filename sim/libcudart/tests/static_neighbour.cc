// Defines, as any C++ may, what the runtime in the same program was built with, and Abseil.

#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

extern "C" int HasItsOwnLibraries(void) {
  const void* volatile unique_in_a_process = &std::piecewise_construct;
  std::map<int, std::string> words;
  words.emplace(std::piecewise_construct, std::make_tuple(1), std::make_tuple("one"));
  std::unordered_map<std::string, std::vector<int>> numbers;
  numbers[absl::StrCat(words[1], 1)].push_back(1);
  return unique_in_a_process != nullptr && numbers.count("one1") == 1 ? 1 : 0;
}
