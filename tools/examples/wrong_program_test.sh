#!/bin/bash
# $1: the tool. $2: a program with a bug. $3: its exit code. $4: what the report says of the bug.
# The others: with what options; and behind -- the sources, in which "Reported:" stands above each
# line that the report names.
set -u
arguments=("$1" "$2" "$3" "$4")
shift 4
options=()
while [[ $1 != -- ]]; do
  options+=("$1")
  shift
done
shift
report=$("${arguments[0]}" run --error-exitcode "${options[@]}" -- "${arguments[1]}" 2>&1 >/dev/null)
code=$?
expected=("${arguments[3]}")
for source; do
  while IFS=: read -r line _; do
    expected+=("$(basename "$source"):$((line + 1)), ")
  done < <(grep -n 'Reported:' "$source")
done
failed=0
for text in "${expected[@]}"; do
  [[ $report == *"$text"* ]] || { echo "The report does not say: $text"; failed=1; }
done
if [[ $code != "${arguments[2]}" ]]; then
  echo "exit code $code (expected ${arguments[2]})"
  failed=1
fi
((${#expected[@]} > 1)) || { echo "No line is said to be reported."; failed=1; }
((failed == 0)) || echo "$report"
exit $failed
