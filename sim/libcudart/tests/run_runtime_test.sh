#!/bin/bash
# $1, $2: our runtime and the simulated driver. Then: a program, which passes with them.
set -eu
export LD_LIBRARY_PATH="$PWD/${1%/*}:$PWD/${2%/*}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
exec "./$3" "${@:4}"
