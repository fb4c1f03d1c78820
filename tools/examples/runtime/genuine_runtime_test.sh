#!/bin/bash
# A program with the genuine runtime inside, which refuses a simulated driver: the tool says in three lines what to do.
# $1: the tool. $2: nvcc, or empty. $3: a program's source.
set -eu -o pipefail
if [[ -z $2 ]]; then
  echo "no nvcc was found: NOTHING WAS COMPILED"
  exit 0
fi
"$2" -I. -gencode arch=compute_90,code=compute_90 -cudart static "$3" -o "$TEST_TMPDIR/program"
"$1" run -- "$TEST_TMPDIR/program" >/dev/null 2>"$TEST_TMPDIR/report" && exit 1
[[ $(grep -A2 kRuntimeNeedsGenuineDriver "$TEST_TMPDIR/report" | grep -c "nvcc -cudart") == 2 ]] || {
  cat "$TEST_TMPDIR/report"
  exit 1
}
