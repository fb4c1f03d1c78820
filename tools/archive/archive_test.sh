#!/bin/bash
# What is in the archive and the package, and that it works. $1: the archive. $2: the Debian package.
set -u
archive=$PWD/$1 package=$PWD/$2
folder=$(mktemp -d "${TEST_TMPDIR:-/tmp}/archive_test.XXXXXX")
cd "$folder" || exit 1
failed=0
complain() {
  echo "FAILED: $1"
  failed=1
}

name=$(basename "$archive" .tar.xz)
mkdir archive control data
tar -xf "$archive" -C archive || complain "the archive cannot be unpacked"
ar x "$package" || complain "the package cannot be unpacked"
tar -xf control.tar.xz -C control && tar -xf data.tar.xz -C data || complain "the parts of the package cannot be unpacked"

# --- What is in it

(cd "archive/$name" && find . -type f -printf '%M %P\n' | LC_ALL=C sort -k 2) > files
diff - files <<END || complain "other files or modes than expected (above: < expected)"
-rwxr-xr-x bin/twinmmu
-rw-r--r-- include/twinmmu/cuda.h
-rw-r--r-- lib/twinmmu/libcuda.so.1
-rw-r--r-- lib/twinmmu/libcudart.so.11.0
-rw-r--r-- lib/twinmmu/libcudart.so.12
-rw-r--r-- lib/twinmmu/libcudart.so.13
-rw-r--r-- lib/twinmmu/libnvidia-ml.so.1
-rw-r--r-- lib/twinmmu/libtwinmmu_cudart11.a
-rw-r--r-- lib/twinmmu/libtwinmmu_cudart12.a
-rw-r--r-- lib/twinmmu/libtwinmmu_cudart13.a
-rw-r--r-- share/bash-completion/completions/twinmmu
-rw-r--r-- share/doc/twinmmu/CHANGELOG.md
-rw-r--r-- share/doc/twinmmu/README.md
-rw-r--r-- share/doc/twinmmu/copyright
-rw-r--r-- share/doc/twinmmu/third_party_notices.txt
-rw-r--r-- share/man/man1/twinmmu.1
END
diff -r "archive/$name" data/usr || complain "the package has other files than the archive"
[[ $(ar t "$package" | tr -d / | tr '\n' ' ') == "debian-binary control.tar.xz data.tar.xz " ]] ||
  complain "the parts of the package are not those that dpkg reads"
(cd data && md5sum --quiet -c ../control/md5sums) || complain "checksums of the package"
version=${name#twinmmu-} version=${version%%-*}
grep -qx "Version: $version" control/control || complain "the package is of another version than the archive"
for file in bin/twinmmu lib/twinmmu/libcuda.so.1; do
  ! readelf -SW "archive/$name/$file" | grep -qE '\.(symtab|debug_info) ' || complain "$file is not stripped"
done

# --- The same bytes whoever packs them

for part in "$archive" control.tar.xz data.tar.xz; do
  tar --full-time --numeric-owner -tvf "$part" > list
  [[ $(awk '{ print $2, $4, $5 }' list | sort -u) == "0/0 2000-01-01 00:00:00" ]] ||
    complain "$(basename "$part"): the owner is not root, or the time not fixed"
  awk '{ print $6 }' list | sed 's,/$,,; s,/,\x01,g' | LC_ALL=C sort -c || complain "$(basename "$part"): not in order"
done
[[ $(ar tvO "$package" | awk '{ print $2, $4, $5, $6, $7 }' | sort -u) == "0/0 Jan 1 00:00 1970" ]] ||
  complain "the package has owners or times"

# --- How large it is

limit=$((10 * 1000 * 1000))
for file in "$archive" "$package"; do
  size=$(stat -L -c %s "$file")
  ((size <= limit)) || complain "$(basename "$file") has $size bytes, of at most $limit"
done

# --- That it works

mv "archive/$name" elsewhere
unset LD_LIBRARY_PATH
[[ $(elsewhere/bin/twinmmu --version) == *"$version"* ]] || complain "the program is of another version"
elsewhere/bin/twinmmu info --backend=sim > output 2>&1 || complain "twinmmu info: $(tail -n 5 output)"
cat > program.c <<'END'
#include <cuda.h>
int main(void) {
  int count = 0;
  return cuInit(0) != CUDA_SUCCESS || cuDeviceGetCount(&count) != CUDA_SUCCESS || count == 0;
}
END
cc -Ielsewhere/include/twinmmu program.c -Lelsewhere/lib/twinmmu -l:libcuda.so.1 -o program ||
  complain "a program cannot be built from it"
elsewhere/bin/twinmmu run --error-exitcode -- ./program > output 2>&1 || complain "twinmmu run: $(tail -n 5 output)"
LD_LIBRARY_PATH=$PWD/elsewhere/lib/twinmmu TWINMMU_REPORT=report.jsonl ./program > output 2>&1 ||
  complain "a program on the library: $(tail -n 5 output)"
grep -q "\"version\":\"$version\"" report.jsonl || complain "the library is of another version"
exit $failed
