#!/bin/bash
# `twinmmu run` as a user meets it. $1: the tool. $2: run_subject, a program that behaves badly.
set -u
twinmmu=$1
subject=$2
# The build may have given another folder, where the program would find a driver without the tool.
unset LD_LIBRARY_PATH
# A sanitizer must not come between a signal and the program that it ends.
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:handle_segv=0:handle_abort=0
export TSAN_OPTIONS=${TSAN_OPTIONS:-}:handle_segv=0:handle_abort=0
folder=$(mktemp -d "${TEST_TMPDIR:-/tmp}/run_test.XXXXXX")
export TMPDIR=$folder/tmp
mkdir "$TMPDIR"
failed=0

complain() {
  echo "FAILED: $1"
  tail -n 40 "$folder/stderr"
  failed=1
}

# expect CODE TEXT ARGUMENT...: the exit code of `twinmmu run ARGUMENT...`, and a text on stderr.
expect() {
  local code=$1 text=$2
  shift 2
  "$twinmmu" run "$@" >"$folder/stdout" 2>"$folder/stderr"
  local got=$?
  if [[ $got != "$code" ]]; then complain "run $*: exit code $got, expected $code"; fi
  grep -qF -- "$text" "$folder/stderr" || complain "run $*: expected text: $text"
}
also() { grep -qF -- "$1" "$folder/stderr" || complain "expected text: $1"; }
never() { ! grep -qF -- "$1" "$folder/stderr" || complain "text: $1"; }

# --- How a program ends

expect 0 "0 errors, 0 warnings, 0 objects left, 0 injected failures" -- "$subject" fine
also "ended with exit code 0"
grep -qE "^cuMemUnmap +1 +0$" "$folder/stderr" || complain "no count of cuMemUnmap"
expect 0 "0 errors, 0 warnings, 2 objects left" -- "$subject" leak
also "leak: kLeakedMapping, 2 MiB"
also "made by: cuMemMap at leak_a_mapping"
never "perhaps it had no time"
expect 7 "ended with exit code 7" -- "$subject" fail
expect 134 "was ended by signal 6" -- "$subject" abort
expect 137 "was ended by signal 9" -- "$subject" kill
also "kUnmapOfUnreserved"
also "leak: kLeakedMapping"
also "perhaps it had no time to clean up"
expect 139 "was ended by signal 11" -- "$subject" segv
also "leak: kLeakedMapping, 2 times, 4 MiB"
expect 0 "leak: kLeakedMapping, 1000 times, 2000 MiB" -- "$subject" many
expect 0 "0 errors, 0 warnings, 2 objects left" -- "$subject" export
also "leak: kLeakedDescriptor, 2 times"
also "made by: cuMemExportToShareableHandle at export_one"
also "the first: descriptor "
expect 0 "0 objects left" -- "$subject" export_and_close
expect 137 "0 objects left" -- "$subject" export_and_kill

# --- What went wrong

expect 0 "error: kDoubleRelease (REL-4)" -- "$subject" twice
also "called at: main"
also "cuMemCreate created"
expect 0 "error: kUseBeforeInit" -- "$subject" early
expect 0 "0 errors, 0 warnings" -- "$subject" ask_early
expect 0 "0 errors, 0 warnings" -- "$subject" ask
also "Asked for and not found, 3 times, with the version asked for: cuNoSuchCall (12.0)."
expect 0 "error: kRuntimeNeedsGenuineDriver" -- "$subject" runtime
also "nvcc -cudart shared"
also "libtwinmmu_cudart13.a"
expect 0 "2 process(es) called the driver" -- "$subject" fork
also "error: kUseAfterFork"
expect 0 "leak: kLeakedMapping" -- "$subject" child
also "2 process(es) called the driver: 0 error(s), 0 warning(s), 2 object(s) left"
expect 0 "none of its processes called the simulated driver" -- "$subject" nothing

# --- Exit codes

