// Building blocks of mocks, one call at a time.

#ifndef TWINMMU_API_TESTING_MOCK_CALL_H_
#define TWINMMU_API_TESTING_MOCK_CALL_H_

#include "api/call_macros.h"
#include "api/testing/googletest.h"

// For the lists of api/calls.inc.
#define TWINMMU_MOCK(context, id, result, method, ...) \
  MOCK_METHOD(result, method, (TWINMMU_PARAMETERS(__VA_ARGS__)), (override));

// A call with any arguments, even if two calls share a name: ON_CALL(mock, TWINMMU_ANY(...)).
#define TWINMMU_ANY(method, ...) method(TWINMMU_FOR_PARAMETERS(TWINMMU_ANY_OF, __VA_ARGS__))
#define TWINMMU_ANY_OF(type, parameter) ::testing::A<type>()

// The forms of a mock are compiled once, with what they make of all its calls, and not wherever one
// is used; `linkage` is extern, and empty in that one source. In the global namespace.
#define TWINMMU_COMPILED_MOCK(linkage, Mock)        \
  linkage template class ::testing::NiceMock<Mock>; \
  linkage template class ::testing::StrictMock<Mock>;

#endif  // TWINMMU_API_TESTING_MOCK_CALL_H_
