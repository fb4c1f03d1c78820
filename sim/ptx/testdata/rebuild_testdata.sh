#!/bin/bash
# Makes the PTX in this folder from the CUDA C++ beside it. The tests need no nvcc: the PTX is
# committed. written.ptx is written by hand.
#
#   sim/ptx/testdata/rebuild_testdata.sh [NVCC]

set -euo pipefail

cd "$(dirname "$0")"
nvcc="${1:-nvcc}"

# compile NAME OUTPUT OPTIONS...
compile() {
  local name="$1" output="$2"
  shift 2
  # Debug information holds the directory of the compilation: not one of this machine.
  cp "${name}.cu" /tmp
  (cd /tmp && "${nvcc}" -ptx -w "$@" -o "${output}.ptx" "${name}.cu" && rm "${name}.cu")
  # Line information names files by their full path, with time and size.
  sed -E 's|^([[:space:]]*\.file[[:space:]]+[0-9]+) "([^"]*/)?([^"/]*)".*|\1 "\3"|' \
    "/tmp/${output}.ptx" > "${output}.ptx"
  rm "/tmp/${output}.ptx"
}

compile reduce reduce_sm_90 -arch=sm_90 -O3
compile async async_sm_90 -arch=sm_90 -std=c++17
compile atomics atomics_sm_75_lines -arch=sm_75 -lineinfo
compile atomics atomics_sm_90 -arch=sm_90 -O3
compile calls calls_sm_90_separate -arch=sm_90 -rdc=true
compile numbers numbers_sm_90 -arch=sm_90 -O3
compile inline inline_sm_80 -arch=sm_80 -O3
compile debug debug_sm_80 -arch=sm_80 -G

# image NAME OPTIONS...
image() {
  local name="$1"
  shift
  "${nvcc}" -fatbin "$@" -o "image_${name}.fatbin" image.cu
}

readonly targets=(-gencode arch=compute_75,code=compute_75 -gencode arch=compute_80,code=compute_80
                  -gencode arch=compute_90a,code=compute_90a)
image plain "${targets[@]}" --compress-mode=none
image lz4 "${targets[@]}" --compress-mode=speed
image zstd "${targets[@]}" --compress-mode=size
image default "${targets[@]}" -gencode arch=compute_86,code=sm_86
image all "${targets[@]}" -Xfatbin -compress-all
image machine_code -gencode arch=compute_90,code=sm_90 --compress-mode=size
image newest -gencode arch=compute_100,code=compute_100 -gencode arch=compute_75,code=sm_75 \
  --compress-mode=size
image newer_ptx -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90 \
  -gencode arch=compute_120,code=compute_120 -gencode arch=compute_100,code=compute_100 \
  --compress-mode=size
"${nvcc}" -cubin -arch=sm_90 -o image.cubin image.cu
