#!/bin/bash
# $1: the tool. Then: a program, which passes with our runtime on the simulated driver.
set -eu
"$1" run -- "${@:2}" 2>"$TEST_TMPDIR/report" || {
  code=$?
  cat "$TEST_TMPDIR/report"
  exit $code
}
