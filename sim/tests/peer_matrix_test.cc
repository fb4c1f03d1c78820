// Any matrix of peers, of two to eight devices: who reaches whose memory, and in which direction.

#include <array>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "sim/calls/pools/pool_calls.h"
#include "sim/testing/test_machine.h"

namespace twinmmu {
namespace {

// Each device reaches each other one by chance, so that of many pairs only one reaches the other.
Profile RandomMatrix(int devices, uint32_t seed) {
  Profile profile = Profile::ReferenceH200(devices);
  std::mt19937 random(seed);
  for (size_t a = 0; a < profile.peers.size(); ++a) {
    for (size_t b = 0; b < profile.peers.size(); ++b) profile.peers[a][b] = random() % 2 == 0;
  }
  return profile;
}

class PeerMatrixTest : public testing::TestWithParam<std::tuple<int, uint32_t>> {
 protected:
  void SetUp() override {
    // Each device has a granule of its own memory, to which nobody has access, and a word in it.
    for (int b = 0; b < devices(); ++b) {
      const auto range = vmm().AddressReserve(kGranule);
      ASSERT_THAT(range, IsOk());
      memory_.push_back(*range);
      const auto handle = vmm().Create(kGranule, On(Location::Device(DeviceOrdinal(b))));
      ASSERT_THAT(handle, IsOk()) << "on each device memory is made, whoever reaches it";
      ASSERT_THAT(vmm().Map(*range, *handle), IsOk());
    }
  }
  Vmm& vmm() { return **simulator_->vmm(); }
  Executor& executor() { return **simulator_->executor(); }
  PoolCalls& pools() { return simulator_->pools(); }
  static int devices() { return std::get<0>(GetParam()); }
  bool Reaches(int a, int b) const {
    return a == b || profile_.peers[static_cast<size_t>(a)][static_cast<size_t>(b)];
  }
  const AddressRange& memory(int b) const { return memory_[static_cast<size_t>(b)]; }
  // For device `a`, of the memory of device `b`.
  absl::Status Grant(int a, int b, Access access) {
    return vmm().SetAccess(memory(b), std::array{For(DeviceOrdinal(a), access)});
  }
  absl::StatusOr<Access> AccessOf(int a, int b) {
    return vmm().GetAccess(Location::Device(DeviceOrdinal(a)), memory(b).base);
  }
  absl::Status Write(int a, int b, uint32_t value) {
    return executor().CopyHostToDevice(DeviceOrdinal(a), memory(b).base, &value, Bytes(4));
  }
  uint32_t WordOf(int b) {
    uint32_t value = 0;
    EXPECT_THAT(executor().CopyDeviceToHost(DeviceOrdinal(b), &value, memory(b).base, Bytes(4)),
                IsOk());
    return value;
  }
  absl::Status Copy(int a, int to, int from) {
    return executor().CopyDeviceToDevice(DeviceOrdinal(a), memory(to).base, memory(from).base,
                                         Bytes(4));
  }
  // Everybody who can be is granted everything.
  void GrantAll() {
    for (int a = 0; a < devices(); ++a) {
      for (int b = 0; b < devices(); ++b) {
        if (!Reaches(a, b)) continue;
        EXPECT_THAT(Grant(a, b, Access::kReadWrite), IsOk());
      }
    }
  }

 private:
  const Profile profile_ = RandomMatrix(devices(), std::get<1>(GetParam()));
  const std::unique_ptr<Simulator> simulator_ = *Simulator::Create(profile_);
  std::vector<AddressRange> memory_;
};

// CanAccessPeer is the matrix, in each direction, but that no device is its own peer.
TEST_P(PeerMatrixTest, TellsWhoReachesWhom) {
  for (int a = 0; a < devices(); ++a) {
    for (int b = 0; b < devices(); ++b) {
      EXPECT_THAT(vmm().CanAccessPeer(DeviceOrdinal(a), DeviceOrdinal(b)),
                  IsOkAndHolds(a != b && Reaches(a, b)))
          << a << " to " << b;
    }
  }
}

// Access is granted to the owner, and to who reaches it; a refusal leaves all access as they were.
TEST_P(PeerMatrixTest, GrantsToWhoReachesIt) {
  for (int a = 0; a < devices(); ++a) {
    for (int b = 0; b < devices(); ++b) {
      SCOPED_TRACE(testing::Message() << a << " to memory of " << b);
      const absl::Status granted = Grant(a, b, Access::kRead);
      EXPECT_THAT(granted,
                  HasDriverCode(Reaches(a, b) ? DriverCode::kSuccess : DriverCode::kInvalidDevice));
    }
  }
  for (int a = 0; a < devices(); ++a) {
    for (int b = 0; b < devices(); ++b) {
      EXPECT_THAT(AccessOf(a, b), IsOkAndHolds(Reaches(a, b) ? Access::kRead : Access::kNone))
          << a << " to memory of " << b;
    }
  }
}

// A copy writes where its device was granted, which the owner reads, and nowhere else.
TEST_P(PeerMatrixTest, WritesWhereItReaches) {
  GrantAll();
  for (int b = 0; b < devices(); ++b) {
    for (int a = 0; a < devices(); ++a) {
      SCOPED_TRACE(testing::Message() << a << " to memory of " << b);
      const uint32_t before = WordOf(b);
      const uint32_t value = static_cast<uint32_t>(100 * b + a + 1);
      EXPECT_THAT(Write(a, b, value),
                  HasDriverCode(Reaches(a, b) ? DriverCode::kSuccess : DriverCode::kInvalidValue));
      EXPECT_EQ(WordOf(b), Reaches(a, b) ? value : before);
    }
  }
}

// A copy from one device's memory to another's needs that its device reaches both.
TEST_P(PeerMatrixTest, CopiesBetweenWhatItReaches) {
  GrantAll();
  for (int b = 0; b < devices(); ++b) ASSERT_THAT(Write(b, b, static_cast<uint32_t>(b)), IsOk());
  for (int a = 0; a < devices(); ++a) {
    for (int to = 0; to < devices(); ++to) {
      for (int from = 0; from < devices(); ++from) {
        if (to == from) continue;
        SCOPED_TRACE(testing::Message() << a << " from " << from << " to " << to);
        const bool both = Reaches(a, to) && Reaches(a, from);
        EXPECT_THAT(Copy(a, to, from),
                    HasDriverCode(both ? DriverCode::kSuccess : DriverCode::kInvalidValue));
        EXPECT_EQ(WordOf(to), static_cast<uint32_t>(both ? from : to));
        ASSERT_THAT(Write(to, to, static_cast<uint32_t>(to)), IsOk());
      }
    }
  }
}

// Memory of the host is of no device, so that all of them may have access to it.
TEST_P(PeerMatrixTest, ReachesPoolsOfTheHost) {
  PoolProperties properties;
  properties.place.location = Location::HostNuma(0);
  const auto pool = pools().Create(properties);
  ASSERT_THAT(pool, IsOk());
  for (int a = 0; a < devices(); ++a) {
    EXPECT_THAT(pools().SetAccess(*pool, std::array{For(DeviceOrdinal(a), Access::kReadWrite)}),
                IsOk());
  }
}

INSTANTIATE_TEST_SUITE_P(Machines, PeerMatrixTest,
                         testing::Combine(testing::Range(2, 9), testing::Range(1u, 6u)),
                         [](const auto& test) {
                           return std::to_string(std::get<0>(test.param)) + "_devices_" +
                                  std::to_string(std::get<1>(test.param));
                         });

}  // namespace
}  // namespace twinmmu
