#!/bin/bash
# Self-test of check_docs.sh: plants each kind of mistake into a small tree and sees it reported.
set -eu
check=$(cd "$(dirname "$0")" && pwd)/check_docs.sh
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
cd "$root"
git init -q .
mkdir docs
echo '# A page' > docs/page.md
failures=0

# expect WORDS: the check reports one line with these words; none: it passes.
expect() {
  local output
  output=$("$check" "$root") && [[ -z $1 ]] && return
  [[ -n $1 && $output == *"$1"* && $output != *$'\n'* ]] && return
  echo "FAIL: expected \"$1\", got: $output"
  failures=$((failures + 1))
}

echo '[a](docs/page.md), [b](docs/page.md#a-page), [c](https://example.com/x.md)' > README.md
expect ''
echo '[a](nope.md)' > README.md
expect 'README.md:1: the link nope.md leads nowhere'
echo '[a](docs/page.md#nope)' > README.md
expect 'docs/page.md has no heading #nope'
echo > README.md
echo '// docs/gone.md has more.' > x.h
expect 'x.h:1: there is no docs/gone.md'
rm x.h
for _ in {1..181}; do echo; done > README.md
expect 'README.md: 181 lines'

((failures == 0)) && echo "check_docs_test: passed"
