#!/bin/bash
# $1: a program. $2: what it prints, on the machine's own driver.
set -eu -o pipefail
"$1" | diff "$2" -
