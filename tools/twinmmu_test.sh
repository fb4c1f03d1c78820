#!/bin/bash
# The tool as a user meets it: exit codes and the words that matter. $1: the binary.
set -u
twinmmu=$1
failed=0

# expect CODE TEXT ARGUMENT...: the exit code, and a text that the output holds.
expect() {
  local code=$1 text=$2
  shift 2
  local output
  output=$("$twinmmu" "$@" 2>&1)
  local got=$?
  if [[ $got != "$code" || $output != *"$text"* ]]; then
    echo "FAILED: twinmmu $*: exit code $got (expected $code), expected text: $text"
    echo "$output" | tail -n 20
    failed=1
  fi
}

# With addresses that are mere numbers, as all are under the thread sanitizer. (sim_profiles_test has the whole suite.)
expect 0 "Every verdict is as expected." conformance --backend=sim,cuda_on_sim --profile=full-address-space --filter='*/cuMem*.*'
expect 0 "cuda_on_sim: " conformance --backend=cuda_on_sim --profile=strict --sim-devices=3 --filter='*/peers.*:*/cuMemUnmap.*'
expect 2 'there is no profile "b200"' conformance --backend=cuda_on_sim --profile=b200
expect 0 " rules: 6 holds, " conformance --backend=cuda_on_sim,cuda --filter='*/devices.*'
expect 0 "2 targets" conformance --backend=sim,cuda --driver=/nonexistent.so --filter='*/devices.*'
expect 0 "no hardware for" conformance --backend=sim,cuda --driver=/nonexistent.so --filter='*/devices.*'
expect 1 "hardware is required" conformance --backend=sim,cuda --driver=/nonexistent.so --require-hardware --filter='*/devices.*'
expect 1 "Nothing was tested" conformance --backend=cuda --driver=/nonexistent.so
expect 1 "no test was selected" conformance --filter=nothing
expect 1 "Nothing was tested" conformance --gtest_list_tests
expect 2 "cannot write" conformance --xml=/proc/nope/report.xml
expect 1 "Could not write" conformance --filter='*MAP_1_*' --markdown=/proc/nope/table.md
expect 2 "from 0 to 15" conformance --sim-devices=16
expect 2 "from 0 to 15" info --backend=sim --sim-devices=2000000000
expect 0 "no hardware for" conformance --sim_devices=1 --filter='*/peers.*:*/devices.*'
expect 0 "1 holds, 3 no hardware" conformance --shared-devices --filter='*/cuMemGetInfo.*'
expect 2 'there is no backend "rocm"' conformance --backend=rocm
expect 2 "names one backend twice" conformance --backend=sim,sim
expect 0 "VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED" info --backend=sim
expect 2 'there is no profile "b200"; there are reference, strict' info --backend=sim --profile=b200
expect 0 "1 holds" conformance --stream-policy=deferred --filter='*.FAULT_5_*'
expect 0 "1 holds" conformance --stream-policy=seeded:18446744073709551615 --filter='*.FAULT_5_*'
expect 2 "--stream-policy=lazy: it is eager, deferred" conformance --stream-policy=lazy
expect 2 "--stream-policy=seeded:x: it is" conformance --stream-policy=seeded:x
expect 2 "--alias-policy=fresh: it is coherent, stale" conformance --alias-policy=fresh
expect 2 "--alias-policy=random:x: it is" info --backend=sim --alias-policy=random:x
expect 2 "--stream-policy=deferred:1: it is" info --backend=sim --stream-policy=deferred:1
expect 0 "5 holds, 1 unsupported" conformance --profile=no-vmm --filter='*/devices.*'
echo '{"base": "strict", "devices": 3}' > "$TEST_TMPDIR/three.json"
expect 0 "devices: 3" info --backend=sim --profile="$TEST_TMPDIR/three.json"
echo '{"devices": 3, "quirks": {"fast": true}}' > "$TEST_TMPDIR/wrong.json"
expect 2 "wrong.json: profile: quirks.fast: there is no such key" conformance --profile="$TEST_TMPDIR/wrong.json"
expect 0 "sim: seeds 7-8, 40 calls, 0 differences in " random --seeds=7-8 --calls=20
expect 0 "sim: seeds 3-3, 5 calls, 0 differences" random --seeds=3 --calls=5 --profile=strict
expect 2 "not of the form FIRST-LAST" random --seeds=9-8
last=18446744073709551615
expect 0 "sim: seeds 18446744073709551614-$last, 10 calls" random --seeds=18446744073709551614-$last --calls=5
expect 2 "--calls=0 would compare nothing" random --calls=0
expect 2 "no virtual memory management" random --profile=no-vmm
expect 2 'there is no backend "rocm"' random --backend=rocm
expect 1 "twinmmu: " random --backend=cuda --driver=/nonexistent.so
expect 0 "sim: seeds 7-8, 1500 steps, " soak --seed=7 --steps=1500
expect 0 "memory returned to its start" soak --seed=2 --steps=500 --stream-policy=deferred
expect 0 "cuda_on_sim: seeds 1-1, 300 steps, " soak --backend=cuda_on_sim --steps=300
expect 0 "free memory was not compared" soak --steps=100 --shared-devices
expect 2 "minutes must be 0 or more" soak --minutes=-1
expect 2 'there is no backend "rocm"' soak --backend=rocm
expect 1 "twinmmu: " soak --backend=cuda --driver=/nonexistent.so
expect 0 " deviate; 0 not as recorded" deviations
expect 0 "sim: 0 of " deviations --profile=strict
expect 1 "cuda: no driver" deviations --backend=cuda --driver=/nonexistent.so
expect 2 'there is no backend "rocm"' deviations --backend=rocm
expect 1 "no driver" info --driver=/nonexistent.so
expect 2 "there are conformance, info" frobnicate
expect 2 "did you mean conformance?" conformanse
expect 2 "Usage: twinmmu COMMAND"
expect 0 "Usage: twinmmu COMMAND" --help
expect 0 "twinmmu 0." --version
expect 2 "did you mean --backend?" info --bakend=sim
expect 2 "did you mean strict?" info --backend=sim --profile=strikt
expect 2 "did you mean cuda?" info --backend=cudda
expect 2 "random takes no --xml; it is a flag of conformance, record." random --xml=x
for command in conformance info doctor run random soak deviations litmus ptx record replay compare new-test completion manual; do
  expect 0 "Usage: twinmmu $command" $command --help
