#!/bin/bash
# Self-test of check_layers.sh: plants each kind of violation into a small tree and sees it reported.
set -eu
check=$(cd "$(dirname "$0")" && pwd)/check_layers.sh
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
cd "$root"
failures=0

plant() {  # FILE INCLUDE: makes FILE with the include on line 2.
  mkdir -p "$(dirname "$1")"
  printf '// A file.\n#include %s\n' "$2" > "$1"
}

allowed() {
  plant "$1" "$2"
  if ! output=$("$check" "$root"); then
    echo "FAIL: $1 may include $2, but: $output"
    failures=$((failures + 1))
  fi
  rm "$1"
}

caught() {  # FILE INCLUDE WORDS
  plant "$1" "$2"
  if output=$("$check" "$root"); then
    echo "FAIL: not caught: $1 includes $2"
    failures=$((failures + 1))
  elif [[ $output != "$1:2: "*"$3"* || $output == *$'\n'* ]]; then
    echo "FAIL: $1 includes $2: expected one line '$1:2: ...$3...', got: $output"
    failures=$((failures + 1))
  fi
  rm "$1"
}

mkdir api
allowed api/x.h '"api/y.h"'
allowed api/x.h '"absl/status/status.h"'
allowed api/x.h '<vector>'
allowed sim/x_test.cc '"absl/container/flat_hash_map.h"'
allowed backend/x.cc '"third_party/cuda_abi/x.h"'
allowed backend/x.cc '"api/x.h"'
allowed sim/x.cc '"api/x.h"'
allowed sim/libcuda/x.cc '"third_party/cuda_abi/x.h"'
allowed kernels/x.cc '"api/x.h"'
allowed conformance/x.cc '"kernels/x.h"'
allowed conformance/instances/x.cc '"backend/x.h"'
allowed conformance/instances/x.cc '"sim/x.h"'
allowed conformance/mutants/x.cc '"sim/x.h"'
allowed conformance/litmus/x.cc '"sim/x.h"'
allowed conformance/framework/x.cc '"conformance/rules/x.h"'
allowed conformance/fixtures/x.h '"conformance/framework/x.h"'
allowed conformance/tests/x/x_rules.cc '"conformance/fixtures/x.h"'
allowed conformance/abi/x.cc '"third_party/cuda_abi/x.h"'
allowed tools/x.cc '"sim/x.h"'
allowed third_party/cuda_abi/cuda_h_test.cc '"cuda.h"'
allowed third_party/cuda_abi/cuda_h_test.cc '<cuda.h>'
allowed third_party/cuda_abi/cuda_header_facts.cc '<cuda.h>'
allowed tools/examples/x.c '<cuda.h>'
allowed tools/run/testdata/x.c '<cuda.h>'
allowed conformance/runtime/x.h '<cuda_runtime.h>'
allowed tools/example_workspace/x.cc '"x.h"'
allowed tools/new_test/template/x.cc '"x.h"'

allowed sim/mmu/x.cc '"sim/memory/x.h"'
allowed sim/mmu/x.cc '"sim/mmu/y.h"'
allowed sim/mmu/x_test.cc '"sim/calls/vmm/x.h"'
allowed sim/testing/x.h '"sim/simulator.h"'
allowed sim/simulator.cc '"sim/calls/vmm/x.h"'
allowed sim/libcuda/x.cc '"sim/simulator.h"'
allowed sim/coherence/litmus/x.cc '"sim/coherence/monitor/x.h"'

caught sim/memory/x.cc '"sim/mmu/x.h"' 'room sim/memory/ includes "sim/mmu/x.h"'
caught sim/mmu/x.h '"sim/streams/x.h"' 'room sim/mmu/ includes'
caught sim/ptx/run/x.cc '"sim/ptx/decode/x.h"' 'room sim/ptx/run/ includes'
caught sim/base/x.h '"sim/simulator.h"' 'room sim/base/ includes'
caught sim/calls/arrays/x.cc '"sim/libcuda/x.h"' 'room sim/calls/arrays/ includes'
caught sim/coherence/model/x.cc '"sim/coherence/litmus/x.h"' 'room sim/coherence/model/ includes'

for folder in backend sim conformance kernels; do
  caught api/x.h "\"$folder/x.h\"" 'may include api/ only'
