#!/bin/bash
# Runs what the README says in a clean root of a Debian suite, then builds and tests the example workspace there, as
# WORKSPACE or as a module, whichever the Bazel of that suite reads, the example project of CMake, and
# what `twinmmu new-test` lays out for both.
# Usage: check_system.sh [--quick] SUITE [FOLDER]
#   --quick  all targets are analysed, not built; only the example workspace is built and tested
#   SUITE    bookworm, trixie or sid
#   FOLDER   keeps the root, and uses it again
# As root, with debootstrap and a network. An hour on two cores; with --quick, ten minutes.
set -eu
cd "$(dirname "$0")/../.."

say() { printf 'check_system.sh: %s\n' "$@" >&2; }

quick=no
[[ ${1:-} != --quick ]] || { quick=yes; shift; }
if (($# < 1 || $# > 2)); then
  say 'Usage: check_system.sh [--quick] SUITE [FOLDER], where SUITE is bookworm, trixie or sid.'
  exit 2
fi
suite=$1
if ((EUID)); then
  say 'only root can make a root of another system: run it with sudo.'
  exit 2
fi
if ! command -v debootstrap > /dev/null; then
  say 'debootstrap is missing: apt-get install debootstrap'
  exit 2
fi
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' | head -n 1)
if [[ -z $mirror ]]; then
  say 'apt knows no mirror of Debian: apt-get update finds those of /etc/apt.'
  exit 2
fi

if (($# == 2)); then
  root=$(realpath -m "$2")
else
  root=$(mktemp -d)
  trap 'rm -rf --one-file-system "$root"' EXIT
fi
[[ -e $root/etc/debian_version ]] || debootstrap --variant=minbase "$suite" "$root" "$mirror"

# A fresh clone, as far as Bazel is concerned.
rm -rf "$root/twinmmu"
mkdir "$root/twinmmu"
git archive HEAD | tar -x -C "$root/twinmmu"

# Mounts of its own, which go with it.
inside() { unshare --mount --pid --fork --kill-child bash -c '
  mount -t proc proc "$0/proc"
  mount --rbind /dev "$0/dev"
  exec chroot "$0" "$@"' "$root" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"; }

failed=0
step() {  # COMMAND, in the clone
  local start=$SECONDS verdict=passed
  echo "== $suite: $1"
  inside bash -c "cd /twinmmu && $1" < /dev/null || { verdict=failed; failed=1; }
  echo "== $suite: $1: $verdict ($((SECONDS - start)) s)"
}

if [[ $quick == yes ]]; then
  step 'tools/bazel build --nobuild //...'
else
  step 'tools/bazel run //tools:twinmmu -- conformance'
  step 'tools/bazel test //...'
fi
step 'tools/example_workspace/test.sh'
if [[ $quick == no ]]; then
  step 'DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends cmake make pkgconf'
  step 'tools/example_cmake/test.sh'
  step 'tools/checks/check_new_test.sh'
fi
((failed == 0))