done
expect 0 "What works" doctor
expect 0 "complete -o default -F _twinmmu twinmmu" completion bash
expect 2 "there is no completion for" completion tcsh
expect 0 ".TH TWINMMU 1" manual

is_json() { ! command -v python3 > /dev/null || python3 -c 'import json, sys; json.loads(sys.argv[1])' "$1"; }
# json WORDS ARGUMENT...: --json prints one JSON value, and nothing else, with this text in it.
json() {
  local text=$1 output
  shift
  output=$("$twinmmu" "$@" --json 2>/dev/null)
  if ! is_json "$output" || [[ $output != *"$text"* ]]; then
    echo "FAILED: twinmmu $* --json: expected JSON with $text"
    echo "$output" | tail -n 20
    failed=1
  fi
}
json '"holds": 1' conformance --filter='*/devices.DEV_1_*'
json '"error": "no driver' info --backend=sim,cuda --driver=/nonexistent.so
json '"backend": "sim"' info --backend=sim
json '"calls": 20' random --seeds=7 --calls=20
json '"steps": 100' soak --steps=100
json '"as_recorded": true' deviations
json '"simulator_works": true' doctor

# --quiet says nothing where all is as expected, and what is wrong where it is not.
quiet=$("$twinmmu" conformance --filter='*/devices.*' --quiet 2>&1)$("$twinmmu" random --seeds=1 --calls=10 --quiet 2>&1)
[[ -z $quiet ]] || { echo "FAILED: --quiet prints: $quiet"; failed=1; }
expect 1 "no test was selected" conformance --filter=nothing --quiet

# On a terminal the table fits, and has colour unless NO_COLOR is set; in a pipe it is as ever.
terminal() { COLUMNS=100 script -qec "'$twinmmu' conformance --filter='*/devices.*' 2>/dev/null" /dev/null | tr -d '\r'; }
if command -v script > /dev/null; then
  longest=$(NO_COLOR=1 terminal | sed -n '/^rule /,/^$/p' | wc -L)
  ((longest > 60 && longest <= 100)) || { echo "FAILED: the table is $longest wide"; failed=1; }
  [[ $(terminal) == *$'\e[32mholds'* ]] || { echo "FAILED: no colour"; failed=1; }
  [[ $(NO_COLOR=1 terminal) != *$'\e[32m'* ]] || { echo "FAILED: colour with NO_COLOR"; failed=1; }
fi
[[ $("$twinmmu" conformance --filter='*/devices.*' 2>&1) != *$'\e'* ]] || { echo "FAILED: colour in a pipe"; failed=1; }

