#!/bin/bash
# The record of a run and its views, as a user meets them. $1: the tool. $2: run_subject.
set -u
twinmmu=$1
subject=$2
unset LD_LIBRARY_PATH
folder=$(mktemp -d "${TEST_TMPDIR:-/tmp}/events_test.XXXXXX")
export TMPDIR=$folder/tmp
mkdir "$TMPDIR"
failed=0

complain() {
  echo "FAILED: $1"
  tail -n 20 "$folder/output"
  failed=1
}
# expect CODE TEXT ARGUMENT...: the exit code of `twinmmu ARGUMENT...`, and a text in its output.
expect() {
  local code=$1 text=$2
  shift 2
  "$twinmmu" "$@" >"$folder/output" 2>&1
  local got=$?
  [[ $got == "$code" ]] || complain "$*: exit code $got, expected $code"
  [[ -z $text ]] || grep -qF -- "$text" "$folder/output" || complain "$*: expected text: $text"
}
has() { grep -qF -- "$2" "$1" || complain "$1 has no $2"; }

# --- All views of a run at once

expect 0 "leak: kLeakedMapping" run --record="$folder/leak.events" --trace="$folder/trace.json" \
  --html="$folder/page.html" --svg="$folder/drawing.svg" --snapshot="$folder/memory.pickle" \
  --flamegraph="$folder/bytes.folded" --sarif="$folder/misuse.sarif" \
  --junit="$folder/misuse.xml" --annotations -- "$subject" leak
has "$folder/page.html" "leak_a_mapping"
has "$folder/drawing.svg" "2 MiB reserved"
has "$folder/output" "::error title=kLeakedMapping"
has "$folder/trace.json" '"name":"reserved 2 MiB"'
has "$folder/trace.json" '"cat":"mapping"'
has "$folder/trace.json" 'leak_a_mapping'
has "$folder/bytes.folded" 'left;'
grep -q '^left;.*main.*;leak_a_mapping;create.* 2097152$' "$folder/bytes.folded" || complain "no stack of a leak"
has "$folder/misuse.sarif" '"ruleId": "kLeakedMapping"'
has "$folder/misuse.xml" '<failure message='
[[ $(head -c 2 "$folder/memory.pickle" | od -An -tx1) == " 80 02" ]] || complain "no pickle of protocol 2"
[[ -z $(ls "$TMPDIR") ]] || complain "something is left in TMPDIR"

# --- The same later

expect 0 "" view "$folder/leak.events" --trace="$folder/later.json" --sarif="$folder/later.sarif"
cmp -s "$folder/trace.json" "$folder/later.json" || complain "the trace is another one later"
has "$folder/later.sarif" '"ruleId": "kLeakedMapping"'
expect 0 "mappings" view "$folder/leak.events"
expect 0 '"kind": "mapping"' view "$folder/leak.events" --json

# --- Two runs

expect 0 "" run --quiet --record="$folder/fine.events" -- "$subject" fine
expect 0 "+2 MiB" view "$folder/fine.events" "$folder/leak.events"
expect 2 "view needs a record" view "$folder/fine.events" "$folder/leak.events" --trace="$folder/no.json"
expect 2 "view needs a record" view

# --- Processes that end in other ways

expect 137 "did not end normally" run --record="$folder/killed.events" -- "$subject" kill
expect 0 "allocation" view "$folder/killed.events"
expect 0 "" run --record="$folder/many.events" -- bash -c 'for i in {1..100}; do "$0" leak; done' "$subject"
expect 0 "200 MiB" view "$folder/many.events"

# --- A full disk: what fits is kept, the program goes on, and the rest is told of

if unshare -rm true 2>/dev/null; then
  library_of=$folder/driver
  mkdir "$library_of" "$folder/tiny" "$folder/kept"
  "$twinmmu" run -- bash -c 'cp "${LD_LIBRARY_PATH%%:*}"/lib* '"$library_of" 2>"$folder/output"
  unshare -rm bash -c 'mount -t tmpfs -o size=64k none "$1/tiny" || exit 9
    LD_LIBRARY_PATH=$1/driver TWINMMU_RECORD=$1/tiny "$2" churn || exit 8
    cp "$1/tiny"/* "$1/kept"' - "$folder" "$subject" >"$folder/output" 2>&1 ||
    complain "a full disk ends the program"
  expect 0 "events found no room" view "$folder/kept"

  # In a view, in its middle where it is more than a page: the reason, and what was there before.
  mkdir "$folder/much"
  for i in {1..40}; do cp "$(echo "$folder"/kept/events.*)" "$folder/much/events.$i.1"; done
  for view in html trace snapshot svg flamegraph sarif junit; do
    case $view in html | trace | snapshot) free=1 ;; *) free=0 ;; esac
    unshare -rm bash -c 'mount -t tmpfs -o size=64k none "$1/tiny" || exit 9
      echo before >"$1/tiny/view"
      head -c $(((15 - $4) * 4096)) /dev/zero >"$1/tiny/other"
      "$2" view "$1/much" --$3="$1/tiny/view"
      echo "exit code $?, $(ls "$1/tiny" | wc -l) files, $(cat "$1/tiny/view")"' - \
      "$folder" "$twinmmu" $view $free >"$folder/output" 2>&1
    has "$folder/output" "cannot write $folder/tiny/view: No space left on device"
    has "$folder/output" "exit code 2, 2 files, before"
  done
else
  echo "Skipped: no small disk can be mounted here."
fi

# --- Bad records

head -c 200 "$folder/leak.events" >"$folder/cut.events"
expect 0 "cut" view "$folder/cut.events"
printf '\x07' | dd of="$folder/fine.events" bs=1 seek=8 conv=notrunc status=none
expect 2 "it has version 7 of the format, and this tool reads version 1" view "$folder/fine.events"
expect 2 "is no record of events" view "$folder/trace.json"
expect 2 "cannot write /no/such/folder" run --trace=/no/such/folder/trace.json -- "$subject" fine
grep -q "ended with" "$folder/output" && complain "the program ran all the same"
expect 2 "cannot write /dev/full" run --trace=/dev/full -- "$subject" fine
expect 2 "cannot write /dev/full" run --record=/dev/full -- "$subject" fine
expect 2 "cannot write /dev/full" view "$folder/leak.events" --flamegraph=/dev/full

# --- Options

expect 0 "" run --quiet --stack-depth=1 --flamegraph="$folder/flat.folded" -- "$subject" leak
grep -qE '^left;create[^;]* 2097152$' "$folder/flat.folded" || complain "a stack of more than the call"
expect 2 "--stack-depth" run --stack-depth=many --record="$folder/x" -- "$subject" fine
expect 2 "--stack-depth=65" run --stack-depth=65 --record="$folder/x" -- "$subject" fine

# --- Without the tool

library=$folder/library
mkdir "$library" "$folder/own"
"$twinmmu" run -- bash -c 'cp "${LD_LIBRARY_PATH%%:*}"/lib* '"$library" 2>"$folder/output"
LD_LIBRARY_PATH=$library TWINMMU_RECORD=$folder/own "$subject" leak
expect 0 "mappings" view "$folder/own"
LD_LIBRARY_PATH=$library TWINMMU_RECORD=/no/such/folder "$subject" leak ||
  complain "a record that cannot be written ends the program"

rm -rf "$folder"
exit $failed
