#!/bin/bash
# What nvcc makes of a program: with our shared runtime and with our static one it prints what a GPU printed, and its
# twin with a bug is reported.
# $1: the tool. $2: nvcc, or empty. $3: our static runtime. $4: what the program prints. $5: the exit code with the bug.
# $6: what the report says of it. $7 and more: options of nvcc and sources. A source *_plugin.cu becomes two libraries,
# which the program is given as arguments.
set -eu -o pipefail
tool=$PWD/$1 nvcc=$2 static=$3 golden=$4 wrong_code=$5 bug=$6
shift 6
if [[ -z $nvcc ]]; then
  echo "no nvcc was found: NOTHING WAS COMPILED"
  exit 0
fi
cd "$TEST_SRCDIR/$TEST_WORKSPACE"
plugin= sources=()
for source; do
  [[ $source == *_plugin.cu ]] && plugin=$source || sources+=("$source")
done

compile() { "$nvcc" -std=c++17 -I. -gencode arch=compute_90,code=compute_90 "$@"; }

# Leaves the program and its libraries in a folder.
build() {  # FOLDER OPTION...
  local folder=$1
  shift
  mkdir -p "$folder"
  compile "$@" "${sources[@]}" -o "$folder/program"
  [[ -n $plugin ]] || return 0
  for number in 1 2; do
    compile "$@" -DPLUGIN=$number -shared -Xcompiler -fPIC "$plugin" -o "$folder/plugin$number.so"
  done
}

run() {  # FOLDER
  local libraries=()
  [[ -z $plugin ]] || libraries=("$1/plugin1.so" "$1/plugin2.so")
  "$tool" run --error-exitcode -- "$1/program" "${libraries[@]}"
}

fail() {
  echo "$@"
  cat "$TEST_TMPDIR/report"
  exit 1
}

runtimes=("-cudart shared")
# Not where each library would have a runtime of its own, and where nvcc then leaves out device linking.
[[ -n $plugin || " $* " == *" -rdc=true "* ]] || runtimes+=("-cudart none $static")
for runtime in "${runtimes[@]}"; do
  build "$TEST_TMPDIR/right" $runtime
  run "$TEST_TMPDIR/right" 2>"$TEST_TMPDIR/report" | diff "$golden" - || fail "with $runtime"
done
build "$TEST_TMPDIR/wrong" -cudart shared -DPLANTED_BUG
run "$TEST_TMPDIR/wrong" >/dev/null 2>"$TEST_TMPDIR/report" && code=0 || code=$?
[[ $code == "$wrong_code" ]] || fail "the wrong program ended with exit code $code, not $wrong_code"
grep -qF -- "$bug" "$TEST_TMPDIR/report" || fail "the report does not say: $bug"
