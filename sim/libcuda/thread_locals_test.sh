#!/bin/bash
# Each thread-local variable of the library has a place of its own. A linker can lose the name of one
# with internal linkage: then it lies where the first of all does. $1: libcuda.so.1.
if readelf -rW "$1" | grep 'TPOFF64.*<null>'; then
  echo "FAILED: a thread-local variable without a name"
  exit 1
fi
readelf -rW "$1" | grep -q TPOFF64 || { echo "FAILED: there are none"; exit 1; }
