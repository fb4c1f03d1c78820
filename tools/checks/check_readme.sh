#!/bin/bash
# The C++ examples of the documents are those that are compiled and run as tests: the first of the
# README is tools/examples/first_mapping.cc, and each of docs/testing.md stands, line for line, in
# tools/examples/allocate_test.cc.
set -eu
cd "$(dirname "$0")/../.."
failed=0
if ! diff <(awk '/^```cpp$/ { f = 1; next } /^```$/ { if (f) exit } f' README.md) tools/examples/first_mapping.cc; then
  echo "README.md: its first C++ example differs from tools/examples/first_mapping.cc (above: < README): make them the same"
  failed=1
fi
awk '
NR == FNR { code = code "\n" $0; next }
/^```cpp$/ { inside = 1; example = ""; start = FNR; next }
/^```$/ && inside {
  inside = 0
  if (index(code "\n", example "\n")) next
  printf "docs/testing.md:%d: this example is not in tools/examples/allocate_test.cc: make them the same\n", start
  bad = 1
}
inside { example = example "\n" $0 }
END { exit bad }' tools/examples/allocate_test.cc docs/testing.md || failed=1
exit $failed
