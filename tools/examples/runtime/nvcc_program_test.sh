#!/bin/bash
# $1: the tool. $2: nvcc, or empty. $3: a program's source. $4: what it prints. $5: our static runtime.
set -eu -o pipefail
if [[ -z $2 ]]; then
  echo "no nvcc was found: NOTHING WAS COMPILED"
  exit 0
fi
build() { "$2" -gencode arch=compute_90,code=compute_90 "$3" -o "$TEST_TMPDIR/program" "${@:6}"; }
for runtime in "-cudart shared" "-cudart none $5"; do
  build "$@" $runtime
  "$1" run --error-exitcode -- "$TEST_TMPDIR/program" 2>"$TEST_TMPDIR/report" | diff "$4" - || {
    cat "$TEST_TMPDIR/report"
    exit 1
  }
done
# Relinked, its own runtime is in the way, and the tool says what to do.
build "$@" -cudart static
"$1" run -- "$TEST_TMPDIR/program" >/dev/null 2>"$TEST_TMPDIR/report" && exit 1
grep -q "nvcc -cudart shared" "$TEST_TMPDIR/report" || {
  cat "$TEST_TMPDIR/report"
  exit 1
}
