#!/bin/bash
# What the report of a run tells of the runtime. $1: the tool. $2: refused_program. $3: one_place_program.
# $4: ended_contexts_program.
set -u
report=$TEST_TMPDIR/report
# Its lines that match each pattern are one.
tells_once() {
  for text in "$@"; do
    [[ $(grep -c "$text" "$report") == 1 ]] || {
      echo "not once: $text"
      cat "$report"
      exit 1
    }
  done
}

# What is refused is named, once each.
"$1" run -- "$2" 2>"$report" || exit 1
tells_once "cudaGLSetGLDevice was called" "__cudaRegisterUnifiedTable was called" \
  "a kernel was .* that no module of the program registered" \
  "a variable was .* that no module of the program registered" "a thread ended after <<<" "device code cannot be linked: .*Missing" \
  "kernels that launch kernels" "compile it with PTX, .*clang++ --cuda-include-ptx=all"

# So is a call that needs a device, where there is none.
"$1" run --sim-devices=0 -- "$3" 2>"$report" && exit 1
tells_once "needs a device, and the program sees none"

# Each function by its name, if one place calls several.
"$1" run -- "$3" 2>"$report" || exit 1
tells_once "made by: cudaMalloc at" "made by: cudaMallocHost at"

# Contexts that ended are told of where a call failed, not where the runtime found another one; what
# the runtime asks by itself is not told of.
"$1" run -- "$4" 2>"$report" || exit 1
tells_once "^error: " "^error: kUseOfDeadContext" "called at: .*, by cudaMemGetInfo"
# Where it finds none, the report has the call that failed.
fail=cuDevicePrimaryCtxRetain
"$1" run --fail=$fail:2:OUT_OF_MEMORY --fail=$fail:3:OUT_OF_MEMORY -- "$4" 2>"$report" && exit 1
tells_once "^error: " "^error: kUseOfDeadContext, cuMemAlloc$" "called at: .*, by cudaMalloc$"
