// What the words of a fault say of the memory that is nearest to its address.

#include "sim/diagnostics/neighbours.h"

#include <cstdint>
#include <string>
#include <vector>

#include "api/diagnostics.h"
#include "api/testing/matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sim/calls/pools/pool_calls.h"
#include "sim/memory/linear_memory.h"
#include "sim/state/simulator_state.h"
#include "sim/testing/test_machine.h"

namespace twinmmu {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Of a machine without memory, so that there are variables only.
class NeighboursTest : public testing::Test {
 protected:
  void Add(const std::string& name, uint64_t base, uint64_t size) {
    variables_.push_back({AddressRange{DeviceAddress(base), Bytes(size), Bytes(0)}, name});
  }
  std::string Near(uint64_t address) const {
    return NeighboursInWords(state_, DeviceAddress(address), variables_);
  }
  // The names alone, which have one letter each.
  std::string NamesNear(uint64_t address) const {
    const std::string words = Near(address);
    std::string names;
    for (size_t at = words.find(", ["); at != std::string::npos; at = words.find(", [", at + 1)) {
      names += words[at - 1];
    }
    return names;
  }

  const Profile profile_ = Profile::ReferenceH200();
  SimulatorState state_{profile_, *Window::Make(profile_.window, profile_.default_alignment(),
                                                LinearMemory::AddressesFor(profile_))};
  std::vector<Neighbour> variables_;
};

TEST_F(NeighboursTest, AreNoneWhereThereIsNothing) { EXPECT_EQ(Near(0x1000), ""); }

TEST_F(NeighboursTest, AreToldWithTheirDistance) {
  Add("a", 0x1000, 16);
  Add("b", 0x2000, 256);
  const std::string a = " a, [0x1000, +16 B]; ";
  const std::string b = " before b, [0x2000, +256 B]";
  EXPECT_EQ(Near(0x0ff0), "16 B before" + a + "4112 B" + b);
  EXPECT_EQ(Near(0x1000), "in" + a + "4 KiB" + b);
  EXPECT_EQ(Near(0x100f), "in" + a + "4081 B" + b);
  EXPECT_EQ(Near(0x1010), "0 B after" + a + "4080 B" + b);
  EXPECT_EQ(Near(0x1014), "4 B after" + a + "4076 B" + b);
}

// Of those that are equally far the one that was found first.
TEST_F(NeighboursTest, AreTheNearestFirst) {
  Add("c", 0x5000, 16);
  Add("a", 0x2000, 16);
  Add("x", 0x1000, 16);
  Add("b", 0x0000, 16);
  Add("y", 0x0fe0, 16);
  EXPECT_EQ(NamesNear(0x0ff8), "xybac");
}

TEST_F(NeighboursTest, AreEightAtMost) {
  for (uint64_t i = 0; i < 8; ++i) Add(std::string(1, 'a' + i), 0x1000 * (8 - i), 16);
  Add("n", 0x8000, 16);  // as far as the last
  EXPECT_EQ(NamesNear(0), "hgfedcba");
  Add("o", 0x7000, 16);
  EXPECT_EQ(NamesNear(0), "hgfedcbo");
}

// The whole machine: where a kernel stores at an address that is reserved only.
class NearestMemoryTest : public MachineTest {
 protected:
  static constexpr char kStores[] = R"(
.version 8.0
.target sm_90
.address_size 64
.global .align 4 .b8 counts[64];
.visible .entry store(.param .u64 place)
{
  .reg .u64 %place;
  ld.param.u64 %place, [place];
  st.global.u32 [%place], 7;
  st.global.u32 [counts], 7;
  ret;
}
)";
  std::string WordsOfFault() {
    const DeviceAddress place = Reserve(1).base;
    const auto module = executor().LoadModule(kDevice0, kStores);
    EXPECT_THAT(module, IsOk());
    const auto kernel = executor().GetKernel(*module, "store");
    EXPECT_THAT(kernel, IsOk());
    const void* const arguments[] = {&place};
    EXPECT_THAT(executor().Launch(Stream(kDevice0), *kernel, LaunchConfig(), arguments), IsOk());
    return std::string(executor().SynchronizeDevice(kDevice0).message());
  }
};

// A managed variable is where the program has it, and not with the others of its module.
TEST_F(NearestMemoryTest, IsOfAManagedVariable) {
  const std::string text = R"(
.version 8.0
.target sm_90
.address_size 64
.global .attribute(.managed) .align 4 .b8 shared_counts[64];
.visible .entry store_far_behind()
{
  .reg .u64 %place;
  mov.u64 %place, shared_counts;
  add.u64 %place, %place, 0x4000000040;
  st.global.u32 [%place], 7;
  ret;
}
)";
  const auto module = executor().LoadModule(kDevice0, text);
  ASSERT_THAT(module, IsOk());
  const auto kernel = executor().GetKernel(*module, "store_far_behind");
  ASSERT_THAT(kernel, IsOk());
  ASSERT_THAT(executor().Launch(Stream(kDevice0), *kernel, LaunchConfig(), {}), IsOk());
  EXPECT_THAT(std::string(executor().SynchronizeDevice(kDevice0).message()),
              HasSubstr("256 GiB after variable shared_counts, ["));
}

// A variable of a module is told by its name, and not as memory of the module, too.
TEST_F(NearestMemoryTest, IsOfAVariable) {
  EXPECT_THAT(WordsOfFault(), AllOf(HasSubstr("variable counts, ["), Not(HasSubstr("memory of"))));
}

TEST_F(NearestMemoryTest, IsOfAMapping) {
  const AddressRange range = Ready(1);
  EXPECT_THAT(WordsOfFault(), AllOf(HasSubstr(" the mapping of call "), HasSubstr(InWords(range))));
}

TEST_F(NearestMemoryTest, IsOfAnAllocation) {
  const auto memory = linear().Allocate({kDevice0}, Bytes(512));
  ASSERT_THAT(memory, IsOk());
  EXPECT_THAT(WordsOfFault(), AllOf(HasSubstr(" memory of cuMemAlloc, call "),
                                    HasSubstr(InWords(At(*memory, Bytes(512))))));
}

// A pool is told piece by piece, as long as a piece is not freed.
TEST_F(NearestMemoryTest, IsOfAPieceOfAPool) {
  const Stream stream = *executor().CreateStream(kDevice0);
  const auto freed = simulator_->pools().Allocate(stream, Bytes(512));
  ASSERT_THAT(freed, IsOk());
  const auto kept = simulator_->pools().Allocate(stream, Bytes(1024));
  ASSERT_THAT(kept, IsOk());
  ASSERT_THAT(simulator_->pools().Free(stream, *freed), IsOk());
  ASSERT_THAT(executor().SynchronizeStream(stream), IsOk());
  const std::string words = WordsOfFault();
  EXPECT_THAT(words, HasSubstr(" memory of cuMemAllocAsync, call "));
  EXPECT_THAT(words, HasSubstr(InWords(At(*kept, Bytes(1024)))));
  EXPECT_EQ(words.find("memory of"), words.rfind("memory of"));
}

}  // namespace
}  // namespace twinmmu
