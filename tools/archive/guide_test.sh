#!/bin/bash
# The commands of docs/guide/continuous-integration.md, on a small project; where a job needs a GPU, the simulated driver
# serves. $1: the archive. $2: the guide.
set -u
archive=$PWD/$1 guide=$PWD/$2
folder=$(mktemp -d "${TEST_TMPDIR:-/tmp}/guide_test.XXXXXX")
mkdir -p "$folder/project/ci" "$folder/temp" "$folder/unpacked"
cd "$folder/project" || exit 1
failed=0
complain() {
  echo "FAILED: $1"
  failed=1
}

# --- The project of a user

cp "$archive" ci/
tar -xf "$archive" -C "$folder/unpacked" --strip-components=1
cat > pool_test.c <<'END'
#include <cuda.h>
#include <stdlib.h>
int main(void) {
  CUdeviceptr base = 0;
  if (cuInit(0) != CUDA_SUCCESS) return 1;
  if (cuMemAddressReserve(&base, 2 << 20, 0, 0, 0) != CUDA_SUCCESS) return 1;
  if (getenv("LEAK") != NULL) return 0;
  return cuMemAddressFree(base, 2 << 20) != CUDA_SUCCESS;
}
END
echo "cc -g -I$folder/unpacked/include/twinmmu pool_test.c -L$folder/unpacked/lib/twinmmu -l:libcuda.so.1 -o pool_test" > build.sh
echo "./pool_test" > run_tests.sh
sed -i '1i #!/bin/sh' build.sh run_tests.sh
chmod +x build.sh run_tests.sh

# --- What the guide says to run

# A file for each step: step_01, ... A step of GitHub is what stands below "run: |", of GitLab an item of a script.
awk '
function next_step() { step = sprintf("step_%02d", ++steps) }
/^```yaml$/ { inside = 1; next }
/^```$/ { inside = script = run = 0; next }
!inside { if (/^    twinmmu /) { next_step(); print > step } next }
{ match($0, /^ */); depth = RLENGTH }
/^ *run: \|$/ { run = depth; next_step(); next }
/^ *(after_)?script:$/ { script = depth + 1; next }
run && depth <= run { run = 0 }
script && depth < script { script = 0 }
run { print > step }
script { next_step(); sub(/^ *- /, ""); print > step }' "$guide"

export RUNNER_TEMP=$folder/temp GITHUB_PATH=$folder/path GITHUB_STEP_SUMMARY=$folder/summary.md
touch "$GITHUB_PATH"
# run STEP: as a job does it, in a shell that stops at the first error. A part of the suite is enough here.
run() {
  sed -i "s/--backend=cuda/& --filter=*.MAP_*/" "$1"
  PATH=$(tr '\n' : < "$GITHUB_PATH")$PATH LD_LIBRARY_PATH=$folder/unpacked/lib/twinmmu bash -eu "$1" > "$1.out" 2>&1
}
for step in step_*; do
  run "$step" || complain "exit code $?:
$(cat "$step")
--- its output:
$(tail -n 20 "$step.out")"
done
steps=(step_*)
((${#steps[@]} >= 15)) || complain "only ${#steps[@]} steps were found in the guide"

# --- The same when the tests leave something behind

export LEAK=1
tests=$(grep -l 'twinmmu run .*--report' step_?? | head -n 1)
run "$tests"
[[ $? == 99 ]] || complain "a leak does not fail the job"
run "$(grep -l 'format=github' step_??)"
grep -q '^::error file=pool_test.c,line=6,title=kLeakedReservation::' "$(grep -l 'format=github' step_??).out" ||
  complain "no annotation for GitHub: $(cat "$(grep -l 'format=github' step_??).out")"
for format in gitlab junit; do run "$(grep -l "format=$format" step_??)"; done
grep -q '"path": "pool_test.c"' gl-code-quality-report.json || complain "no entry for GitLab: $(cat gl-code-quality-report.json)"
grep -q 'failures="1"' misuse.xml || complain "no failure for JUnit: $(cat misuse.xml)"
exit $failed
