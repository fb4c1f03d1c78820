// The Vmm of a RecordingDriver.

#ifndef TWINMMU_API_TESTING_RECORDING_RECORDING_VMM_H_
#define TWINMMU_API_TESTING_RECORDING_RECORDING_VMM_H_

#include <memory>

#include "api/testing/recording/log.h"
#include "api/vmm.h"

namespace twinmmu {

// Both must outlive it.
std::unique_ptr<Vmm> MakeRecordingVmm(Vmm* target, RecordingLog* log);

}  // namespace twinmmu

#endif  // TWINMMU_API_TESTING_RECORDING_RECORDING_VMM_H_