# What cannot be written is noticed.
expect 1 "Could not write /dev/full" conformance --filter='*/devices.*' --xml=/dev/full
expect 1 "Could not write /dev/full" conformance --filter='*/devices.*' --markdown=/dev/full
expect 2 "cannot write /dev/full" random --seeds=1 --calls=10 --json=/dev/full
"$twinmmu" info --backend=sim > /dev/full 2> "$TEST_TMPDIR/stderr"
[[ $? == 1 ]] && grep -q "could not write all output" "$TEST_TMPDIR/stderr" || { echo "FAILED: a full disk is not noticed"; failed=1; }
(ulimit -f 0; "$twinmmu" info --backend=sim > "$TEST_TMPDIR/output")
[[ $? == 1 ]] || { echo "FAILED: a file that may not grow is not noticed"; failed=1; }
(trap '' PIPE; sleep 0.5; "$twinmmu" info --backend=sim 2> "$TEST_TMPDIR/stderr"; echo $? > "$TEST_TMPDIR/code") | true
[[ $(cat "$TEST_TMPDIR/code") == 1 ]] || { echo "FAILED: a closed pipe is not noticed"; failed=1; }

# What is recorded comes out the same when it is played, and compares with itself.
map="$TEST_TMPDIR/map.jsonl"
expect 0 "Every verdict is as expected." record --out="$map" --filter='*/cuMemMap.*' --profile=full-address-space
expect 0 " 0 differences" replay "$map"
expect 0 "0 sections differ" compare "$map" "$map"
expect 0 "" record --program="$map" --out="$TEST_TMPDIR/again.jsonl.zst" --profile=full-address-space
expect 0 "0 sections differ" compare "$map" "$TEST_TMPDIR/again.jsonl.zst"
expect 0 "seeds 1-2, 60 random calls" record --program=random --seeds=1-2 --calls=30 --out="$TEST_TMPDIR/random.jsonl.zst" --profile=full-address-space
expect 0 "2 sections" replay "$TEST_TMPDIR/random.jsonl.zst"
expect 0 "seeds $last-$last, 5 random calls" record --program=random --seeds=$last --calls=5 --out="$TEST_TMPDIR/last.jsonl"
expect 0 "Every verdict is as expected." record --out="$TEST_TMPDIR/strict.jsonl" --filter='*/cuMemMap.*' --profile=strict
expect 1 "MAP-10 (cuMemMap): " compare "$map" "$TEST_TMPDIR/strict.jsonl"
sed 's/"code":"CUDA_ERROR_NOT_SUPPORTED"/"code":"CUDA_SUCCESS"/' "$map" > "$TEST_TMPDIR/edited.jsonl"
expect 1 "code differs" replay "$TEST_TMPDIR/edited.jsonl"
expect 2 "record needs --out=FILE" record
# A file of calls may be recorded onto itself, and what cannot be recorded leaves the old one alone.
cp "$map" "$TEST_TMPDIR/own.jsonl"
expect 0 "" record --program="$TEST_TMPDIR/own.jsonl" --out="$TEST_TMPDIR/own.jsonl" --profile=full-address-space
expect 0 "0 sections differ" compare "$map" "$TEST_TMPDIR/own.jsonl"
expect 1 "" record --backend=cuda --driver=/nonexistent.so --out="$TEST_TMPDIR/own.jsonl"
expect 1 "" record --backend=cuda --driver=/nonexistent.so --program=random --out="$TEST_TMPDIR/own.jsonl"
expect 0 "0 sections differ" compare "$map" "$TEST_TMPDIR/own.jsonl"
expect 1 "cannot write /proc/nope" record --out=/proc/nope/x.jsonl
expect 2 "record takes one --backend" record --backend=sim,cuda --out="$TEST_TMPDIR/x.jsonl"
expect 1 "cannot read /nonexistent" record --program=/nonexistent --out="$TEST_TMPDIR/x.jsonl"
expect 2 "replay needs the name" replay
expect 1 "cannot read /nonexistent" replay /nonexistent
printf '{"recording":1,"devices":[{"name":5}],"driver_version":"x"}\n{"section":7,"rule":3}\n{"end":1,"verdict":2}\n' > "$TEST_TMPDIR/odd.jsonl"
expect 0 "0 sections differ" compare "$TEST_TMPDIR/odd.jsonl" "$TEST_TMPDIR/odd.jsonl"
expect 1 "does not tell the machine" replay "$TEST_TMPDIR/odd.jsonl"
echo '{"recording":1}' > "$TEST_TMPDIR/empty.jsonl"
expect 1 "there is nothing in it" replay "$TEST_TMPDIR/empty.jsonl"
# One driver answers alike on two machines, of one device and of two. RUN-5 alone lets it do either of
# two things: a kernel that runs may fault at once, or not, when it may no longer store.
recordings=conformance/recordings
answers=$("$twinmmu" compare "$recordings/h200_suite.jsonl.zst" "$recordings/two_h200_suite.jsonl.zst")
others=$(grep -E '^[A-Z]+-[0-9]+ ' <<< "$answers" | grep -v '^RUN-5 ')
if [[ $answers != *" sections differ"* || -n $others ]]; then
  echo "FAILED: the recordings of one H200 and of two differ: $others"
  failed=1
