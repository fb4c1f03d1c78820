#!/bin/bash
# The pages in a real browser. Usage: browser_test.sh MADE_VIEW BROWSER_TEST VERDICTS
set -eu
made_view=$1 test=$2 verdicts=$3
if ! command -v python3 > /dev/null; then
  echo "Skipped: there is no python3."
  exit 0
fi
folder=$(mktemp -d "${TEST_TMPDIR:-/tmp}/pages.XXXXXX")
trap 'rm -rf "$folder"' EXIT
for name in growth fragmentation sleep crash many hostile random empty; do
  "$made_view" $name "$folder/$name.html"
done
cp "$verdicts" "$folder"
PYTHONDONTWRITEBYTECODE=1 python3 "$test" "$folder"
