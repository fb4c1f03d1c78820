#!/bin/bash
# Self-test of check_loads.sh: plants rules with and without their load into a small tree.
set -eu
check=$(cd "$(dirname "$0")" && pwd)/check_loads.sh
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root/third_party/debian/rules_shell"
failures=0

# expect WORDS FILE LINE...: the check reports one line with WORDS for FILE of these lines; none: it passes.
expect() {
  local output
  printf '%s\n' "${@:3}" > "$root/$2"
  output=$("$check" "$root") || true
  rm "$root/$2"
  [[ -z $1 && -z $output ]] && return
  [[ -n $1 && $output == "$2:"*"$1"* && $output != *$'\n'* ]] && return
  echo "FAIL: $2: expected \"$1\", got: $output"
  failures=$((failures + 1))
}

expect '' BUILD.bazel 'load("@rules_cc//cc:cc_library.bzl", "cc_library")' 'cc_library('
expect '' BUILD.bazel 'load(' '    ":x.bzl",' '    "cc_test",' ')' '[cc_test(name = n) for n in []]'
expect '' x.bzl 'def cc_library(name):' '    my_cc_library(name)' '# cc_test()'
expect '' third_party/debian/rules_shell/x.bzl 'native.sh_test()'
expect 'load("@rules_cc//cc:cc_test.bzl", "cc_test")' BUILD.bazel \
  'load("@rules_cc//cc:cc_library.bzl", "cc_library")' 'cc_library()' '[cc_test(name = n) for n in []]'
expect '1: sh_test is not loaded: load("@rules_shell//shell:sh_test.bzl", "sh_test")' BUILD 'sh_test('
expect '2: cc_binary is not loaded' x.bzl 'def f():' '    native.cc_binary('
expect '1: cc_import is not loaded' x.BUILD 'cc_import('

((failures == 0)) && echo 'check_loads_test: passed'
