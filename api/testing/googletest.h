// GoogleTest and GoogleMock, of a version that TwinMMU knows.

#ifndef TWINMMU_API_TESTING_GOOGLETEST_H_
#define TWINMMU_API_TESTING_GOOGLETEST_H_

#include "gmock/gmock.h"
#include "gtest/gtest.h"

// GoogleTest has no number to compare. This came with 1.12.
#ifndef GTEST_FLAG_SET
#error "TwinMMU needs GoogleTest 1.12 or newer, and this is older: update the one of your build."
#endif

#endif  // TWINMMU_API_TESTING_GOOGLETEST_H_
