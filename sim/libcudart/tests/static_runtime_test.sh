#!/bin/bash
# The static runtime defines what the shared one exports, and nothing else; a program that it is linked into runs, and
# asks for no runtime. $1: the library. $2: runtime_exports.inc. $3: static_program. $4: the simulated driver.
set -u
failed=0
complain() {
  echo "FAILED: $1"
  failed=1
}

nm -g --defined-only "$1" | awk 'NF == 3 { print $3 }' | LC_ALL=C sort > "$TEST_TMPDIR/defined"
sed -nE 's/^TWINMMU_CUDART_(FORWARD|MODELLED|VERSIONED|REFUSED)\([0-9]+, 13, ([^)"]*).*/\2/p' "$2" |
  grep -oE '(__)?cuda[A-Z][A-Za-z0-9_]*' | grep -vxE 'cudaError_t|cudaChannelFormatDesc' | LC_ALL=C sort -u > "$TEST_TMPDIR/listed"
(($(wc -l < "$TEST_TMPDIR/listed") > 200)) || complain "no list of functions"
diff "$TEST_TMPDIR/listed" "$TEST_TMPDIR/defined" || complain "other symbols than expected (above: < expected)"

! readelf -d "$3" | grep -q 'NEEDED.*libcudart' || complain "the program needs a shared runtime"
output=$(LD_LIBRARY_PATH=$PWD/${4%/*} "$3") || complain "exit code $?"
[[ $output == passed ]] || complain "it printed: $output"
exit $failed