fi
json '"differences": []' compare "$map" "$map"
json '"differences": []' replay "$map"
expect 2 "compare needs the names of two" compare "$map"
expect 2 "cannot read /nonexistent" compare "$map" /nonexistent
expect 2 'conformance takes no argument "now"' conformance now

# Litmus tests: the sample as it says, a wrong verdict, a line that cannot be read.
litmus=sim/coherence/testdata/alias_litmus.jsonl
expect 0 "65 tests: 65 as the file says, 0 differ, 0 could not be read" litmus "$litmus"
expect 0 "A fence.proxy.alias would do: in P0 after instruction 1 and before instruction 2." litmus "$litmus"
grep '"own-CoWR-fence"' "$litmus" | sed 's/forbidden/allowed/' > "$TEST_TMPDIR/wrong.jsonl"
expect 1 "DIFFERS: the file says allowed" litmus "$TEST_TMPDIR/wrong.jsonl"
echo '{"name": "odd", "threads": [["jump x"]], "assert": {"cond": "x == 1"}}' > "$TEST_TMPDIR/odd_litmus.jsonl"
expect 1 "odd_litmus.jsonl:1: odd: P0 \"jump x\": unknown: instruction jump" litmus "$TEST_TMPDIR/odd_litmus.jsonl"
expect 2 "litmus needs files" litmus
# The same as kernels on the simulated machine, and through the simulated driver; a machine of one
# device has no room for two GPUs.
expect 0 "played 65, skipped 0, 0 wrong" litmus "$litmus" --play --sim-devices=2 --rounds=32
expect 0 "played 65, skipped 0, 0 wrong" litmus "$litmus" --backend=cuda_on_sim --sim-devices=2 --strict-multicast --rounds=32
expect 0 "played 56, skipped 9, 0 wrong" litmus "$litmus" --backend=cuda_on_sim --sim-devices=1 --rounds=32
expect 0 "32 rounds in" litmus "$litmus" --play --rounds=32 --profile=strict
expect 2 'there is no backend "rocm"' litmus "$litmus" --backend=rocm
expect 2 "cannot read /nonexistent" litmus /nonexistent
expect 2 "it is a folder" litmus "$TEST_TMPDIR"
json '"hazard": ' litmus "$litmus"

# Device code: all kernels run, or one needs what is not covered.
expect 0 "kernels run" ptx kernels/access.ptx
printf '.version 8.0\n.target sm_90\n.address_size 64\n.entry k() {\n tcgen05.wait::ld.sync.aligned;\n ret;\n}\n' > "$TEST_TMPDIR/lacking.ptx"
expect 1 "needs    \`tcgen05.wait::ld.sync.aligned\`: it is not supported (k, line 5)" ptx "$TEST_TMPDIR/lacking.ptx"
expect 2 "ptx needs files" ptx
expect 2 "cannot read /nonexistent" ptx /nonexistent
json '"runs":' ptx kernels/access.ptx

# A baseline pins the verdicts: one of them changed by hand is the one difference.
baseline="$TEST_TMPDIR/baseline.txt"
expect 0 "Every verdict is as expected." conformance --filter='*/cuMemUnmap.*' --write-baseline="$baseline"
expect 0 "Every verdict is as the baseline says." conformance --filter='*/cuMemUnmap.*' --baseline="$baseline"
sed -i 's/^sim UNMAP-3 .*/sim UNMAP-3 unrecorded here/' "$baseline"
expect 1 'sim UNMAP-3 is "holds"; the baseline says "unrecorded here"' conformance --filter='*/cuMemUnmap.*' --baseline="$baseline"
expect 1 "Could not read" conformance --filter='*/cuMemUnmap.*' --baseline=/nonexistent
expect 1 "Could not write" conformance --filter='*MAP_1_*' --write-baseline=/proc/nope/baseline.txt

"$twinmmu" conformance --filter='*/cuMemMap.*' --xml="$TEST_TMPDIR/report.xml" --markdown="$TEST_TMPDIR/table.md" >/dev/null
grep -q '<testcase name="MAP_1_' "$TEST_TMPDIR/report.xml" || { echo "FAILED: no JUnit report"; failed=1; }
grep -q '^| MAP-1 | .* | CUDA Driver API, cuMemMap | holds |$' "$TEST_TMPDIR/table.md" || { echo "FAILED: no Markdown table"; failed=1; }
exit $failed
