#!/bin/bash
# Random programs are told by our runtime on the simulated driver what NVIDIA's told them on an H200.
# $1: the tool. $2: nvcc, or empty. $3: what the genuine one told them. $4 and more: the sources.
set -eu -o pipefail
if [[ -z $2 ]]; then
  echo "no nvcc was found: NOTHING WAS COMPARED"
  exit 0
fi
"$2" -std=c++17 -I. -cudart shared -gencode arch=compute_90,code=compute_90 -Wno-deprecated-declarations "${@:4}" \
  -o "$TEST_TMPDIR/programs"
gunzip -c "$3" > "$TEST_TMPDIR/genuine"
first=$(sed -n '1s/^program //p' "$TEST_TMPDIR/genuine")
programs=$(grep -c '^program ' "$TEST_TMPDIR/genuine")
"$1" run -- "$TEST_TMPDIR/programs" "$first" "$programs" > "$TEST_TMPDIR/ours" 2> "$TEST_TMPDIR/report"
# The first lines that differ, with what led to them.
diff --unified=4 "$TEST_TMPDIR/genuine" "$TEST_TMPDIR/ours" | head -40
