#!/bin/bash
# CMake's list of sources is what the BUILD files say, and what CMake downloads has the versions of MODULE.bazel.
# Usage: check_cmake.sh [FILE], to check FILE instead of cmake/sources.cmake.
set -eu
file=$(realpath "${1:-$(dirname "$0")/../../cmake/sources.cmake}")
cd "$(dirname "$0")/../.."
bad=0

fresh=$(mktemp)
trap 'rm -f "$fresh"' EXIT
cmake/write_sources.sh "$fresh"
if ! diff "$file" "$fresh"; then
  echo "cmake/sources.cmake differs from the BUILD files (above: < file, > BUILD files): run cmake/write_sources.sh"
  bad=1
fi

# same MODULE URL: the version that follows URL in dependencies.cmake is that of MODULE in MODULE.bazel.
same() {
  local module cmake
  module=$(sed -nE "s/.*\"$1\".* version = \"([0-9.]*[0-9])(\.bcr.*)?\".*/\1/p" MODULE.bazel)
  cmake=$(sed -nE "s|.*$2/archive/refs/tags/v?(.*)\.tar\.gz.*|\1|p" cmake/fetch.cmake)
  [[ $module == "$cmake" ]] && return
  echo "cmake/fetch.cmake: $2 '$cmake', but $1 '$module' in MODULE.bazel: make them the same"
  bad=1
}
if [[ -e MODULE.bazel ]]; then
  same abseil-cpp abseil/abseil-cpp
  same googletest google/googletest
  same lz4 lz4/lz4
  same nlohmann_json nlohmann/json
  same zstd facebook/zstd
fi
exit $bad
