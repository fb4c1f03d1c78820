#!/bin/bash
# Our runtime on the simulated driver answers as NVIDIA's did on an H100, but for known differences, all of which are
# still there.
# $1: the tool. $2: nvcc, or empty. $3: what the genuine one answered. $4: the differences. $5 and more: the sources.
set -eu -o pipefail
if [[ -z $2 ]]; then
  echo "no nvcc was found: NOTHING WAS COMPARED"
  exit 0
fi
"$2" -std=c++17 -I. -cudart shared -gencode arch=compute_90,code=compute_90 -Wno-deprecated-declarations "${@:5}" \
  -o "$TEST_TMPDIR/comparison"
"$1" run -- "$TEST_TMPDIR/comparison" > "$TEST_TMPDIR/answers" 2> "$TEST_TMPDIR/report"
diff --unchanged-line-format= --old-line-format='genuine: %L' --new-line-format='ours:    %L' "$3" \
  "$TEST_TMPDIR/answers" > "$TEST_TMPDIR/differences" || true
diff "$4" "$TEST_TMPDIR/differences" || {
  echo "FAILED: other differences than those of comparison.differences (above: < is no longer there, > is new)"
  exit 1
}
