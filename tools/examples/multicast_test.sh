#!/bin/bash
# $1: a program. $2: the same without a fence that it needs. $3: what the first one prints.
set -u
"$1" 2>"$TEST_TMPDIR/report" | diff "$3" - && [[ ! -s $TEST_TMPDIR/report ]] || {
  cat "$TEST_TMPDIR/report"
  exit 1
}
wrong=$("$2" 2>&1)
if [[ $? != 1 || $wrong != *kMissingAliasFence* || $wrong == *", 0 are wrong"* ]]; then
  echo "without the fence:"
  echo "$wrong"
  exit 1
fi
