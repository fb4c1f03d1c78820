// What the suite and the random calls write, told in a few numbers.

#ifndef TWINMMU_CONFORMANCE_RECORDINGS_KNOWN_CONTENT_H_
#define TWINMMU_CONFORMANCE_RECORDINGS_KNOWN_CONTENT_H_

#include "api/testing/recording/codec.h"

namespace twinmmu::conformance {

// {"words": seed}: word i is FillWord(seed, i) of kernels/common.h, for the seeds that tests use.
KnownContent SuiteContent();

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_RECORDINGS_KNOWN_CONTENT_H_
