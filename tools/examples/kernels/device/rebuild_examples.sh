#!/bin/bash
# Makes the committed PTX from the CUDA C++ beside it.
#
#   tools/examples/kernels/device/rebuild_examples.sh [NVCC]
#   tools/examples/kernels/device/rebuild_examples.sh --check [NVCC]
#
# --check compares instead. Without the version of nvcc that is named below it says so and succeeds:
# the PTX is committed so that no one needs a CUDA toolkit.
set -euo pipefail

readonly VERSION=13.0.88

check=false
if [[ "${1:-}" == --check ]]; then
  check=true
  shift
fi
nvcc="${1:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}"
if ! "${nvcc}" --version 2>/dev/null | grep -q "V${VERSION}\$"; then
  echo "no nvcc ${VERSION}: not rebuilt"
  "${check}" && exit 0
  exit 1
fi

# Not resolved through links: under `bazel test` each file is a link of its own, and this one is
# beside device/.
cd "$(dirname "$0")"
[[ ! -d device ]] || cd device
output="$(mktemp -d)"
trap 'rm -rf "${output}"' EXIT
failed=0
for source in *.cu; do
  name="${source%.cu}"
  # Without its heading, which says only what made it, and without the objects of headers, which
  # nothing uses: their names have the path of the source, hashed.
  "${nvcc}" -ptx -arch=sm_90a -std=c++17 -O3 -o "${output}/${name}.ptx" "${source}"
  sed -i -e '/^\/\//d' -e '/^\.global .*_INTERNAL_/d' "${output}/${name}.ptx"
  if ! "${check}"; then
    cp "${output}/${name}.ptx" "${name}.ptx"
  elif ! diff -u "${name}.ptx" "${output}/${name}.ptx"; then
    echo "${name}.ptx is not what nvcc ${VERSION} makes of ${source}: run rebuild_examples.sh"
    failed=1
  fi
done
exit "${failed}"
