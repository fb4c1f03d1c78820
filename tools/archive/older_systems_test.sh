#!/bin/bash
# The files of the archive run on systems with glibc 2.34, and need no other library. Arguments: the files.
set -u
newest=2.34
built_with=$(getconf GNU_LIBC_VERSION)
built_with=${built_with#glibc }
failed=0
complain() {
  echo "FAILED: $1"
  failed=1
}
not_newer() { [[ $(printf '%s\n' "$1" "$2" | sort -V | tail -n 1) == "$2" ]]; }

for file; do
  echo "--- $(basename "$file")"
  libraries=$(readelf -dW "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
  versions=$(readelf -VW "$file" | sed -n '/^Version needs/,$s/.* Name: \([^ ]*\) .*/\1/p' | sort -Vu)
  echo $libraries $versions
  [[ -n $libraries && -n $versions ]] || complain "readelf showed nothing"
  for library in $libraries; do
    case $library in
      libc.so.6 | libm.so.6 | libdl.so.2 | libpthread.so.0 | librt.so.1 | ld-linux-x86-64.so.2) ;;
      *) complain "it needs $library, which other systems have in another version, or not at all" ;;
    esac
  done
  of_others=$(grep -v ^GLIBC_ <<< "$versions" | tr '\n' ' ')
  [[ -z $of_others ]] || complain "it needs ${of_others}: the runtime of C++ is to be linked statically"
  for version in $(grep ^GLIBC_ <<< "$versions"); do
    not_newer "${version#GLIBC_}" $newest && continue
    # The headers of a newer glibc bring in more. What is given away is built where this is not so.
    if not_newer "$built_with" 2.36; then
      complain "it needs $version, and is to run with glibc $newest; see sim/libcuda/older_glibc.cc:
$(readelf --dyn-syms -W "$file" | grep "@$version")"
    else
      echo "It needs $version: built with glibc $built_with, it is for systems that have that."
    fi
  done
done
exit $failed
