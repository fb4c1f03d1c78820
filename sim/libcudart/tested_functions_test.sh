#!/bin/bash
# Each function that is modelled is named in a test that is built without nvcc, outside of comments
# and declarations. $1: runtime.md. Then: the sources of those tests.
set -eu
document=$1
shift
modelled=$(sed -nE 's/^\| `(\w+)` \| modelled .*/\1/p' "$document" | sort)
named=$(sed -E 's@//.*@@; s/cudaError_t \w+\(//' "$@" | grep -oE '\b(__)?cuda\w+' | sort -u)
((${#modelled} > 0))
untested=$(comm -23 <(echo "$modelled") <(echo "$named"))
[[ -z $untested ]] || { echo "No test calls these:"; echo "$untested"; exit 1; }
