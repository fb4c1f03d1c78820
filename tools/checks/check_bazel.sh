#!/bin/bash
# Checks what tools/bazel does where something is missing. Debian's commands are faked; nothing is installed.
set -eu
source_file=$(cd "$(dirname "$0")/.." && pwd)/bazel
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
chmod 777 "$root"
failures=0

# A tree whose path has a space, and a machine of its own in usr/bin.
tree="$root/a tree"
machine=$root/usr/bin
mkdir -p "$tree/tools" "$machine" "$root/home" "$root/home_of_others"
chmod 777 "$root/home"
sed "s|/usr/bin/|$machine/|g" "$source_file" > "$tree/tools/bazel"
for tool in bash dirname id true; do ln -s "$(type -P $tool)" "$machine/$tool"; done

fake() {  # NAME SCRIPT
  printf '#!/bin/bash\n%s\n' "$2" > "$machine/$1"
  chmod +x "$machine/$1"
}

as_root=(env -i)  # or whoever runs this
as_user=(env -i)
((EUID)) || as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups env -i)
run_as=("${as_root[@]}")

fail() {
  printf 'FAIL: %s\n' "$@"
  failures=$((failures + 1))
}

# expect STATUS WORDS [NAME=VALUE...]: `tools/bazel build //x` ends with STATUS, and says WORDS.
expect() {
  local status=0 output
  output=$("${run_as[@]}" HOME="$root/home" PATH="$machine" "${@:3}" bash "$tree/tools/bazel" build //x 2>&1) ||
    status=$?
  [[ $status == "$1" && $output == *"$2"* ]] || fail "expected status $1 and \"$2\", got status $status and:" "$output"
}
nothing_was_installed() { [[ ! -e $root/installed ]] || fail "packages were installed for $1"; }

# Not Debian.
expect 1 'without apt-get none can be installed'
fake bazel 'echo "other bazel: $*"'
expect 0 'other bazel: build //x'

# Debian with all packages: 14 and newer, 12 and 13.
every_package='for p in "$@"; do [[ $p == -* ]] || echo "<$p installed>"; done'
fake dpkg-query "$every_package"
fake apt-get "echo \"\$*\" >> '$root/installed'"
fake bazel 'echo "bazel 7: $*"'
expect 0 "bazel 7: --bazelrc=$tree/tools/../third_party/debian/offline.bazelrc build //x"
fake bazel-4 'echo "bazel 4: $*"'
expect 1 "builds nothing in a folder whose path has a space: $tree"
mv "$tree" "$root/tree"
tree=$root/tree
expect 0 'bazel 4: build //x'
expect 0 'bazel 4: build //x' BAZEL_REAL="$machine/bazel-4"
nothing_was_installed 'a machine that has everything'

# A folder that the user may not write to.
run_as=("${as_user[@]}")
chmod 555 "$root/home_of_others"
expect 1 'where Bazel keeps what it builds' HOME="$root/home_of_others"
expect 1 'tools/bazel --output_user_root=FOLDER' HOME="$root/home_of_others"

# Bazelisk, whatever is missing.
fake dpkg-query 'exit 1'
fake real-bazel 'echo "bazelisk: $*"'
expect 0 'bazelisk: build //x' BAZEL_REAL="$machine/real-bazel"
nothing_was_installed Bazelisk

# Packages are missing: without rights, with sudo, without a network.
expect 1 'that takes root, or sudo without a password'
expect 1 'sudo apt-get update && sudo apt-get install -y --no-install-recommends bazel-bootstrap'
nothing_was_installed 'a user who may not'
fake sudo '[[ $1 == -n ]] && shift && "$@"'
expect 0 'bazel 4: build //x'
[[ $(< "$root/installed") == *'install -y --no-install-recommends bazel-bootstrap'* ]] ||
  fail "with sudo, packages are installed"
fake apt-get 'echo "E: no network" >&2; exit 100'
expect 1 'for the reason above (without a network, it cannot)'

((failures == 0)) && echo 'check_bazel: passed'
