#!/bin/bash
# Makes the committed PTX from the CUDA C++ beside it.
#
#   kernels/rebuild_kernels.sh [NVCC]           writes kernels/*.ptx
#   kernels/rebuild_kernels.sh --check [NVCC]   compares with them instead, and writes nothing
#
# The text depends on the compiler's version, so only the one named below is used. Without it,
# --check says so and succeeds: the PTX is committed so that no one needs a CUDA toolkit.
# The text is compared byte for byte. It holds the compiler's version, but no path and no time: no
# line information is asked for, and no symbol is local to a file (nvcc hashes the path into those).

set -euo pipefail

readonly VERSION=13.0.88
readonly SOURCES=(access alias alias_pair fill_verify orders)

# The path of nvcc $VERSION: the one given, else $NVCC, else from PATH, else the usual place.
find_nvcc() {
  local candidate
  for candidate in "$1" "${NVCC:-}" "$(command -v nvcc || true)" /usr/local/cuda/bin/nvcc; do
    if [[ -x "${candidate}" ]] && "${candidate}" --version | grep -q "V${VERSION}\$"; then
      echo "${candidate}"
      return
    fi
  done
}

check=false
if [[ "${1:-}" == --check ]]; then
  check=true
  shift
fi
nvcc="$(find_nvcc "${1:-}")"
if [[ -z "${nvcc}" ]]; then
  echo "no nvcc ${VERSION}: not rebuilt"
  "${check}" && exit 0
  exit 1
fi

# Not resolved through links: under `bazel test` each file is a link of its own.
cd "$(dirname "$0")/.."
output="$(mktemp -d)"
trap 'rm -rf "${output}"' EXIT
failed=0
for name in "${SOURCES[@]}"; do
  # compute_75 is the oldest that this nvcc takes; a driver compiles it for every later GPU.
  "${nvcc}" -ptx -arch=compute_75 -std=c++17 -O3 -I. -o "${output}/${name}.ptx" \
    "kernels/${name}.cu"
  # nvcc writes the newest PTX version, which only its own driver and later ones take. The text
  # needs no more than 7.5 (fence.proxy.alias), which drivers since CUDA 11.5 take.
  sed -i 's/^\.version 9\.0$/.version 7.5/' "${output}/${name}.ptx"
  if ! "${check}"; then
    cp "${output}/${name}.ptx" "kernels/${name}.ptx"
    echo "wrote kernels/${name}.ptx"
  elif diff -u "kernels/${name}.ptx" "${output}/${name}.ptx"; then
    echo "kernels/${name}.ptx is what nvcc ${VERSION} makes of kernels/${name}.cu"
  else
    echo "kernels/${name}.ptx is not what nvcc ${VERSION} makes of it: run kernels/rebuild_kernels.sh"
    failed=1
  fi
done
exit "${failed}"
