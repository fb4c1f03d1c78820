// The log of failed calls, where a buffer is no larger than what is asked for. The driver writes
// more than there is room for: the simulated one is linked in.

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "sim/libcuda/calls/entry_points.h"

namespace twinmmu::libcuda {

// What the backend does not call.
extern "C" CUresult cuLogsCurrent(unsigned int*, unsigned int);
extern "C" CUresult cuLogsDumpToMemory(unsigned int*, char*, size_t*, unsigned int);

namespace {

class LogFunctionsTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
    ASSERT_EQ(cuLogsCurrent(&first_, 0), CUDA_SUCCESS);
  }

  unsigned int first_ = 0;  // the next line
};

TEST_F(LogFunctionsTest, NoLineIsNoError) {
  char text[100] = "before";
  size_t size = sizeof(text);
  EXPECT_EQ(cuLogsDumpToMemory(&first_, text, &size, 0), CUDA_SUCCESS);
  EXPECT_EQ(size, 0u);
  EXPECT_STREQ(text, "");
}

// With the zero behind the last line, which `size` does not count.
TEST_F(LogFunctionsTest, NothingIsWrittenBehindTheBuffer) {
  EXPECT_NE(cuMemRelease(0), CUDA_SUCCESS);
  std::vector<char> whole(4096);
  size_t length = whole.size();
  unsigned int from = first_;
  ASSERT_EQ(cuLogsDumpToMemory(&from, whole.data(), &length, 0), CUDA_SUCCESS);
  ASSERT_GT(length, 0u);
  for (size_t room = length - 2; room <= length + 1; ++room) {
    std::string text(length + 8, '#');
    size_t size = room;
    from = first_;
    EXPECT_EQ(cuLogsDumpToMemory(&from, text.data(), &size, 0), CUDA_SUCCESS);
    EXPECT_EQ(size == length, room > length) << room;
    EXPECT_EQ(text.substr(room), std::string(length + 8 - room, '#')) << room;
  }
}

}  // namespace
}  // namespace twinmmu::libcuda

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
