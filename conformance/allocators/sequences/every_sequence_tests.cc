// Every sequence of calls on a small pool, compared with a model.

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "api/testing/forwarding.h"
#include "conformance/allocators/fixture.h"
#include "conformance/allocators/sequences/page_search.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu::conformance {
namespace {

using ::testing::HasSubstr;

class EverySequenceTest : public AllocatorTest {
 protected:
  PageMachine Machine(uint64_t memory) const {
    PageMachine machine;
    machine.memory = memory;
    machine.has_peer = accessors().size() > 1;
    return machine;
  }
  // All of them in a campaign.
  static std::optional<size_t> Length() {
    if (std::getenv("CAMPAIGN") != nullptr) return std::nullopt;
    return 3;
  }
  void ExpectAsTheModel(const PageMachine& machine) {
    const PageFigures figures = SearchPages(vmm(), executor(), machine, Length());
    EXPECT_EQ(figures.difference, "");
    uint64_t states = 0;
    for (const uint64_t count : figures.states) states += count;
    RecordProperty("states", std::to_string(states));
    RecordProperty("transitions", std::to_string(figures.transitions));
    EXPECT_GT(figures.refused, 0u);
  }
};

TEST_P(EverySequenceTest, IsAnsweredAsTheModelSays) { ExpectAsTheModel(Machine(4)); }

TEST_P(EverySequenceTest, IsAnsweredAsTheModelSaysWhereMemoryIsShort) {
  ExpectAsTheModel(Machine(2));
}

// Gives the peer nothing of what is mapped after the grant.
class ForgetsThePeer : public ForwardingVmm {
 public:
  using ForwardingVmm::ForwardingVmm;
  absl::Status SetAccess(const AddressRange& range, absl::Span<const AccessGrant> grants) override {
    return ForwardingVmm::SetAccess(range, grants.subspan(0, 1));
  }
};

TEST_P(EverySequenceTest, ShowsWhatTakesTwoCalls) {
  if (accessors().size() < 2) GTEST_SKIP() << "there is no peer";
  ForgetsThePeer wrong(&vmm());
  const PageFigures figures = SearchPages(wrong, executor(), Machine(4), 2);
  EXPECT_THAT(figures.difference, HasSubstr("the peer has other access, after"));
  EXPECT_EQ(figures.states.size(), 2u);
}

INSTANTIATE_TEST_SUITE_P(On, EverySequenceTest, testing::ValuesIn(Implementations()),
                         NameOfImplementation);

}  // namespace
}  // namespace twinmmu::conformance
