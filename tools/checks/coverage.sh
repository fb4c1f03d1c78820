#!/bin/bash
# Line and branch coverage of sim/ and backend/ by all tests that need no GPU, as a table by file:
#
#   tools/checks/coverage.sh [FOLDER]    with FOLDER, also annotated sources, one page per file
#
# Needs clang and llvm (llvm-cov, llvm-profdata). What only a child process runs that ends without
# destructors, as after a fault, does not count.
set -euo pipefail
cd "$(dirname "$0")/../.."

for program in clang llvm-cov llvm-profdata; do
  command -v "$program" > /dev/null && continue
  echo "coverage: $program is missing; it is in Debian's packages clang and llvm" >&2
  exit 1
done

data=$(mktemp -d)
trap 'rm -rf "$data"' EXIT
tests=$(tools/bazel query 'kind(cc_test, //sim/... + //backend/... + //conformance/...)' 2> "$data/log")
tools/bazel test --config=coverage --test_env=LLVM_PROFILE_FILE="$data/%p-%m.profraw" $tests \
  > "$data/log" 2>&1 || { cat "$data/log"; exit 1; }

bin=$(tools/bazel info --config=coverage bazel-bin 2> /dev/null)
objects=()
for label in $tests; do
  path=${label#//}
  program=$bin/${path/:/\/}
  [[ -x $program ]] || continue  # a test that needs a GPU is not built
  ((${#objects[@]})) && objects+=(-object)
  objects+=("$program")
done
llvm-profdata merge -sparse "$data"/*.profraw -o "$data/all"
others='(^|/)(api|conformance|kernels|third_party|tools|usr)/|_test\.|_benchmark\.|test_machine|failing_host|fake_'
llvm-cov report "${objects[@]}" -instr-profile "$data/all" -ignore-filename-regex="$others" -show-region-summary=false
if (($#)); then
  llvm-cov show "${objects[@]}" -instr-profile "$data/all" -ignore-filename-regex="$others" -format=html \
    -show-branches=count -output-dir "$1"
  echo "annotated sources: $1/index.html"
fi
