// The words of results that the runtime does not have: for the others, see errors_test.cc of the
// tests of the C interface.

#include "sim/libcuda/error_texts.h"

#include "gtest/gtest.h"

namespace twinmmu::libcuda {
namespace {

TEST(ErrorTextsTest, AreTheWordsOfTheNameWhereThereAreNoOthers) {
  EXPECT_STREQ(ErrorName(202), "CUDA_ERROR_CONTEXT_ALREADY_CURRENT");
  EXPECT_STREQ(ErrorText(202), "context already current");
  EXPECT_STREQ(ErrorText(916), "key rotation");
}

}  // namespace
}  // namespace twinmmu::libcuda
