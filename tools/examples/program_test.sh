#!/bin/bash
# $1: the tool. $2: a program. $3: what it prints. With every order in which the work of streams may
# run, and as the documentation has it, nothing changes.
set -eu -o pipefail
for options in --stream-policy=eager --stream-policy=deferred --stream-policy=seeded:7 --strict --race-check; do
  "$1" run --error-exitcode $options -- "$2" 2>"$TEST_TMPDIR/report" | diff "$3" - || {
    echo "with $options:"
    cat "$TEST_TMPDIR/report"
    exit 1
  }
done
