#!/bin/bash
# The version of api/version.h is also that of every file that cannot include it. Usage: check_version.sh [ROOT]
set -eu
cd "${1:-$(dirname "$0")/../..}"
bad=0
version=$(sed -n 's/.*kVersion\[\] = "\(.*\)";$/\1/p' api/version.h)
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || { echo "api/version.h: kVersion is not three numbers: '$version'"; exit 1; }

# same FILE FOUND: what the file says; nothing, if it no longer says any.
same() {
  [[ $2 == "$version" ]] && return
  echo "$1: version '$2', but '$version' in api/version.h: make them the same"
  bad=1
}

same CHANGELOG.md "$(sed -n 's/^## \([0-9][^ ]*\).*/\1/p' CHANGELOG.md | head -n 1)"
same tools/archive/BUILD.bazel "$(sed -n 's/^VERSION = "\(.*\)"$/\1/p' tools/archive/BUILD.bazel)"
# Of module(), not of what it depends on.
[[ ! -e MODULE.bazel ]] || same MODULE.bazel "$(sed -n '/^module(/,/^)/s/.*version = "\([^"]*\)".*/\1/p' MODULE.bazel)"
exit $bad
