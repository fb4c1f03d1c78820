#!/bin/bash
# Every rule of C++, shell and the like is loaded in the file that uses it: Bazel 9 has none built in.
# Usage: check_loads.sh [ROOT]. One line for each violation; exit code 1 if there is any.
set -eu
cd "${1:-$(dirname "$0")/../..}"

# What stands for a rule set calls the rules that are built in.
find . \( -name 'bazel-*' -o -path ./third_party/debian/rules_shell \) -prune -o \
    -type f \( -name 'BUILD*' -o -name '*.bzl' -o -name '*.BUILD' \) -print | LC_ALL=C sort |
awk '
function check(rule, set) {
  if (rule in loaded) return
  sub(/^native[.]/, "", rule)
  set = substr(rule, 1, index(rule, "_") - 1)
  if (set == "sh") set = "shell"
  if (set == "py") set = "python"
  printf "%s:%d: %s is not loaded: load(\"@rules_%s//%s:%s.bzl\", \"%s\")\n", file, line, rule, set, set, rule, rule
  bad = 1
}

# The names in a line of a load statement.
function add_loaded(text) {
  while (match(text, /"[a-z_]+"/)) {
    loaded[substr(text, RSTART + 1, RLENGTH - 2)]
    text = substr(text, RSTART + RLENGTH)
  }
}

function check_line(text) {
  while (match(text, /[A-Za-z0-9_.]+\(/)) {
    call = substr(text, RSTART, RLENGTH - 1)
    text = substr(text, RSTART + RLENGTH)
    if (call ~ /^(native[.])?(cc|java|py|sh)_(binary|import|library|shared_library|test)$/) check(call)
  }
}

{
  file = substr($0, 3)
  split("", loaded)
  in_load = 0
  for (line = 1; (getline text < file) > 0; ++line) {
    sub(/#.*/, "", text)
    if (text ~ /^load\(/) in_load = 1
    if (in_load) add_loaded(text)
    else if (text !~ /^def /) check_line(text)
    if (text ~ /\)/) in_load = 0
  }
  close(file)
}
END { exit bad }'
