#!/bin/bash
# Which small changes of the sources of api/, backend/ and sim/ does no test notice?
#
#   tools/checks/mutate.sh                                       # 1,000 of them, always the same
#   tools/checks/mutate.sh --count=100 --seed=7 --files=sim/mmu
#   tools/checks/mutate.sh --operators=lock --tests=linearizability --seconds=300
#
# tools/mutation/run.py says what is done, and tools/mutation/mutants.py which changes there are. The
# sources are changed in place meanwhile: nothing in api/, backend/ and sim/ may be uncommitted.
set -eu
cd "$(dirname "$0")/../.."
exec python3 -B tools/mutation/run.py "$@"
