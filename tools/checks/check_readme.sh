#!/bin/bash
# The example in the README is tools/examples/first_mapping.cc, which is compiled and run as a test.
set -eu
cd "$(dirname "$0")/../.."
if ! diff <(awk '/^```cpp$/ { f = 1; next } /^```$/ { if (f) exit } f' README.md) tools/examples/first_mapping.cc; then
  echo "README.md: its first C++ example differs from tools/examples/first_mapping.cc (above: < README): make them the same"
  exit 1
fi
