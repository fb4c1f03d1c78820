#!/bin/bash
# The tool and the library where the host gives little: as another user than root, with low limits,
# on file systems that are full or read-only, and killed in any order. Each ends with words that say
# what happened, and leaves nothing. $1: the tool. $2: run_subject, a program that behaves badly.
set -u
if [[ ${TWINMMU_OWN_MOUNTS-} != yes ]]; then
  # File systems that only this test sees, with the rights of root or as one's own.
  export TWINMMU_OWN_MOUNTS=yes
  for rights in "" -r; do
    unshare $rights -m true 2>/dev/null && exec unshare $rights -m bash "$0" "$@"
  done
  echo "This host permits no mounts: file systems that are full or read-only are left out."
  exec env TWINMMU_OWN_MOUNTS=yes NO_MOUNTS=yes bash "$0" "$@"
fi

unset LD_LIBRARY_PATH
# Nobody has this number: limits of processes count those of a user.
as_user=()
setpriv --reuid=54321 --regid=54321 --clear-groups true 2>/dev/null &&
  as_user=(setpriv --reuid=54321 --regid=54321 --clear-groups)
for root in "${TEST_TMPDIR:-/tmp}" /tmp /var/tmp; do
  "${as_user[@]}" test -x "$root" && break
done
memory=  # what is there may be others'
if [[ -z ${NO_MOUNTS-} ]]; then
  memory=/dev/shm
  mount --make-rprivate /
  mount -t tmpfs -o mode=1777 tmpfs $memory
  # Where others may go, and nothing else is.
  root=/mnt
  mount -t tmpfs -o mode=755 tmpfs $root
fi
folder=$(mktemp -d "$root/surroundings.XXXXXX")
chmod 755 "$folder"
# What only this test sees goes with it.
[[ -z ${NO_MOUNTS-} ]] || trap 'rm -rf "$folder"' EXIT
# Where every user can run them.
cp "$(readlink -f "$1")" "$folder/twinmmu"
cp "$(readlink -f "$2")" "$folder/subject"
twinmmu=$folder/twinmmu
subject=$folder/subject
export TMPDIR=$folder/tmp
mkdir -m 1777 "$TMPDIR"
failed=0

complain() {
  echo "FAILED: $1"
  tail -n 20 "$folder/words"
  failed=1
}
left() { find "$TMPDIR" $memory -maxdepth 1 -name 'twinmmu-*' 2>/dev/null; }

# expect CODES TEXT COMMAND...: as the user, the exit code is one of CODES ("0 126"), with TEXT on
# stdout or stderr if it is not 0; and nothing is left. It takes no more than 20 s.
expect() {
  local codes=$1 text=$2 got=0
  shift 2
  timeout -k 1 20 "${as_user[@]}" "$@" >"$folder/words" 2>&1 < /dev/null || got=$?
  [[ " $codes " == *" $got "* ]] || complain "$*: exit code $got, expected $codes"
  ((got == 0)) || grep -qF -- "$text" "$folder/words" || complain "$*: expected text: $text"
  [[ -z $(left) ]] || complain "$*: left $(left)"
}
# The same under a limit: limited "-n 5" CODES TEXT COMMAND...
limited() {
  local limit=$1 codes=$2 text=$3
  shift 3
  expect "$codes" "$text" bash -c "ulimit $limit; exec \"\$@\"" bash "$@"
}
also() { grep -qF -- "$1" "$folder/words" || complain "expected text: $1"; }

# --- Another user

expect 0 "" "$twinmmu" run -- "$subject" leak
also "leak: kLeakedMapping"
expect 0 "" "$twinmmu" random --seeds=1-2 --calls=20

# --- Low limits

