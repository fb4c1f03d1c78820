// Logical endpoints where a program of the C interface does not get to: shared ones, other
// machines, and the words of errors. The rest is in conformance/abi/later/endpoints_test.cc.

#include "sim/calls/endpoints/endpoint_calls.h"

#include <string>

#include "gmock/gmock.h"
#include "sim/testing/test_machine.h"

namespace twinmmu {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Profile MachineWithEndpoints() {
  Profile profile = *Profile::Named("driver-13.3");
  profile.fabric_permitted = true;
  return profile;
}

EndpointProperties Unicast(uint32_t handle_types = 0) {
  EndpointProperties properties;
  properties.size = 2 * kGranule;
  properties.handle_types = handle_types;
  return properties;
}

EndpointProperties TeamOf(uint32_t devices, uint32_t handle_types = 0) {
  EndpointProperties properties = Unicast(handle_types);
  properties.type = EndpointType::kMulticast;
  properties.device_count = devices;
  return properties;
}

AllocationProperties ForFabric(DeviceOrdinal device) {
  AllocationProperties properties = On(Location::Device(device));
  properties.requested_handle_types = HandleType::kFabric;
  return properties;
}

class EndpointCallsTest : public MachineTest {
 protected:
  explicit EndpointCallsTest(const Profile& profile = MachineWithEndpoints())
      : MachineTest(profile) {
    const auto first = endpoints().ReserveIds(4);
    EXPECT_THAT(first, IsOk());
    id_ = first.value_or(0);
  }
  EndpointCalls& endpoints() { return simulator_->endpoints(); }

