#!/bin/bash
# A difference from the reference on a machine that nobody recorded: shown with its messages and
# counted, and a failure only where that is asked for. $1: the suite on such a machine.
set -u
failed=0

# expect CODE TEXT ARGUMENT...: the exit code, and a text that the output holds.
expect() {
  local code=$1 text=$2
  shift 2
  local output got
  output=$("$suite" "$@" 2>&1)
  got=$?
  if [[ $got != "$code" || $output != *"$text"* ]]; then
    echo "FAILED: exit code $got (expected $code), expected text: $text"
    echo "$output" | tail -n 30
    failed=1
  fi
}

suite=$1
expect 0 "Differs from the reference: new/cuMemUnmap.UNMAP_8_RefusesAHole"
expect 0 "Value of: vmm().Unmap(range)"
expect 0 "it differs from the reference in 2 verdicts"
expect 0 "2 unrecorded here, 0 FAILED"
expect 1 'the reference is required, and 2 verdicts are "unrecorded here"' --strict
exit $failed
