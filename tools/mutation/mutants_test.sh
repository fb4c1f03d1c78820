#!/bin/bash
# Runs the tests in Python of the changes that tools/checks/mutate.sh makes.
set -eu
if ! command -v python3 > /dev/null; then
  echo "skipped: there is no python3"
  exit 0
fi
exec python3 -B "$1"
