#!/bin/bash
# No two sources have one name, and no two types outside of tests and anonymous namespaces: the linker takes either.
# Usage: check_names.sh [ROOT]. One line for each violation; exit code 1 if there is any.
set -eu
cd "${1:-$(dirname "$0")/../..}"

sources() {
  find api backend sim conformance kernels tools third_party/cuda_abi \
    \( -name '*.h' -o -name '*.cc' -o -name '*.inc' \) -print | LC_ALL=C sort
}

bad=0
while read -r name; do
  echo "$name: $(sources | grep "/$name$" | tr '\n' ' ')have one name"
  bad=1
done < <(sources | sed 's|.*/||' | LC_ALL=C sort | uniq -d)

sources | grep -v '_tests\{0,1\}[.]cc$' | xargs awk '
FNR == 1 { depth = 0; hidden = 0 }
/^namespace .*\{/ {
  spaces[++depth] = $2
  if ($2 == "{") hidden = depth
}
/^}  \/\/ namespace/ && depth {
  if (hidden == depth) hidden = 0
  --depth
}
/^(struct|class|enum class) [A-Za-z]+( final)?( :.*)? \{/ && !hidden {
  name = $1 == "enum" ? $3 : $2
  for (i = depth; i; --i) name = spaces[i] "::" name
  if (name in place && place[name] != FILENAME) {
    print FILENAME ": " name " is also the name of a type in " place[name]
    bad = 1
  }
  place[name] = FILENAME
}
END { exit bad }
' || bad=1
exit $bad
