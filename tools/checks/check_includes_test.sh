#!/bin/bash
# Self-test of check_includes.sh: plants sources with and without their includes into a small tree.
set -eu
check=$(cd "$(dirname "$0")" && pwd)/check_includes.sh
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root/api"
printf '%s\n' '#include <vector>' '#include "api/b.h"' > "$root/api/a.h"
printf '%s\n' '#include "gmock/gmock.h"' > "$root/api/b.h"
failures=0

# expect WORDS LINE...: the check reports one line with WORDS for a source of these lines; none: it passes.
expect() {
  local output
  printf '%s\n' "${@:2}" > "$root/api/x.cc"
  output=$("$check" "$root") || true
  [[ -z $1 && -z $output ]] && return
  [[ -n $1 && $output == "api/x.cc: $1" ]] && return
  echo "FAIL: ${*:2}: expected \"$1\", got: $output"
  failures=$((failures + 1))
}

expect '' '#include <vector>' 'std::vector<int> x;'
expect '' '#include "api/a.h"' 'std::vector<int> x;'
expect '' '#include "api/a.h"' 'TEST(A, B) { EXPECT_EQ(1, 1); }'
expect '' '// std::vector' 'const char* x = "std::vector";' 'my_std::vectors x;'
expect '#include <vector>' 'std::vector<int> x;'
expect '#include <algorithm>' '#include "api/a.h"' 'auto x = std::max(1, 2);'
expect '#include "absl/status/statusor.h"' '#include "absl/status/status.h"' 'absl::StatusOr<int> F();'
expect '#include "gmock/gmock.h"' '#include "gtest/gtest.h"' 'EXPECT_THAT(1, Eq(1));'

# Each header of the preludes has a line.
while read -r name; do
  grep -qF "header(\"${name//\"/\\\"}\"" "$check" && continue
  echo "FAIL: check_includes.sh does not know #include $name of .ci"
  failures=$((failures + 1))
done < <(sed -n '/prelude/!s/^#include //p' "${check%/*}"/../../.ci/*prelude.h)

((failures == 0)) && echo 'check_includes_test: passed'
