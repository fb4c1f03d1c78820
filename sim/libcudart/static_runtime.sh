#!/bin/bash
# Makes a static library of one object, which defines what the version script has, and nothing else that a program could
# see. Usage: static_runtime.sh OUTPUT VERSION_SCRIPT LIBRARY...
set -eu -o pipefail
output=$(realpath -m "$1") script=$2
shift 2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
sed -n 's/^    \(.*\);$/\1/p' "$script" > "$folder/kept"
[[ -s $folder/kept ]]
# Inline functions are no longer merged with the program's, which could leave none.
ld -r --force-group-allocation --whole-archive "$@" -o "$folder/runtime.o"
# Symbols that are unique in a process are made ordinary first, or they would stay visible. objcopy takes no empty list.
nm "$folder/runtime.o" | awk '$2 == "u" { print $3 } END { print "none" }' > "$folder/unique"
objcopy --weaken-symbols="$folder/unique" "$folder/runtime.o"
objcopy --keep-global-symbols="$folder/kept" "$folder/runtime.o"
strip --strip-unneeded "$folder/runtime.o"
cd "$folder"
ar rcD library.a runtime.o
mv library.a "$output"
