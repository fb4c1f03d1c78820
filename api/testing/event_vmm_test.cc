#include "api/testing/event_vmm.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "api/record/event_reader.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Does what it is asked for, as long as it is willing.
class WillingVmm : public ForwardingVmm {
 public:
  WillingVmm() : ForwardingVmm(nullptr) {}

  absl::StatusOr<AddressRange> AddressReserve(Bytes size, const ReserveOptions&) override {
    if (!status.ok()) return status;
    return AddressRange{DeviceAddress(0x1000), size, Bytes(0)};
  }
  absl::Status AddressFree(const AddressRange&) override { return status; }
  absl::StatusOr<AllocationHandle> Create(Bytes, const AllocationProperties&, uint64_t) override {
    if (!status.ok()) return status;
    return AllocationHandle(7);
  }
  absl::Status Release(AllocationHandle) override { return status; }
  absl::StatusOr<AllocationHandle> RetainAllocationHandle(DeviceAddress) override {
    return AllocationHandle(7);
  }
  absl::Status Map(const AddressRange&, AllocationHandle, Bytes, uint64_t) override {
    return status;
  }
  absl::Status Unmap(const AddressRange&) override { return status; }
  absl::Status SetAccess(const AddressRange&, absl::Span<const AccessGrant>) override {
    return status;
  }

  absl::Status status;
};

class EventVmmTest : public testing::Test {
 protected:
  // "map 1000 +64", a line each; failures with their words.
  std::vector<std::string> Told() {
    events_.reset();
    std::vector<std::string> lines;
    const auto reader = record::EventReader::Open(path_);
    record::Event event;
    const record::Stack* stack = nullptr;
    while (reader.ok() && (*reader)->Next(&event, &stack)) {
      lines.push_back(absl::StrCat(
          std::string(record::Word(event.kind)), " ", absl::Hex(event.address), " +", event.bytes,
          " of ", event.allocation, " ", event.device, " ", event.access, std::string(event.text)));
    }
    return lines;
  }

  const std::string path_ = testing::TempDir() + "event_vmm.events";
  std::unique_ptr<record::EventWriter> events_ = *record::EventWriter::Create(path_);
  WillingVmm target_;
  EventVmm vmm_{&target_, events_.get()};
  const AddressRange range_{DeviceAddress(0x1000), Bytes(64), Bytes(0)};
};

TEST_F(EventVmmTest, TellsWhatSucceeds) {
  AllocationProperties properties;
  properties.location = Location::Device(DeviceOrdinal(1));
  const AccessGrant grant{Location::Device(DeviceOrdinal(1)), Access::kReadWrite};
  ASSERT_TRUE(vmm_.AddressReserve(Bytes(64), ReserveOptions()).ok());
  ASSERT_TRUE(vmm_.Create(Bytes(64), properties, 0).ok());
  ASSERT_TRUE(vmm_.Map(range_, AllocationHandle(7), Bytes(0), 0).ok());
  ASSERT_TRUE(vmm_.SetAccess(range_, {grant}).ok());
  ASSERT_TRUE(vmm_.Unmap(range_).ok());
  ASSERT_TRUE(vmm_.Release(AllocationHandle(7)).ok());
  ASSERT_TRUE(vmm_.AddressFree(range_).ok());
  EXPECT_THAT(Told(), ElementsAre("reserve 1000 +64 of 0 -1 0", "create 0 +64 of 7 1 0",
                                  "map 1000 +64 of 7 -1 0", "set-access 1000 +64 of 0 1 3",
                                  "unmap 1000 +64 of 0 -1 0", "release 0 +0 of 7 -1 0",
                                  "address-free 1000 +64 of 0 -1 0"));
}

TEST_F(EventVmmTest, TellsTheLastReleaseOnly) {
  ASSERT_TRUE(vmm_.Create(Bytes(64), AllocationProperties(), 0).ok());
  ASSERT_TRUE(vmm_.RetainAllocationHandle(DeviceAddress(0x1000)).ok());
  ASSERT_TRUE(vmm_.Release(AllocationHandle(7)).ok());
  EXPECT_EQ(Told().size(), 1u);
}

TEST_F(EventVmmTest, TellsWhyACallFails) {
  target_.status = absl::InvalidArgumentError(" no");
  EXPECT_FALSE(vmm_.Unmap(range_).ok());
  EXPECT_THAT(Told(), ElementsAre("unmap 1000 +64 of 0 -1 0 no"));
}

}  // namespace
}  // namespace twinmmu
