#!/bin/bash
# Every test that starts threads in a source of its own is tagged "threads": what is not tagged is
# left out under --config=tsan.
set -eu
cd "$(dirname "$0")/../.."

# As labels, one alternative of a regular expression each: //sim:simulator_thread_test.cc|...
sources=$(grep -rlE --include='*.cc' '\bstd::(async|thread)\b[^:]' api backend sim kernels conformance tools |
  sed 's|\(.*\)/|//\1:|' | paste -sd '|')
untagged=$(tools/bazel query --color=no --noshow_progress --ui_event_filters=-info \
  "attr(srcs, '$sources', kind('_test rule', //...)) except attr(tags, '\\bthreads\\b', //...)")
[[ -n $untagged ]] || exit 0
echo "These tests start threads. Tag them \"threads\", so that they run under --config=tsan:"
echo "$untagged"
exit 1
