#!/bin/bash
# Each source includes, itself or by the header of its name, what it uses of the headers in .ci: .ci/run has
# compilers read these first, so none of them sees what is missing.
# Usage: check_includes.sh [ROOT]. One line for each violation; exit code 1 if there is any.
set -eu
cd "${1:-$(dirname "$0")/../..}"

folders=()
for folder in api backend sim kernels conformance tools; do [[ -d $folder ]] && folders+=("$folder"); done
find "${folders[@]}" -name '*.cc' -o -name '*.h' | LC_ALL=C sort |
awk '
# The header, and what is used of it.
function header(name, pattern) {
  names[++count] = name
  patterns[count] = pattern
}
BEGIN {
  header("<algorithm>", "std::(sort|stable_sort|find|find_if|any_of|all_of|none_of|count|count_if|copy|copy_n|fill|fill_n|max|min|clamp|reverse|remove|remove_if|lower_bound|upper_bound|equal|transform|generate|max_element|min_element|shuffle|unique|rotate|for_each|replace|mismatch|search|binary_search|is_sorted|partition)\\(")
  header("<cstdint>", "(^|[^A-Za-z0-9_])(u?int(8|16|32|64)_t|uintptr_t)([^A-Za-z0-9_]|$)")
  header("<functional>", "std::(function|bind|ref|cref|hash|greater|invoke)([^A-Za-z0-9_]|$)")
  header("<map>", "std::(multi)?map<")
  header("<memory>", "std::(unique_ptr|shared_ptr|weak_ptr|make_unique|make_shared|enable_shared_from_this)([^A-Za-z0-9_]|$)")
  header("<mutex>", "std::(mutex|lock_guard|unique_lock|scoped_lock|call_once|once_flag)([^A-Za-z0-9_]|$)")
  header("<optional>", "std::(optional|nullopt)([^A-Za-z0-9_]|$)")
  header("<string>", "std::(string|to_string|getline)([^A-Za-z0-9_]|$)")
  header("<utility>", "std::(move|pair|forward|exchange|make_pair)([^A-Za-z0-9_]|$)")
  header("<vector>", "std::vector([^A-Za-z0-9_]|$)")
  header("\"absl/status/status.h\"", "absl::(Status|OkStatus|StatusCode|Is[A-Za-z]+|[A-Z][A-Za-z]+Error)([^A-Za-z0-9_]|$)")
  header("\"absl/status/statusor.h\"", "absl::StatusOr<")
  header("\"absl/strings/str_cat.h\"", "absl::(StrCat|StrAppend|Hex)\\(")
  header("\"absl/strings/str_format.h\"", "absl::(StrFormat|StrAppendFormat|StreamFormat|PrintF|FPrintF|SNPrintF)\\(")
  header("\"absl/strings/string_view.h\"", "absl::string_view")
  header("\"absl/types/span.h\"", "absl::(Span<|MakeSpan|MakeConstSpan)")
  header("\"gmock/gmock.h\"", "(EXPECT_THAT|ASSERT_THAT|EXPECT_CALL|ON_CALL|MOCK_METHOD|MATCHER(_P[0-9]*)?)\\(")
  header("\"gtest/gtest.h\"", "(^|[^A-Za-z0-9_])(TEST|TEST_F|TEST_P|(EXPECT|ASSERT)_(EQ|NE|LT|LE|GT|GE|TRUE|FALSE|STREQ|DEATH|EXIT)|GTEST_SKIP|FAIL|ADD_FAILURE)\\(")
}

# What `file` includes, and what the headers of the project that it includes do, goes into `included`.
function include(name,   file, text) {
  if (name in included) return
  included[name]
  if (name == "\"gmock/gmock.h\"") included["\"gtest/gtest.h\""]
  file = substr(name, 2, length(name) - 2)
  if (!(file in of_file)) {
    of_file[file] = ""
    if (name ~ /^"/ && file in is_source) {
      while ((getline text < file) > 0) if (text ~ /^#include /) of_file[file] = of_file[file] substr(text, 10) "\n"
      close(file)
    }
  }
  include_all(of_file[file])
}
function include_all(lines,   i, parts, size) {
  size = split(lines, parts, "\n")
  for (i = 1; i < size; ++i) include(parts[i])
}

# The code of a file, without words and comments.
function code_of(file,   text, code) {
  while ((getline text < file) > 0) {
    gsub(/"([^"\\]|\\.)*"/, "\"\"", text)
    sub(/\/\/.*/, "", text)
    code = code text "\n"
  }
  close(file)
  return code
}

{ is_source[files[NR] = $0] }
END {
  for (n = 1; n <= NR; ++n) {
    if (files[n] !~ /[.]cc$/) continue
    split("", included)
    include("\"" files[n] "\"")
    code = code_of(files[n])
    for (i = 1; i <= count; ++i) {
      if (names[i] in included || code !~ patterns[i]) continue
      printf "%s: #include %s\n", files[n], names[i]
      bad = 1
    }
  }
  exit bad
}'
