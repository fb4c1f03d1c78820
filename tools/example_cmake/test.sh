#!/bin/bash
# Builds and tests this project in each way of docs/guide/cmake.md, without network and without leaving anything behind.
# TwinMMU itself is built once: as a subdirectory of this project, which then installs it for the other ways.
# Last it is linked as shared libraries. Usage: test.sh [options of cmake]
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix="$work/a prefix"
export CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}

build_and_test() {  # FOLDER [options of cmake]
  local folder=$1
  shift
  cmake -S . -B "$folder" "$@"
  cmake --build "$folder"
  (cd "$folder" && ctest --output-on-failure --no-tests=error)
}

echo "== add_subdirectory"
build_and_test "$work/a build" -DTWINMMU_SOURCE_DIR="$(cd ../.. && pwd)" -DTWINMMU_INSTALL=ON "$@"
cmake --install "$work/a build" --prefix "$prefix"

echo "== find_package"
build_and_test "$work/installed" -DCMAKE_PREFIX_PATH="$prefix" "$@"

echo "== pkg-config"
pc=$(find "$prefix" -name twinmmu-sim.pc)
export PKG_CONFIG_PATH=${pc%/*}
flags=$(pkg-config --cflags --libs twinmmu-allocators twinmmu-backend twinmmu-testing twinmmu-sim gmock_main)
eval "${CXX:-g++} -std=c++17 ../new_test/template/toy_allocator_test.cc -o '$work/toy' $flags"
"$work/toy"

# Each installed header can be included, and so whatever it includes is installed.
(cd "$prefix/include/twinmmu" && find . -name '*.h' | LC_ALL=C sort | sed 's|^\./\(.*\)|#include "\1"|') > "$work/headers.cc"
eval "${CXX:-g++} -std=c++17 -fsyntax-only '$work/headers.cc' $(pkg-config --cflags twinmmu-testing twinmmu-sim)"

echo "== shared libraries"
build_and_test "$work/a build" -DBUILD_SHARED_LIBS=ON "$@"
