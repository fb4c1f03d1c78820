#!/bin/bash
# Builds and tests this workspace, without network. Bazel keeps an output base of its own for it.
set -eu
cd "$(dirname "$0")"
targets=(//...)
[[ $(../bazel --version) == *no_version* ]] && targets+=(//:own_libraries_test)
exec ../bazel --max_idle_secs=60 test --symlink_prefix=/ "$@" "${targets[@]}"
