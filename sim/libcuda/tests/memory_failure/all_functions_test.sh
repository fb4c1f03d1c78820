#!/bin/bash
# Each function that is modelled is called by a test of this folder, unless it stands below.
# $1: third_party/cuda_abi/exports.inc. The others: the tests.
set -eu
export LC_ALL=C
exports=$1
shift

# Why.
declare -A never_succeeds=(
  [cuArrayGetPlane]='no array has planes'
  [cuDestroyExternalSemaphore]='nothing can be imported'
  [cuDeviceGetLuid]='of Windows'
  [cuDeviceGetNvSciSyncAttributes]='of other machines'
  [cuGetExportTable]='there are no tables'
  [cuImportExternalSemaphore]='nothing can be imported'
  [cuLibraryGetUnifiedFunction]='no device has unified functions'
  [cuMemBatchDecompressAsync]='no device decompresses'
  [cuParamSetTexRef]='it is refused by every driver'
  [cuProfilerInitialize]='it is refused by every driver'
  [cuSignalExternalSemaphoresAsync]='nothing can be imported'
  [cuWaitExternalSemaphoresAsync]='nothing can be imported'
)

modelled=$(sed -nE 's/^TWINMMU_CUDA_EXPORT\(kModelled, (cu[A-Za-z0-9_]+), .*/\1/p' "$exports" | sort -u)
[[ -n $modelled ]]
# Declarations are no calls.
called=$(grep -hv '^CUresult cu' "$@" | grep -ohE '\bcu[A-Z][A-Za-z0-9]*(_v[0-9]+)?(_ptds|_ptsz)?\b' |
  sed -E 's/(_v[0-9]+)?(_ptds|_ptsz)?$//' | sort -u)

left_out=$(printf '%s\n' "${!never_succeeds[@]}" | sort)
failed=0
for function in $(comm -23 <(echo "$modelled") <(sort -u <(echo "$called") <(echo "$left_out"))); do
  echo "No test calls $function where memory fails."
  failed=1
done
for function in $(comm -12 <(echo "$called") <(echo "$left_out")); do
  echo "$function is called: it is not to be left out."
  failed=1
done
exit $failed