  uint32_t id_ = 0;
};

TEST_F(EndpointCallsTest, AnImportIsTheSameEndpoint) {
  ASSERT_THAT(endpoints().Create(id_, TeamOf(2, kEndpointFabric)), IsOk());
  const auto handle = endpoints().Export(id_, kEndpointFabric);
  ASSERT_THAT(handle, IsOk());
  ASSERT_THAT(endpoints().Import(id_ + 1, *handle, kEndpointFabric), IsOk());
  EXPECT_THAT(endpoints().AddDevice(id_, kDevice0), IsOk());
  EXPECT_THAT(endpoints().AddDevice(id_ + 1, kDevice1), IsOk());
  EXPECT_THAT(endpoints().Query(id_, 2), IsOkAndHolds(true));
  const AllocationHandle memory = Create(1, ForFabric(kDevice1));
  EXPECT_THAT(endpoints().BindMemory(id_ + 1, kDevice1, Bytes(0), memory, Bytes(0), kGranule, 0),
              IsOk());
  EXPECT_THAT(endpoints().BindMemory(id_, kDevice1, Bytes(0), memory, Bytes(0), kGranule, 0),
              HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(endpoints().Destroy(id_), IsOk());
  EXPECT_THAT(endpoints().Query(id_ + 1, 1), IsOkAndHolds(true))
      << "it lives as long as one of them";
  EXPECT_THAT(endpoints().Destroy(id_ + 1), IsOk());
}

TEST_F(EndpointCallsTest, AnImportedUnicastEndpointIsNotBound) {
  ASSERT_THAT(endpoints().Create(id_, Unicast(kEndpointFabric)), IsOk());
  const auto handle = endpoints().Export(id_, kEndpointFabric);
  ASSERT_THAT(handle, IsOk());
  ASSERT_THAT(endpoints().Import(id_ + 1, *handle, kEndpointFabric), IsOk());
  EXPECT_THAT(endpoints().Query(id_, 2), IsOkAndHolds(true));
  const AllocationHandle memory = Create(1, ForFabric(kDevice0));
  EXPECT_THAT(endpoints().BindMemory(id_ + 1, kDevice0, Bytes(0), memory, Bytes(0), kGranule, 0),
              HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(endpoints().BindMemory(id_, kDevice0, Bytes(0), memory, Bytes(0), kGranule, 0),
              IsOk());
}

TEST_F(EndpointCallsTest, WhatIsSharedIsBoundToWhatCanBeShared) {
  ASSERT_THAT(endpoints().Create(id_, Unicast(kEndpointFabric)), IsOk());
  EXPECT_THAT(endpoints().Query(id_, 1), IsOkAndHolds(true));
  EXPECT_THAT(endpoints().BindMemory(id_, kDevice0, Bytes(0), Create(1), Bytes(0), kGranule, 0),
              HasDriverCode(DriverCode::kInvalidValue));
}

TEST_F(EndpointCallsTest, AHandleOfMemoryIsOfNoEndpoint) {
  const AllocationHandle memory = Create(1, ForFabric(kDevice0));
  const auto handle = vmm().ExportShareableHandle(memory, HandleType::kFabric, 0);
  ASSERT_THAT(handle, IsOk());
  EXPECT_THAT(endpoints().Import(id_, handle->fabric, kEndpointFabric),
              HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(endpoints().Import(id_, FabricHandle{}, kEndpointFabric),
              HasDriverCode(DriverCode::kNotSupported));
  EXPECT_THAT(endpoints().Create(id_, Unicast()), IsOk()) << "the number is still free";
}

// Errors are told as those of the call, and not of what is behind it.
TEST_F(EndpointCallsTest, ErrorsNameTheCallThatWasMade) {
  ASSERT_THAT(endpoints().Create(id_, Unicast()), IsOk());
  EXPECT_THAT(endpoints().Query(id_, 1), IsOkAndHolds(true));
  const absl::Status refused =
      endpoints().BindMemory(id_, kDevice0, Bytes(1), Create(1), Bytes(0), kGranule, 0);
  EXPECT_THAT(refused, HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(std::string(refused.message()),
              AllOf(HasSubstr("cuLogicalEndpointBindMem: offset"), Not(HasSubstr("cuMulticast"))));
}

// Numbers without endpoints take no time.
TEST_F(EndpointCallsTest, ManyNumbersAreAskedForAtOnce) {
  const auto first = endpoints().ReserveIds(4'000'000'000);
  ASSERT_THAT(first, IsOk());
  EXPECT_THAT(endpoints().Query(*first, 4'000'000'000), IsOkAndHolds(false));
  EXPECT_THAT(endpoints().ReserveIds(1'000'000'000), HasDriverCode(DriverCode::kOutOfMemory));
  EXPECT_THAT(endpoints().ReleaseIds(*first, 4'000'000'000), IsOk());
}

// As a report would list it as a leak.
TEST_F(EndpointCallsTest, NothingIsLeftOfAnEndpoint) {
  ASSERT_THAT(endpoints().Create(id_, Unicast()), IsOk());
  EXPECT_FALSE(simulator_->leaks().empty());
  EXPECT_THAT(endpoints().Destroy(id_), IsOk());
  EXPECT_TRUE(simulator_->leaks().empty());
}

Profile WithoutPeers() {
  Profile profile = MachineWithEndpoints();
  profile.peers = {{true, false}, {false, true}};
  return profile;
}

class TwoCliquesTest : public EndpointCallsTest {
 protected:
  TwoCliquesTest() : EndpointCallsTest(WithoutPeers()) {}
};

TEST_F(TwoCliquesTest, ATeamIsOfOneClique) {
  ASSERT_THAT(endpoints().Create(id_, TeamOf(2)), IsOk());
  EXPECT_THAT(endpoints().AddDevice(id_, kDevice0), IsOk());
  EXPECT_THAT(endpoints().AddDevice(id_, kDevice1), HasDriverCode(DriverCode::kInvalidDevice));
  EXPECT_THAT(endpoints().Query(id_, 1), IsOkAndHolds(false));
}

class NoFabricTest : public EndpointCallsTest {
 protected:
  NoFabricTest() : EndpointCallsTest(*Profile::Named("driver-13.3")) {}
};

TEST_F(NoFabricTest, NothingIsShared) {
  EXPECT_THAT(endpoints().Create(id_, Unicast(kEndpointFabric)),
              HasDriverCode(DriverCode::kNotPermitted));
  EXPECT_THAT(endpoints().Import(id_, FabricHandle{}, kEndpointFabric),
              HasDriverCode(DriverCode::kNotPermitted));
  EXPECT_THAT(endpoints().Create(id_, Unicast()), IsOk());
}

class OlderDeviceTest : public EndpointCallsTest {
 protected:
  OlderDeviceTest() : EndpointCallsTest(Profile::ReferenceH200(2)) {}
};

TEST_F(OlderDeviceTest, HasNoEndpoints) {
  EXPECT_THAT(endpoints().Create(id_, Unicast()), HasDriverCode(DriverCode::kNotSupported));
  EXPECT_THAT(endpoints().Create(id_, TeamOf(2)), HasDriverCode(DriverCode::kNotSupported));
  EXPECT_THAT(endpoints().GetLimits(Unicast()), HasDriverCode(DriverCode::kNotSupported));
}

}  // namespace
}  // namespace twinmmu
