#!/bin/bash
# A few seconds of random calls; a process that hangs is ended after a minute, and named.
set -eu
random_calls=$PWD/$1
library=$PWD/$2
cd "$TEST_TMPDIR"
exec "$random_calls" "$library" 3
