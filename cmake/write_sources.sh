#!/bin/bash
# Writes sources.cmake, or FILE: of each CMake library its sources, the headers to install, and what it is linked with,
# as the BUILD files say. Usage: write_sources.sh [FILE]
set -euo pipefail
shopt -s inherit_errexit
root=$(cd "$(dirname "$0")/.." && pwd)
output=$(realpath -m "${1:-$root/cmake/sources.cmake}")
cd "$root"
export LC_ALL=C

# What each library holds, less what api holds, on which the others stand; and the targets whose headers its users may
# include.
libraries=(api allocators testing sim backend)
declare -A holds=(
  [api]='//api + //api:diagnostics + //api:diagnostics_json + //api:version + //api/files + //api/record + //api/sharing'
  [allocators]='//api/allocators'
  [testing]='//api/testing + //api/testing/recording'
  [sim]='//sim + //sim/profile:profile_json'
  [backend]='//backend'
)
declare -A offers=(
  [api]='//api + //api:diagnostics + //api:diagnostics_json + //api:version + deps(//api/record, 1) + deps(//api/sharing, 1)'
  [allocators]='visible(//:LICENSE, //api/allocators:all)'
  [testing]='deps(//api/testing, 1) + //api/testing/recording'
  [sim]='//sim + //sim/profile + //sim/profile:profile_json'
  [backend]='//backend'
)

query() { tools/bazel query --noshow_progress --ui_event_filters=-info "$@"; }

# The files of this repository that `attributes` of the targets of an expression name.
files() {  # EXPRESSION ATTRIBUTE...
  local expression=$1 attribute union=
  shift
  for attribute; do union+="${union:+ + }labels($attribute, kind(cc_library, $expression))"; done
  query "filter('^//', $union)" | sed -e 's|^//:\{0,1\}||' -e 's|:|/|' | sort -u
}

# Those files and, over and over, what they include of this repository.
with_includes() {  # FILE...
  local known found
  found=$(printf '%s\n' "$@" | sort -u)
  until [[ $found == "${known:-}" ]]; do
    known=$found
    found=$({ echo "$known"; xargs sed -n 's|^#include "\([a-z_]*/.*\)"$|\1|p' <<< "$known"; } | sort -u |
      while read -r file; do [[ ! -e $file ]] || echo "$file"; done)
  done
  echo "$known"
}

# The targets of other projects, by the names that they have in CMake.
dependencies() {  # EXPRESSION
  query "filter('^@', labels(deps, kind(cc_library, $1)))" |
    sed -nE -e 's|.*//absl/.*:(.*)|absl::\1|p' -e 's|.*[/:]json$|nlohmann_json::nlohmann_json|p' \
      -e 's|.*[/:]gtest$|GTest::gmock|p' -e 's#.*[/:](lz4|zstd)$#twinmmu::\1#p' | sort -u
}

set_list() {  # NAME LINES
  [[ -z $2 ]] || printf '\nset(%s\n%s\n)\n' "$1" "$(sed 's/^/  /' <<< "$2")"
}

write_library() {  # NAME TARGETS HEADERS: HEADERS are those of all libraries.
  local name=$1 all headers needed private='^twinmmu::'
  all=$(files "$2" srcs hdrs textual_hdrs)
  headers=$(comm -12 <(echo "$all") <(echo "$3"))
  needed=$(dependencies "$2")
  xargs grep -q '^#include "nlohmann/' <<< "$headers" || private+='|^nlohmann'
  set_list "twinmmu_${name}_sources" "$(grep '[.]cc$' <<< "$all")"
  set_list "twinmmu_${name}_headers" "$headers"
  set_list "twinmmu_${name}_dependencies" "$(grep -vE "$private" <<< "$needed")"
  set_list "twinmmu_${name}_private_dependencies" "$(grep -E "$private" <<< "$needed" || true)"
}

# What optimises is for the build type to say; -f changes what the code may do.
write_options() {  # TARGETS
  local targets target options sources without
  targets=$(query "attr(copts, '\[-f| -f', $1)" | sort)
  for target in $targets; do
    options=$(query --output=build "$target" | grep -oE '"-f[^"]+"' | tr -d '"' | paste -sd ';')
    sources=$(files "$target" srcs | grep '[.]cc$')
    # That option must be the same in a precompiled header.
    without=
    [[ $options != *-fno-math-errno* ]] || without=' SKIP_PRECOMPILE_HEADERS ON'
    printf '\nset_source_files_properties(\n%s\n  PROPERTIES COMPILE_OPTIONS "%s"%s)\n' \
      "$(sed 's/^/  /' <<< "$sources")" "$options" "$without"
  done
}

write() {
  local name offered= headers below='set()' all='set()'
  for name in "${libraries[@]}"; do offered+="${offered:+ + }${offers[$name]}"; done
  headers=$(files "$offered" hdrs textual_hdrs)
  headers=$(with_includes $headers)

  echo "# Written by cmake/write_sources.sh, which reads the BUILD files."
  for name in "${libraries[@]}"; do
    write_library "$name" "filter('^//', deps(${holds[$name]})) except $below" "$headers"
    below="deps(${holds[api]})"
    all+=" + deps(${holds[$name]})"
  done
  write_options "$all"
}

written=$(mktemp)
trap 'rm -f "$written"' EXIT
write > "$written"
twice=$(sed '/^set_source_files_properties/,$d' "$written" | grep '[.]cc$' | sort | uniq -d)
if [[ -n $twice ]]; then
  echo "write_sources.sh: these are in two libraries; put their target into one that the other is linked with:" >&2
  echo "$twice" >&2
  exit 1
fi
cat "$written" > "$output"
