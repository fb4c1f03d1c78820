#!/bin/bash
# Every rule id that a file quotes ("MAP-3") is in the catalogue, and the tests of a rule are in the file
# that its prefix names: those of MAP-3 in conformance/tests/*/map_rules.cc. Usage: check_rules.sh [ROOT]
set -eu
cd "${1:-$(dirname "$0")/../..}"

declare -A known
while read -r id; do known[$id]=1; done < <(
  sed -n 's/^TWINMMU_RULE(\([A-Z]*\)_\([0-9]*\),.*/\1-\2/p' conformance/rules/rules.inc)
prefixes=$(printf '%s\n' "${!known[@]}" | sed 's/-.*//' | sort -u | paste -sd '|')
bad=0
while IFS=: read -r file line id; do
  [[ ${known[$id]:-} ]] && continue
  echo "$file:$line: there is no rule $id in conformance/rules/rules.inc: correct the id, or add the rule"
  bad=1
done < <(grep -rnoE --include='*.h' --include='*.cc' --include='*.md' "\b($prefixes)-[0-9]+\b" \
  api backend sim kernels conformance tools docs README.md CONTRIBUTING.md 2>/dev/null)

while IFS=: read -r file line test; do
  [[ $test =~ ([A-Z]+)_[0-9]+$ ]]
  rule=${BASH_REMATCH[1]}
  [[ $file == conformance/tests/*/"${rule,,}_rules.cc" ]] && continue
  echo "$file:$line: a test of a rule $rule-: it belongs into ${rule,,}_rules.cc, in a folder of conformance/tests"
  bad=1
done < <(grep -rnoE --include='*.cc' '^CONFORMANCE_TEST\( *[A-Za-z0-9_]+, *[A-Z]+_[0-9]+' conformance)
exit $bad
