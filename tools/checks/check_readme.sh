#!/bin/bash
# The C++ examples of the documents are those that are compiled and run as tests: the first of the
# README is tools/examples/first_mapping.cc, each of docs/guide/testing.md stands, line for line, in
# tools/examples/allocate_test.cc, and each of docs/guide/sharing.md in tools/examples/share_memory.cc.
set -eu
cd "$(dirname "$0")/../.."
failed=0
if ! diff <(awk '/^```cpp$/ { f = 1; next } /^```$/ { if (f) exit } f' README.md) tools/examples/first_mapping.cc; then
  echo "README.md: its first C++ example differs from tools/examples/first_mapping.cc (above: < README): make them the same"
  failed=1
fi
# check_examples DOCUMENT SOURCE
check_examples() {
  awk -v document="$1" -v source="$2" '
NR == FNR { code = code "\n" $0; next }
/^```cpp$/ { inside = 1; example = ""; start = FNR; next }
/^```$/ && inside {
  inside = 0
  if (index(code "\n", example "\n")) next
  printf "%s:%d: this example is not in %s: make them the same\n", document, start, source
  bad = 1
}
inside { example = example "\n" $0 }
END { exit bad }' "$2" "$1" || failed=1
}
check_examples docs/guide/testing.md tools/examples/allocate_test.cc
check_examples docs/guide/sharing.md tools/examples/share_memory.cc
exit $failed
