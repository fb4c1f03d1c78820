#!/bin/bash
# $1: the tool. $2: a program with a bug. $3: its exit code. $4: what the report says of the bug.
# The others: with what options.
set -u
report=$("$1" run --error-exitcode "${@:5}" -- "$2" 2>&1 >/dev/null)
code=$?
if [[ $code != "$3" || $report != *"$4"* ]]; then
  echo "exit code $code (expected $3), expected text: $4"
  echo "$report"
  exit 1
fi
