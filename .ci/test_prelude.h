// What nearly all tests include.

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "prelude.h"