expect 0 "1 error" -- "$subject" twice
expect 99 "1 error" --error-exitcode -- "$subject" twice
expect 42 "1 error" --error-exitcode=42 -- "$subject" twice
expect 99 "2 objects left" --error-exitcode -- "$subject" leak
expect 0 "0 objects left" --error-exitcode -- "$subject" fine
expect 7 "ended with exit code 7" --error-exitcode -- "$subject" fail
expect 2 "from 1 to 255" --error-exitcode=0 -- "$subject" fine
expect 127 "cannot run no-such-program: No such file" -- no-such-program
expect 126 "cannot run $folder: Permission denied" -- "$folder"
expect 2 "run which program?" --strict
expect 2 "cannot write /nonexistent/r.jsonl" --report=/nonexistent/r.jsonl -- "$subject" fine

# --- Quiet

"$twinmmu" run --quiet -- "$subject" fine 2>"$folder/stderr"
[[ ! -s $folder/stderr ]] || complain "--quiet and a report"
expect 0 "error: kDoubleRelease" --quiet -- "$subject" twice
expect 2 "cannot write /dev/full" --report=/dev/full -- "$subject" fine

# --- Settings

expect 3 "failed: 2" --fail cuMemMap:1:OUT_OF_MEMORY -- "$subject" leak
also "cuMemMap, call 1, gave CUDA_ERROR_OUT_OF_MEMORY at leak_a_mapping"
expect 3 "cuMemMap, call 1, gave CUDA_ERROR_NOT_PERMITTED" \
    --fail=cuMemUnmap:1:1 --fail cuMemMap:1:800 --fail='cuMemUnmap:2:1;cuMemUnmap:3:1' -- "$subject" leak
expect 2 'there is no call "cuMemMapp"' --fail=cuMemMapp:1:2 -- "$subject" fine
expect 3 "cuMemCreate(&handle, kSize, &properties, 0) failed: 2" --memory=1MiB -- "$subject" leak
expect 2 "TWINMMU_MEMORY=lots" --memory=lots -- "$subject" fine
expect 100 "0 errors" --sim-devices=0 -- "$subject" init
expect 2 'there is no profile "b200"' --profile=b200 -- "$subject" fine
expect 3 "failed: 801" --profile=no-vmm -- "$subject" leak
TWINMMU_DEVICES=0 expect 100 "0 errors" -- "$subject" init
TWINMMU_DEVICE=1 expect 0 "TWINMMU_DEVICE has no meaning" -- "$subject" fine

# --- The program's own input, output and signals

echo "through and through" | "$twinmmu" run -- "$subject" echo 2>"$folder/stderr" |
  grep -qx "through and through" || complain "stdin and stdout are not the program's"

# start MODE: runs the program until it says that it is ready. Sets tool and program.
start() {
  rm -f "$folder/stdout"
  "$twinmmu" run -- bash -c 'echo "$TWINMMU_RUN_FOLDER" >"$0"; exec "$@"' "$folder/run_folder" \
      "$subject" "$1" >"$folder/stdout" 2>"$folder/stderr" &
  tool=$!
  until grep -qs ready "$folder/stdout"; do sleep 0.05; done
  program=$(cat /proc/$tool/task/$tool/children)
  program=${program% }
}
# clean WHEN: nothing of the run that was started last is on the host, and its program is gone.
clean() {
  [[ -z $(ls "$TMPDIR") ]] || complain "something is left in TMPDIR $1"
  [[ ! -e $(cat "$folder/run_folder") ]] || complain "the reports are left $1"
  ! kill -0 "$program" 2>/dev/null || complain "the program runs on $1"
}

start wait
kill -TERM $tool
wait $tool
[[ $? == 5 ]] || complain "a signal is not handed on"
grep -qx "signal 15" "$folder/stdout" || complain "the program did not get the signal"

# Whatever ends a process ends the program, and then the tool as the program was ended.
# AddressSanitizer, where it is, would turn some of them into exit codes.
export ASAN_OPTIONS="${ASAN_OPTIONS-}:handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0"
for signal in HUP TERM USR1 USR2 ALRM VTALRM PROF IO PWR STKFLT XCPU XFSZ PIPE ABRT SEGV BUS FPE \
    ILL TRAP SYS RTMIN RTMAX; do
  start loop
  kill -$signal $tool
  wait $tool
  code=$?
  [[ $code == $((128 + $(kill -l $signal))) ]] || complain "exit code $code after SIG$signal"
  also "was ended by signal $(kill -l $signal)"
  clean "after SIG$signal"
done

