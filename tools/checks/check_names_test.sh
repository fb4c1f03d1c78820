#!/bin/bash
# check_names.sh notices two files of one name and two types of one name, and nothing else.
set -eu
cd "$(dirname "$0")"
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root"/{api,backend,sim,conformance,kernels,tools,third_party/cuda_abi}
fail() { echo "check_names_test: $1"; exit 1; }
write() { printf 'namespace twinmmu {\n%s\n}  // namespace twinmmu\n' "$2" > "$root/$1"; }

write api/one.h 'struct Page {'
write sim/two.h $'namespace coherence {\nstruct Page {\n}  // namespace coherence'
write sim/three.cc $'namespace {\nclass Page {\n}  // namespace'
./check_names.sh "$root" > /dev/null || fail 'refused different names'
write tools/four.cc 'class Page : public Memory {'
! output=$(./check_names.sh "$root") || fail 'took two types of one name'
[[ $output == *"tools/four.cc: twinmmu::Page is also the name of a type in api/one.h"* ]] || fail "said: $output"
rm "$root/tools/four.cc"
write tools/two.h ''
! output=$(./check_names.sh "$root") || fail 'took two files of one name'
[[ $output == *"two.h: sim/two.h tools/two.h have one name"* ]] || fail "said: $output"
echo 'check_names_test: passed'