if ((${#as_user[@]})); then
  limited "-u 1" 126 "cannot run $subject: Resource temporarily unavailable (ulimit -u" \
      "$twinmmu" run -- "$subject" fine
fi
for descriptors in 4 5 6 7 8 9 10 12; do
  limited "-n $descriptors" "0 2 126" "Too many open files (ulimit -n)" "$twinmmu" run -- "$subject" fine
done
limited "-v 1000000" 3 "use a profile without such a window" "$twinmmu" run -- "$subject" fine
limited "-v 2000000" 0 "" "$twinmmu" run --profile=full-address-space -- "$subject" fine
also "ulimit -v"
limited "-v 1000000" 1 "use a profile without such a window" "$twinmmu" random --seeds=1-1 --calls=9
limited "-f 8" 2 "File too large (ulimit -f). Set TMPDIR to" "$twinmmu" run -- "$subject" fine
limited "-s 256" 0 "" "$twinmmu" run -- "$subject" twice
also "kDoubleRelease"

# --- The library without the tool

library=$folder/library
mkdir "$library"
"$twinmmu" run -- bash -c 'cp "${LD_LIBRARY_PATH%%:*}"/* "$0"' "$library" 2>"$folder/words"
chmod 755 "$library"
alone() { limited "$1" "$2" "$3" env LD_LIBRARY_PATH="$library" TWINMMU_REPORT="$4" "$subject" twice; }
for descriptors in 4 5 6 8; do
  alone "-n $descriptors" "0 3" "cuInit(0) failed" "$TMPDIR/report.jsonl"
done
alone "-u 1" 0 "" "$TMPDIR/report.jsonl"
also "error: kDoubleRelease"
alone "-v 1000000" 3 "use a profile without such a window" "$TMPDIR/report.jsonl"
rm -f "$TMPDIR/report.jsonl"
alone "-f 0" 0 "" "$TMPDIR/report.jsonl"
rm -f "$TMPDIR/report.jsonl"

# --- Killed, in any order: the next run of the same user finds and removes what is left

start() {
  rm -f "$folder/ready"
  "${as_user[@]}" "$twinmmu" run -- "$subject" loop >"$folder/ready" 2>/dev/null &
  tool=$!
  for ((i = 0; i < 200; ++i)); do grep -qs ready "$folder/ready" && break; sleep 0.05; done
  program=$(cat /proc/$tool/task/$tool/children)
  program=${program%% *}
}
for order in "tool program" "program tool" "both"; do
  start
  case $order in
    "tool program") kill -KILL $tool; kill -KILL $program 2>/dev/null ;;
    "program tool") kill -KILL $program; kill -KILL $tool 2>/dev/null ;;
    *) kill -KILL $program $tool ;;
  esac
  wait $tool 2>/dev/null
  for ((i = 0; i < 100; ++i)); do kill -0 $program 2>/dev/null || break; sleep 0.05; done
  ! kill -0 $program 2>/dev/null || complain "killed: $order: the program runs on"
  expect 0 "" "$twinmmu" run -- "$subject" fine
done

# --- File systems that are full, or read-only

if [[ -z ${NO_MOUNTS-} ]]; then
  place=$folder/place
  mkdir "$place"
  full() { dd if=/dev/zero of="$1/fill" bs=4096 count=100000 2>/dev/null; chmod 1777 "$1"; }
  mount -t tmpfs -o size=64k,mode=1777 tmpfs "$place"
  full "$place"

  # Another place will do; and a report goes where there is room.
  expect 0 "" env TMPDIR="$place" "$twinmmu" run -- "$subject" leak
  also "leak: kLeakedMapping"
  expect 2 "cannot write $place/r.jsonl: No space left on device" \
      "$twinmmu" run --report="$place/r.jsonl" -- "$subject" fine
  expect 1 "cannot write $place/x.jsonl: No space left on device" \
      "$twinmmu" record --backend=sim --program=random --seeds=1-1 --calls=50 --out="$place/x.jsonl"
  expect 0 "" env LD_LIBRARY_PATH="$library" TWINMMU_REPORT="$place/own.jsonl" "$subject" twice
  also "cannot write $place/own.jsonl: No space left on device"

  # No place is left at all.
  for each in /tmp /var/tmp $memory; do
    mount -t tmpfs -o size=64k,mode=1777 tmpfs $each
    full $each
  done
  expect 2 "No space left on device. Set TMPDIR to" env TMPDIR="$place" "$twinmmu" run -- "$subject" fine
  # Shared memory is full: reports are kept beside the library.
  expect 0 "" "$twinmmu" run -- "$subject" leak
  also "leak: kLeakedMapping"

  mount -o remount,ro $memory
  mount -o remount,ro "$place"
  expect 2 "Set TMPDIR to" env TMPDIR="$place" "$twinmmu" run -- "$subject" fine
  expect 0 "" "$twinmmu" run -- "$subject" leak
  also "leak: kLeakedMapping"
  expect 2 "cannot write $place/r.jsonl: Read-only file system" \
      "$twinmmu" run --report="$place/r.jsonl" -- "$subject" fine
  expect 0 "" env LD_LIBRARY_PATH="$library" TWINMMU_REPORT="$place/own2.jsonl" "$subject" twice
  also "cannot write $place/own2.jsonl: Read-only file system"
fi

exit $failed
