#!/bin/bash
# Every rule id that a file quotes ("MAP-3") is in the catalogue. Usage: check_rules.sh [ROOT]
set -eu
cd "${1:-$(dirname "$0")/../..}"

known=$(sed -n 's/^TWINMMU_RULE(\([A-Z]*\)_\([0-9]*\),.*/\1-\2/p' conformance/rules/rules.inc)
prefixes=$(sed 's/-.*//' <<< "$known" | sort -u | paste -sd '|')
bad=0
while IFS=: read -r file line id; do
  grep -qx -- "$id" <<< "$known" && continue
  echo "$file:$line: there is no rule $id in conformance/rules/rules.inc: correct the id, or add the rule"
  bad=1
done < <(grep -rnoE --include='*.h' --include='*.cc' --include='*.md' "\b($prefixes)-[0-9]+\b" \
  api backend sim kernels conformance tools docs README.md CONTRIBUTING.md 2>/dev/null)
exit $bad