# Nobody can catch this one: the program goes with the tool, and what is left with the next run.
start loop
kill -KILL $tool
wait $tool 2>/dev/null
for ((i = 0; i < 100; ++i)); do kill -0 "$program" 2>/dev/null || break; sleep 0.05; done
[[ -n $(ls "$TMPDIR") ]] || complain "SIGKILL was caught?"
expect 0 "0 errors" -- "$subject" fine
clean "after SIGKILL and another run"

# The folders of a run that goes on stay.
start loop
expect 0 "0 errors" -- "$subject" fine
[[ -e $(cat "$folder/run_folder") && -n $(ls "$TMPDIR") ]] || complain "a run took another's folders"
kill -TERM $tool
wait $tool
clean "after two runs at once"

# Killed in the middle of calls.
start loop
kill -KILL "$program"
wait $tool
[[ $? == 137 ]] || complain "a program that was killed has another exit code"
also "was ended by signal 9"
grep -qE "^cuMemMap +[1-9][0-9]* +0$" "$folder/stderr" || complain "no count of cuMemMap"

# A pipe that nobody reads any more.
mkfifo "$folder/pipe"
exec 8<>"$folder/pipe" 9>"$folder/pipe" 8>&-
"$twinmmu" run -- "$subject" fine 2>&9
[[ $? == 1 ]] || complain "a report that nobody reads has another exit code"
"$twinmmu" run --quiet -- "$subject" echo <<<"words" >&9 2>/dev/null
[[ $? == 141 ]] || complain "the program itself is not ended by its closed pipe"
"$twinmmu" doctor >&9
[[ $? == 1 ]] || complain "results that nobody reads have another exit code"
exec 9>&-
clean "after a closed pipe"

# --- Places

# The dynamic linker would take it for two folders, and a file cannot be written anywhere.
mkdir "$folder/a:b"
TMPDIR=$folder/a:b expect 0 "ended with exit code 0" -- "$subject" fine
words=$( (ulimit -f 0; "$twinmmu" run -- "$subject" fine) 2>&1)
[[ $? == 2 && $words == *"File too large (ulimit -f). Set TMPDIR to"* ]] || complain "a full place: $words"

# --- Files

expect 0 "kDoubleRelease" --report="$folder/r.jsonl" -- "$subject" twice
for text in '{"type":"process","pid":' '"kind":"kDoubleRelease"' '"symbol":"main"' \
    '"type":"calls"' '"ended":"ended with exit code 0"'; do
  grep -qF -- "$text" "$folder/r.jsonl" || complain "not in the file: $text"
done
tail -n 1 "$folder/r.jsonl" | grep -q '^{"type":"run",.*"exit_code":0,"processes":1,"errors":1' ||
  complain "the last line of the file"
[[ -z $(ls "$TMPDIR") ]] || complain "something is left in TMPDIR"

# Without the tool, by variables.
library=$folder/library
mkdir "$library"
"$twinmmu" run -- bash -c 'cp "${LD_LIBRARY_PATH%%:*}"/* '"$library" 2>"$folder/stderr"
[[ -e $library/libcuda.so.1 && -e $library/libcuda.so ]] || complain "the library is not there"
LD_LIBRARY_PATH=$library TWINMMU_REPORT=$folder/own.jsonl "$subject" twice 2>"$folder/stderr"
also "error: kDoubleRelease (REL-4)"
grep -q '"kind":"kDoubleRelease"' "$folder/own.jsonl" || complain "no report of its own"
words=$( (ulimit -f 0; LD_LIBRARY_PATH=$library TWINMMU_REPORT=$folder/full.jsonl "$subject" twice) 2>&1)
[[ $? == 0 ]] || complain "a report that may not be written ends the program"
[[ $words == *"cannot write $folder/full.jsonl: File too large"* ]] || complain "it is not said: $words"
LD_LIBRARY_PATH=$library TWINMMU_DEVICES=many "$subject" init 2>"$folder/stderr"
[[ $? == 1 ]] || complain "cuInit does not fail for a wrong variable"
also "TWINMMU_DEVICES=many: it is a number from 0 to 15"
LD_LIBRARY_PATH=$library "$subject" twice 2>"$folder/stderr"
[[ ! -s $folder/stderr ]] || complain "a report that nobody asked for"

rm -rf "$folder"
exit $failed
