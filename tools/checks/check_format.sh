#!/bin/bash
# Checks the format of all C and C++ sources. To repair: tools/checks/check_format.sh --fix
set -eu
cd "$(dirname "$0")/../.."
mode=(--dry-run -Werror)
[[ ${1:-} == --fix ]] && mode=(-i)
find . -type f -not -path './.*' \( -name '*.h' -o -name '*.cc' -o -name '*.c' -o -name '*.cu' \) -print0 |
  xargs -0 -r clang-format "${mode[@]}"
