#!/bin/bash
# The documents hang together: every relative link in a .md file, and every path of the form docs/...md that a
# file names, leads somewhere; the README has at most 180 lines. Usage: check_docs.sh [ROOT]
set -eu
cd "${1:-$(dirname "$0")/../..}"
bad=0

say() {
  echo "$1"
  bad=1
}

# The anchors of a document, as GitHub makes them from its headings.
anchors() {
  sed -n 's/^##* //p' "$1" | tr '[:upper:]' '[:lower:]' | sed 's/[^a-z0-9 _-]//g; s/ /-/g'
}

mapfile -t files < <(git ls-files --cached --others --exclude-standard 2> /dev/null || find . -type f)

while IFS=: read -r file line link; do
  path=${link%%#*} anchor=
  [[ $link == *#* ]] && anchor=${link#*#}
  target=$file
  [[ -n $path ]] && target=$(dirname "$file")/$path
  if [[ ! -e $target ]]; then
    say "$file:$line: the link $link leads nowhere"
  elif [[ -n $anchor ]] && ! anchors "$target" | grep -qx -- "$anchor"; then
    say "$file:$line: $target has no heading #$anchor"
  fi
done < <(printf '%s\n' "${files[@]}" | grep '\.md$' | xargs -r grep -noP '\]\(\K[^)\s]+(?=\))' /dev/null | grep -v ':https\?:')

while IFS=: read -r file line path; do
  [[ -e $path ]] || say "$file:$line: there is no $path"
done < <(printf '%s\n' "${files[@]}" | grep -v '^docs/reference/changes\.md$\|^tools/checks/check_docs' |
  xargs -r grep -noIE -d skip '\bdocs/[A-Za-z0-9_/]+\.md\b' /dev/null)

lines=$(wc -l < README.md)
((lines <= 180)) || say "README.md: $lines lines; it is one page of at most 180"
exit $bad
