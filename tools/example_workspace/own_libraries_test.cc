// Compiles only where TwinMMU brings the Abseil and the GoogleTest that WORKSPACE defines.

#include "api/testing/matchers.h"

#ifndef EXAMPLE_OWN_ABSEIL
#error "This workspace's own Abseil should be in use."
#endif
#ifndef EXAMPLE_OWN_GOOGLETEST
#error "This workspace's own GoogleTest should be in use."
#endif
