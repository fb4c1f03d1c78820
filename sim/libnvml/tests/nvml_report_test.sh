#!/bin/bash
# `twinmmu run` gives NVML to programs, and the report names what it refuses, once. $1: the tool. $2: nvml_program.
set -u
"$1" run --sim-devices=3 -- "$2" >"$TEST_TMPDIR/output" 2>"$TEST_TMPDIR/report"
code=$?
complain() {
  echo "FAILED: $1"
  cat "$TEST_TMPDIR/output" "$TEST_TMPDIR/report"
  exit 1
}
[[ $code == 0 ]] || complain "exit code $code"
grep -qx "3 devices" "$TEST_TMPDIR/output" || complain "not the machine of the settings"
[[ $(grep -c "nvmlDeviceGetPowerUsage was called" "$TEST_TMPDIR/report") == 1 ]] || complain "not named once"
