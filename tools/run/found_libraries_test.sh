#!/bin/bash
# `twinmmu run` puts our libraries in front of those that programs and packages bring, however these
# are found. $1: the tool. $2: loading_subject. $3: a runtime that says it is another's. $4: the same,
# named as in packed wheels. $5: programs and libraries that are linked to these. $6: a user's audit
# library. $7, $8: libraries with some and with much thread-local memory. $9: nvcc, or empty.
set -u
unset LD_LIBRARY_PATH LD_AUDIT
twinmmu=$PWD/$1
folder=$(mktemp -d "${TEST_TMPDIR:-/tmp}/found.XXXXXX")
export TMPDIR=$folder/tmp
failed=0

complain() {
  echo "FAILED: $1"
  cat "$folder/output"
  failed=1
}
# whose WORD COMMAND...: what the command finds under the tool, in each line of its output.
whose() {
  local word=$1
  shift
  "$twinmmu" run -- "$@" >"$folder/output" 2>"$folder/stderr" || complain "exit code of $*"
  [[ -s $folder/output ]] || complain "$* says nothing: $(cat "$folder/stderr")"
  ! grep -v ": $word\$" "$folder/output" || complain "$* does not find what is $word"
}

# As in site-packages: one package has libraries, others are linked to them by an RPATH.
packages=$folder/site-packages
theirs=$packages/nvidia/lib
mkdir -p "$TMPDIR" "$theirs" "$packages/extension"
cp -L "$2" "$folder/subject"
cp -L "$3" "$4" "$theirs"
for file in $5; do cp -L "$file" "$packages/extension"; done
for name in libcuda.so.1 libcuda.so libcuda.so.580.65.06 libnvidia-ml.so.1 libnvidia-ml.so \
    libcudart.so.11.0 libcudart.so.11.8.89 libcudart.so.12.8.90 libcudart.so.13 libcudart.so.10.2 \
    libcudart.so.14 libcudart.so.120 libcudartx.so.12 libcudadevrt.so libcuda.sound libother.so; do
  cp "$theirs/libcudart.so.12" "$theirs/$name"
done
subject=$folder/subject

# The test itself: without the tool, what is found is the package's.
for program in "$packages"/extension/rpath* "$packages"/extension/runpath*; do
  [[ $("$program") == "linked: theirs" ]] || complain "$program alone does not find what it is linked to"
done

# Where programs are linked to a library, and an RPATH or a RUNPATH leads to it.
for program in "$packages"/extension/rpath* "$packages"/extension/runpath*; do
  whose ours "$program"
done

# A debugger is told which file it is.
"$twinmmu" run -- env LD_TRACE_LOADED_OBJECTS=1 "$packages/extension/rpath_named" \
    >"$folder/output" 2>"$folder/stderr"
grep -q "$TMPDIR/.*/libcudart.so.12 (" "$folder/output" || complain "ours goes by another file's name"

# Where an extension is, alone, and after the library was loaded by its path.
for extension in "$packages"/extension/lib*; do
  whose ours "$subject" "$extension"
  whose ours "$subject" "$theirs/libcudart.so.12" "$extension"
  whose ours "$subject" "$extension" "$theirs/libcudart.so.12"
done

# By a path.
for name in libcuda.so.1 libcuda.so libcuda.so.580.65.06 libnvidia-ml.so.1 libnvidia-ml.so \
    libcudart.so.11.0 libcudart.so.11.8.89 libcudart.so.12 libcudart.so.12.8.90 libcudart.so.13 \
    libcudart-0a1b2c3d.so.12; do
  whose ours "$subject" "$theirs/$name"
done
cd "$theirs" || exit 1
whose ours "$subject" ./libcudart.so.12
cd "$OLDPWD" || exit 1

# In front of a folder that the program puts first.
whose ours bash -c 'LD_LIBRARY_PATH=$0:$LD_LIBRARY_PATH "$@"' "$theirs" "$subject" libcudart.so.12 \
    libcudart-0a1b2c3d.so.12 libcuda.so.1 libcuda.so libnvidia-ml.so.1

# libcudart.so is of the version to which it is a link; a file of that name may be anything.
ln -s libcudart.so.12.8.90 "$theirs/libcudart.so"
whose ours "$subject" "$theirs/libcudart.so"
whose ours env LD_LIBRARY_PATH="$theirs" "$subject" libcudart.so
rm "$theirs/libcudart.so"
cp "$theirs/libother.so" "$theirs/libcudart.so"
whose theirs "$subject" "$theirs/libcudart.so"

# What we have nothing for stays what it is.
for name in libcudart.so.10.2 libcudart.so.14 libcudart.so.120 libcudartx.so.12 libcudadevrt.so \
    libcuda.sound libother.so; do
  whose theirs "$subject" "$theirs/$name"
done

# As cupy, torch and others do. (The program above does the same in C.)
if command -v python3 >/dev/null; then
  cat >"$folder/preload.py" <<'END'
import ctypes, sys
version = ctypes.c_int()
runtime = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
assert runtime.cudaRuntimeGetVersion(ctypes.byref(version)) == 0
print(sys.argv[1] + ": " + ("theirs" if version.value == 1 else "ours"))
END
  whose ours python3 "$folder/preload.py" "$theirs/libcudart.so.12"
else
  echo "no python3 was found: NOTHING WAS LOADED BY IT"
fi

# A user's own LD_AUDIT has its say; ours the last word. So it has in a run within a run.
LD_AUDIT=$PWD/$6 whose ours "$subject" "$theirs/libcudart.so.12"
grep -q "^the user's audit library is there$" "$folder/stderr" || complain "the user's LD_AUDIT is gone"
whose ours "$twinmmu" run --quiet -- "$subject" "$theirs/libcudart.so.12"

# Libraries with thread-local memory at fixed offsets: what is usual, and what leaves no room for an
# audit library, so that the program starts without one. It may also come later, and is refused as ever.
cp -L "$7" "$folder/libjemalloc.so.2"
cp -L "$8" "$folder/libtsan.so.2"
whose ours bash -c 'LD_PRELOAD=$0 "$@"' "$folder/libjemalloc.so.2" "$subject" "$theirs/libcudart.so.12"
whose theirs bash -c 'LD_PRELOAD=$0 "$@"' "$folder/libtsan.so.2" "$subject" "$theirs/libcudart.so.12"
whose ours bash -c 'LD_PRELOAD=$0 "$@"' "$folder/libtsan.so.2" "$subject" libcudart.so.12
whose "ours\|.*static TLS block" "$subject" "$folder/libtsan.so.2" "$theirs/libcudart.so.12"

# The genuine runtime of a toolkit.
if [[ -n $9 ]]; then
  genuine=$(dirname "$(dirname "$9")")/lib64
  for runtime in "$genuine"/libcudart.so*; do whose ours "$subject" "$runtime"; done
  ! grep -q kRuntimeNeedsGenuineDriver "$folder/stderr" || complain "the genuine runtime was loaded"
else
  echo "no nvcc was found: NO GENUINE RUNTIME WAS LOADED"
fi

rm -rf "$folder"
exit $failed
