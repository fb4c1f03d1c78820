#!/bin/bash
# Packs files as an archive and as a Debian package: from the same files the same bytes, whoever packs them, where and
# when. Usage: make_packages.sh VERSION ARCHIVE PACKAGE PLACE=FILE...; a place is like bin/twinmmu.
set -eu -o pipefail
umask 022
export LC_ALL=C
version=$1 archive=$(realpath "$2") package=$(realpath "$3")
shift 3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
root=$folder/twinmmu-$version-linux-x86_64

for entry; do
  place=$root/${entry%%=*} file=${entry#*=} mode=644
  [[ $place != */bin/* ]] || mode=755
  install -D -m $mode "$file" "$place"
  case $place in
    */bin/*) strip --strip-all "$place" ;;
    *.so.*) strip --strip-unneeded "$place" ;;
  esac
done

# pack ARGUMENT...: what tar makes of them, without what differs from one machine to the next.
pack() {
  tar --sort=name --format=gnu --mtime='2000-01-01 00:00Z' --owner=0 --group=0 --numeric-owner --create "$@" |
    xz --lzma2=preset=1,dict=32MiB --threads=1
}

# The library is also in the program: the window of xz is wide enough to see that.
pack -C "$folder" "${root##*/}" > "$archive"

# The same files below /usr, and what dpkg wants to know.
mkdir "$folder/control" "$folder/data"
mv "$root" "$folder/data/usr"
cd "$folder/data"
find usr -type f | sort | xargs md5sum > ../control/md5sums
cat > ../control/control <<END
Package: twinmmu
Version: $version
Architecture: amd64
Maintainer: The authors of TwinMMU <twinmmu@localhost>
Installed-Size: $(find usr -type f -printf '%s\n' | awk '{ sum += $1 } END { printf "%d", sum / 1024 }')
Depends: libc6 (>= 2.34)
Suggests: binutils
Section: devel
Priority: optional
Description: GPU virtual memory management without a GPU
 Runs programs that use the CUDA driver API on a simulated driver, reports what
 they do wrong with virtual memory, and tests and records real drivers.
END
cd "$folder"
echo 2.0 > debian-binary
pack -C control . > control.tar.xz
pack -C data . > data.tar.xz
ar rcD package.deb debian-binary control.tar.xz data.tar.xz
mv package.deb "$package"
