#!/bin/bash
# What the runtime refuses is named in the report of the run, once each. $1: the tool. $2: refused_program.
set -u
"$1" run -- "$2" 2>"$TEST_TMPDIR/report" || exit 1
for text in "cudaGLSetGLDevice was called" "__cudaRegisterUnifiedTable was called" \
  "no module of the program registered" "device code cannot be linked: .*Missing" \
  "kernels that launch kernels" "compile it with PTX, .*clang++ --cuda-include-ptx=all"; do
  [[ $(grep -c "$text" "$TEST_TMPDIR/report") == 1 ]] || {
    echo "not once: $text"
    cat "$TEST_TMPDIR/report"
    exit 1
  }
done
