#!/bin/bash
# Checks that the headers say in words which compiler, Abseil or GoogleTest is too old.
set -eu
cd "$(dirname "$0")/../.."
fakes=$(mktemp -d)
trap 'rm -rf "$fakes"' EXIT
failures=0

# expect WORDS HEADER OPTION...: compiling HEADER says WORDS; none: it compiles.
expect() {
  local output
  output=$(g++ -std=c++17 -I. "${@:3}" -x c++ -fsyntax-only -include "$2" /dev/null 2>&1) || true
  [[ -z $1 && -z $output ]] && return
  [[ -n $1 && $output == *"$1"* ]] && return
  printf 'FAIL: %s %s: expected "%s", got:\n%s\n' "$2" "${*:3}" "$1" "${output:0:2000}"
  failures=$((failures + 1))
}

mkdir -p "$fakes"/{absl/absl/base,googletest/gmock,googletest/gtest}
echo '#define ABSL_LTS_RELEASE_VERSION 20211102' > "$fakes/absl/absl/base/config.h"
touch "$fakes"/googletest/{gmock/gmock.h,gtest/gtest.h}

expect '' api/requirements.h
expect '' api/testing/googletest.h
for header in address attributes driver_error vmm; do
  expect 'needs C++17. Compile all of the program with -std=c++17' "api/$header.h" -std=c++14
done
expect 'needs Abseil 20220623 or newer' api/requirements.h -I"$fakes/absl"
expect 'needs GoogleTest 1.12 or newer' api/testing/googletest.h -I"$fakes/googletest"

((failures == 0)) && echo 'check_requirements: passed'
