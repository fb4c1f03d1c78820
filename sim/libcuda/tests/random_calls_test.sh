#!/bin/bash
# A few seconds of random calls.
set -eu
random_calls=$PWD/$1
library=$PWD/$2
cd "$TEST_TMPDIR"
exec "$random_calls" "$library" 3
