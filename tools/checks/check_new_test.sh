#!/bin/bash
# What `twinmmu new-test` lays out builds and passes, with Bazel, and with CMake where that is installed.
# Usage: check_new_test.sh [bazel|cmake]...
set -eu
cd "$(dirname "$0")/../.."
source=$PWD
builds=("$@")
if ((!$#)); then
  builds=(bazel)
  ! command -v cmake > /dev/null || [[ ! -e CMakeLists.txt ]] || builds+=(cmake)
fi

tools/bazel build //tools:twinmmu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for build in "${builds[@]}"; do
  bazel-bin/tools/twinmmu new-test "$folder/$build" --build="$build" --source="$source"
  cd "$folder/$build"
  if [[ $build == bazel ]]; then
    "$source/tools/bazel" --max_idle_secs=60 test --symlink_prefix=/ //...
  else
    cmake -B build
    cmake --build build --parallel "$(nproc)"
    ctest --test-dir build --output-on-failure
  fi
  cd "$source"
done
