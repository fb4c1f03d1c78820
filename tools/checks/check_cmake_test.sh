#!/bin/bash
# Self-test of check_cmake.sh: a list of sources that lacks a file, or has one too many, is reported.
set -eu
cd "$(dirname "$0")/../.."
list=$(mktemp)
trap 'rm -f "$list"' EXIT
failures=0

caught() {  # WORDS: the list is reported, with the line of these words.
  if output=$(tools/checks/check_cmake.sh "$list") || [[ $output != *"$1"* ]]; then
    echo "FAIL: expected a report of '$1', got: $output"
    failures=$((failures + 1))
  fi
}

grep -v '^  sim/simulator[.]cc$' cmake/sources.cmake > "$list"
caught '>   sim/simulator.cc'
sed 's|^  sim/simulator[.]cc$|&\n  sim/gone.cc|' cmake/sources.cmake > "$list"
caught '<   sim/gone.cc'

((failures == 0)) && echo "check_cmake_test: passed"
