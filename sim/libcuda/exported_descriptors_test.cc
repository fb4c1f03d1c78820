#include "sim/libcuda/exported_descriptors.h"

#include <sys/mman.h>
#include <unistd.h>

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu::libcuda {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<int> Closed(const ExportedDescriptors& exported) {
  std::vector<int> closed;
  exported.ForEachClosed([&](int descriptor) { closed.push_back(descriptor); });
  return closed;
}

int Memory() { return memfd_create("memory", MFD_CLOEXEC); }

TEST(ExportedDescriptorsTest, KnowsWhatIsClosed) {
  ExportedDescriptors exported;
  const int one = Memory();
  const int other = Memory();
  EXPECT_FALSE(exported.Add(one));
  EXPECT_FALSE(exported.Add(other));
  EXPECT_THAT(Closed(exported), IsEmpty());
  close(one);
  EXPECT_THAT(Closed(exported), ElementsAre(one));
  close(other);
  EXPECT_THAT(Closed(exported), ElementsAre(one, other));
}

// The program opened something else, and got the same number.
TEST(ExportedDescriptorsTest, AnotherFileOfTheNumberIsNotIt) {
  ExportedDescriptors exported;
  const int memory = Memory();
  exported.Add(memory);
  const int file = Memory();
  dup2(file, memory);
  EXPECT_THAT(Closed(exported), ElementsAre(memory));
  close(file);
  close(memory);
}

TEST(ExportedDescriptorsTest, ANumberThatComesAgainWasClosed) {
  ExportedDescriptors exported;
  const int memory = Memory();
  exported.Add(memory);
  close(memory);
  const int again = Memory();
  ASSERT_EQ(again, memory);
  EXPECT_TRUE(exported.Add(again));
  EXPECT_THAT(Closed(exported), IsEmpty());
  close(again);
}

}  // namespace
}  // namespace twinmmu::libcuda
