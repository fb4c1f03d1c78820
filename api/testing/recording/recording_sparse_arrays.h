// The SparseArrays of a RecordingDriver.

#ifndef TWINMMU_API_TESTING_RECORDING_RECORDING_SPARSE_ARRAYS_H_
#define TWINMMU_API_TESTING_RECORDING_RECORDING_SPARSE_ARRAYS_H_

#include <memory>

#include "api/sparse_arrays.h"
#include "api/testing/recording/log.h"

namespace twinmmu {

// Both must outlive it.
std::unique_ptr<SparseArrays> MakeRecordingSparseArrays(SparseArrays* target, RecordingLog* log);

}  // namespace twinmmu

#endif  // TWINMMU_API_TESTING_RECORDING_RECORDING_SPARSE_ARRAYS_H_
