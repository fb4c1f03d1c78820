#!/bin/bash
# Where kernels run, the suite on the backend over the simulated library, under each policy of
# aliases but that of the reference. Usage: cuda_on_sim_aliases_test.sh CUDA_ON_SIM_TEST
set -u
failed=0
for policy in stale random l1; do
  TWINMMU_ALIAS_POLICY=$policy "$1" --gtest_filter='*/aliases.*:*/kernels.*:*/peers.*' || {
    echo "failed with TWINMMU_ALIAS_POLICY=$policy"
    failed=1
  }
done
exit $failed
