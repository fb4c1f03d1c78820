#!/bin/bash
# Every fuzzer of the tree at once on all processors, each with seeds of its own, and the tool and its
# program killed in any order. Prints a table, and what was left on the host; the exit code is 1 if
# anything was found.
#
#   tools/checks/fuzz.sh MINUTES [FOLDER [FIRST_SEED]]
#
# FOLDER: the programs. What is not there is built and put there, so with 0 minutes this makes the
# folder, and FOLDER/fuzz.sh MINUTES FOLDER runs on a machine that has neither sources nor Bazel.
# What was found goes to a folder that the last line names: the input that crashed FUZZER is tried
# again by FOLDER/FUZZER 1 INPUT.
set -u
export LC_ALL=C
(($# >= 1 && $# <= 3)) && [[ $1 =~ ^[0-9]+$ ]] || { sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; exit 2; }
seconds=$(($1 * 60))
programs=$(realpath -m "${2:-$(mktemp -d)}")
first_seed=${3:-$(date +%s)}

# Each fuzzer as its smoke test, beside the files it begins with; and what the killer kills.
build() {
  cd "$(dirname "$0")/../.." || return
  local others=(//tools:twinmmu //tools/run:run_subject //sim/libcuda/tests:random_calls //sim/libcuda:libcuda.so.1)
  local tests label path name entry
  tests=$(tools/bazel query --noshow_progress 'filter("_fuzzer_smoke$", kind(cc_test, //...))' 2> /dev/null) &&
    tools/bazel build --noshow_progress $tests "${others[@]}" || return
  mkdir -p "$programs"
  for label in "${others[@]}"; do path=${label#//} && cp -f "bazel-bin/${path/:/\/}" "$programs" || return; done
  for label in $tests; do
    path=bazel-bin/${label#//} path=${path/:/\/} name=${label##*:} name=${name%_smoke}
    mkdir -p "$programs/$name.seeds"
    while read -r _ entry; do
      [[ $entry == */"${path#bazel-bin/}" ]] || cp -fL "$entry" "$programs/$name.seeds" || return
    done < "$path.runfiles_manifest"
    cp -f "$path" "$programs/$name" || return
  done
  cp -f tools/checks/fuzz.sh "$programs"
}
[[ -x $programs/twinmmu && -x $programs/calls_fuzzer ]] || build > /dev/stderr || exit
((seconds)) || exit 0

work=$(mktemp -d)
found=$work/found
mkdir "$found"
export programs work found
export FUZZ_RUN=$work  # by which processes are known again
ulimit -c 0

command_of() {  # NAME SECONDS SEED
  case $1 in
    program_fuzzer) echo run_programs "$2" "$3" ;;
    random_calls) echo "$programs/$1" "$programs/libcuda.so.1" "$2" $(($3 * 1000000)) 1 ;;
    killer) echo kill_in_any_order "$2" "$3" ;;
    *) echo "$programs/$1" "--seconds=$2" "--seed=$3" "$programs/$1.seeds"/* ;;
  esac
}

# Programs of other numbers than those of another seed, a thousand to a process.
run_programs() {  # SECONDS SEED
  local end=$((SECONDS + $1)) first=$(($2 * 1000000000)) count=0
  for (( ; SECONDS < end; count += 1000)); do "$programs/program_fuzzer" $((first + count)) 1000 > /dev/null || return; done
  echo "$count programs"
}

# What a signal leaves behind, the next run removes; the program of a tool that is killed goes with it.
kill_in_any_order() {  # SECONDS SEED
  local end=$((SECONDS + $1)) count=0 signals=(KILL KILL KILL KILL TERM INT HUP PIPE ABRT SEGV USR1 XCPU) tool program
  RANDOM=$(($2 % 32768))
  for (( ; SECONDS < end; ++count)); do
    "$programs/twinmmu" run -- "$programs/run_subject" loop > /dev/null 2>&1 &
    tool=$!
    sleep 0.$((RANDOM % 10))$((RANDOM % 10))
    program=$(cat /proc/$tool/task/$tool/children 2> /dev/null)
    for each in $( ((RANDOM % 2)) && echo $tool $program || echo $program $tool); do
      kill -${signals[RANDOM % ${#signals[@]}]} $each 2> /dev/null
      ((RANDOM % 2)) || sleep 0.0$((RANDOM % 10))
    done
    sleep 0.1
    kill -KILL $tool 2> /dev/null
    wait $tool 2> /dev/null
    for ((i = 0; i < 100; ++i)); do kill -0 $program 2> /dev/null || break; sleep 0.1; done
    ((i < 100)) || { echo "the program runs on after its tool"; return 1; }
    "$programs/twinmmu" run -- "$programs/run_subject" fine > /dev/null 2>&1 || { echo "the next run fails"; return 1; }
    [[ -z $(ls "$TMPDIR") ]] || { echo "left: $(ls "$TMPDIR")"; return 1; }
  done
  echo "$count kills"
}

# A fuzzer until its time is over; what ends it before is kept, and it goes on with another seed.
fuzz() {  # NUMBER NAME SECONDS
  local folder=$work/$1 end=$((SECONDS + $3)) seed=$1 code
  mkdir -p "$folder/tmp" && cd "$folder" || return
  export TMPDIR=$folder/tmp
  for ((try = 0; try < 20 && SECONDS < end; ++try)); do
    seed=$((first_seed + $1 + try * 1000))
    timeout -k 5 $((end - SECONDS + 120)) bash -c "$(command_of "$2" $((end - SECONDS)) $seed)" > log 2>&1 < /dev/null
    code=$?
    grep -hE '^[0-9]+ (executions|programs|calls|kills)' log >> executions
    ((code == 0)) && continue
    echo $code >> codes
    cp log "$found/$2-$seed.log"
    [[ ! -e input ]] || cp input "$found/$2-$seed.input"
  done
  find tmp -mindepth 1 -maxdepth 1 > left
}
export first_seed
export -f command_of run_programs kill_in_any_order fuzz

host_files() { find /dev/shm /tmp "${TMPDIR:-/tmp}" -maxdepth 1 -name '*twinmmu*' 2> /dev/null | sort -u; }
# Resident memory of each session, in MiB: NUMBER OF RUN, TIME, MEMORY.
sample() {
  cat /proc/[0-9]*/stat 2> /dev/null | sed 's/^\([0-9]*\) (.*) /\1 - /' | awk -v time=$SECONDS -v page="$(getconf PAGESIZE)" '
      NR == FNR { number[$1] = $2; next }
      $6 in number { memory[number[$6]] += $24 * page / 1048576 }
      END { for (each in memory) print each, time, memory[each] }' "$work/sessions" - >> "$work/samples"
}

fuzzers=(killer random_calls)
for seeds in "$programs"/*.seeds; do fuzzers+=("$(basename "$seeds" .seeds)"); done
runs=$(nproc)
((runs >= ${#fuzzers[@]})) || runs=${#fuzzers[@]}
host_files > "$work/before"
echo "$runs runs of ${#fuzzers[@]} fuzzers for $((seconds / 60)) minutes, from seed $first_seed, in $work"
SECONDS=0
for ((i = 0; i < runs; ++i)); do
  name=${fuzzers[i % ${#fuzzers[@]}]}
  setsid bash -c "fuzz $i $name $seconds" 2> /dev/null &
  echo "$! $i" >> "$work/sessions"
  echo "$i $name" >> "$work/names"
done
trap 'for each in $(cut -d" " -f1 "$work/sessions"); do kill -KILL -- -$each; done 2> /dev/null; exit 1' INT TERM
while jobs -r | grep -q .; do
  sample
  sleep $((seconds > 600 ? 5 : 1))
done

for ((i = 0; i < runs; ++i)); do
  read -r _ name < <(sed -n "$((i + 1))p" "$work/names")
  awk -v i=$i -v half=$((seconds / 4)) -v end=$((seconds * 3 / 4)) '
      $1 == i && $2 <= half && $3 > first { first = $3 }
      $1 == i && $2 >= end && $3 > last { last = $3 }
      END { printf "%d %d ", first, last }' "$work/samples"
  awk '{ sum += $1 } END { printf "%d ", sum }' "$work/$i/executions"
  # timeout ends what SIGALRM did not.
  awk '{ $1 == 142 || $1 == 124 || $1 == 137 ? ++hangs : ++crashes } END { printf "%d %d ", crashes, hangs }' \
    "$work/$i/codes" 2> /dev/null || printf '0 0 '
  echo "$(wc -l < "$work/$i/left") $name"
done > "$work/results"

awk '
  { name = $7; ++runs[name]; count[name] += $3; crashes[name] += $4; hangs[name] += $5; left[name] += $6
    if ($1 > first[name]) first[name] = $1
    if ($2 > last[name]) last[name] = $2
    if ($2 > $1 * 1.2 + 64) grows[name] = 1 }
  END {
    printf "| %-24s | runs | executions | peak MiB, first quarter | last | result |\n|---|---|---|---|---|---|\n", "fuzzer"
    for (name in runs) {
      result = ""
      if (crashes[name]) result = result " " crashes[name] " ended before their time;"
      if (hangs[name]) result = result " " hangs[name] " hang;"
      if (grows[name]) result = result " grows;"
      if (left[name]) result = result " " left[name] " files left;"
      if (result) failed = 1
      printf "| %-24s | %4d | %10d | %23d | %4d |%s |\n", name, runs[name], count[name], first[name], last[name],
        result ? substr(result, 1, length(result) - 1) : " ok" | "sort"
    }
    close("sort")
    exit failed
  }' "$work/results"
failed=$?

# The folders of what was killed last are the next run's to remove.
"$programs/twinmmu" run -- "$programs/run_subject" fine > /dev/null 2>&1
left=$(host_files | comm -13 "$work/before" -)
running=$(grep -lzsx "FUZZ_RUN=$work" /proc/[0-9]*/environ | cut -d/ -f3 | grep -vx $$)
for each in $running; do [[ ! -e /proc/$each ]] || left+=" process $each"; done
[[ -z $left ]] || { echo "left on the host: $left"; failed=1; }
if ((failed)); then echo "What was found is in $found"; else rm -rf "$work"; echo "nothing was found, and nothing is left"; fi
exit $failed
