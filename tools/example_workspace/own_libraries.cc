// What this workspace defines itself is what it is built with.

#include "gtest/gtest.h"

#ifndef EXAMPLE_OWN_ABSEIL
#error "This workspace's own Abseil should be in use."
#endif
#ifndef EXAMPLE_OWN_GOOGLETEST
#error "This workspace's own GoogleTest should be in use."
#endif