done
caught api/x.h '"third_party/cuda_abi/x.h"' 'may include api/ only'
caught api/testing/x.h '"sim/x.h"' 'may include api/ only'
caught backend/x.cc '"sim/x.h"' 'backend/ includes "sim/x.h"'
caught backend/x.cc '"kernels/x.h"' 'backend/ includes'
caught backend/x.cc '"conformance/x.h"' 'backend/ includes'
caught sim/x.cc '"backend/x.h"' 'sim/ includes "backend/x.h"'
caught sim/x.cc '"kernels/x.h"' 'sim/ includes'
caught sim/x.cc '"third_party/cuda_abi/x.h"' 'only in sim/libcuda/'
caught sim/libcuda/x.cc '"backend/x.h"' 'sim/ includes'
caught kernels/x.cc '"sim/x.h"' 'kernels/ includes'
caught kernels/x.cu '"conformance/x.h"' 'kernels/ includes'
caught conformance/x.cc '"backend/x.h"' 'only in conformance/instances/'
caught conformance/x.inc '"sim/x.h"' 'only in conformance/instances/'
caught conformance/mutants/x.cc '"backend/x.h"' 'conformance/, kernels/, api/ and sim/'
caught conformance/litmus/x.cc '"backend/x.h"' 'conformance/litmus/, api/ and sim/ only'
caught conformance/litmus/x.cc '"conformance/x.h"' 'conformance/litmus/, api/ and sim/ only'
caught conformance/rules/rules.h '"conformance/framework/x.h"' 'conformance/rules/ and api/ only'
caught conformance/framework/x.h '"conformance/fixtures/x.h"' 'conformance/framework/, conformance/rules/ and api/ only'
caught conformance/framework/x.h '"sim/x.h"' 'conformance/framework/, conformance/rules/ and api/ only'
caught conformance/fixtures/x.h '"conformance/runner.h"' 'conformance/fixtures/, framework/'
caught conformance/tests/x/x_rules.cc '"conformance/tests/y/y.h"' 'conformance/fixtures/, framework/'
caught conformance/tests/x/x_rules.cc '"sim/x.h"' 'conformance/fixtures/, framework/'
caught conformance/abi/x.cc '"sim/x.h"' 'conformance/abi/ and third_party/cuda_abi/ only'
caught conformance/abi/x.cc '"conformance/x.h"' 'conformance/abi/ and third_party/cuda_abi/ only'
for folder in api backend sim conformance conformance/instances kernels third_party/cuda_abi; do
  caught $folder/x.cc '"tools/x.h"' 'includes "tools/x.h"'
done
caught third_party/cuda_abi/x.h '"api/x.h"' 'third_party/cuda_abi/ includes'
for folder in api backend sim conformance kernels tools third_party/cuda_abi; do
  caught $folder/x.cc '<cuda.h>' "CUDA's cuda.h"
done
caught tools/x.cc '<cuda_runtime.h>' "CUDA's cuda_runtime.h"
caught sim/x.h '"absl/container/flat_hash_map.h"' 'do not link into libcuda.so.1'
caught api/x.cc '"absl/container/node_hash_set.h"' 'do not link into libcuda.so.1'
caught api/x.h '"y.h"' 'relative include'
caught sim/x.h '"../backend/y.h"' 'relative include'
caught sim/x.h '  <cuda.h>  // no' "CUDA's cuda.h"

{ yes '//' || true; } 2>/dev/null | head -n 300 > api/long.h
"$check" "$root" || { echo "FAIL: 300 lines are allowed"; failures=$((failures + 1)); }
echo '//' >> api/long.h
if output=$("$check" "$root") || [[ $output != "api/long.h:301: public header of 301 lines"* ]]; then
  echo "FAIL: a header of 301 lines: $output"
  failures=$((failures + 1))
fi

rm api/long.h

mkdir sim/wide
touch sim/wide/{1..40}.txt
"$check" "$root" || { echo "FAIL: 40 files are allowed"; failures=$((failures + 1)); }
touch sim/wide/BUILD.bazel
if output=$("$check" "$root") || [[ $output != "sim/wide/: 41 files: at most 40."* ]]; then
  echo "FAIL: a folder of 41 files: $output"
  failures=$((failures + 1))
fi

((failures == 0)) && echo "check_layers_test: passed"
