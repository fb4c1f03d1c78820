// What is recorded on a simulator comes out the same when it is played on another one, and what was
// changed in between does not.

#include <unistd.h>

#include <string>
#include <vector>

#include "conformance/instances/replay/replay_fixture.h"

namespace twinmmu::conformance {
namespace {

using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr Bytes kGranule = MiB(2);

class ReplayTest : public ReplayFixture {
 protected:
  // A mapping of a granule in a reservation of four, with the access for device 0.
  AddressRange MapOne() {
    const AddressRange range = *vmm().AddressReserve(4 * kGranule);
    const AddressRange first = range.subrange(Bytes(0), kGranule);
    handle_ = *vmm().Create(kGranule, Shareable());
    EXPECT_THAT(vmm().Map(first, handle_), IsOk());
    const AccessGrant grant{Location::Device(DeviceOrdinal(0)), Access::kReadWrite};
    EXPECT_THAT(vmm().SetAccess(first, {grant}), IsOk());
    return first;
  }
  static AllocationProperties Shareable() {
    AllocationProperties properties;
    properties.requested_handle_types = HandleType::kPosixFileDescriptor;
    return properties;
  }

  // Nearly every line is a call.
  void ExpectNoDifference() { ReplayFixture::ExpectNoDifference(Ge(lines().size() - 2)); }

  AllocationHandle handle_;
};

TEST_F(ReplayTest, AProgramComesOutTheSame) {
  const DeviceOrdinal device(0);
  const AddressRange mapping = MapOne();
  const std::vector<uint8_t> bytes(5000, 9);
  ASSERT_THAT(executor().CopyHostToDevice(device, mapping.base, bytes.data(), Bytes(5000)), IsOk());
  std::vector<uint8_t> read(5000);
  ASSERT_THAT(executor().CopyDeviceToHost(device, read.data(), mapping.base, Bytes(5000)), IsOk());
  ASSERT_THAT(executor().Fill(device, mapping.base, {7, Bytes(4)}, 10), IsOk());
  EXPECT_FALSE(vmm().Map(mapping, handle_).ok());
  ASSERT_THAT(vmm().RetainAllocationHandle(mapping.base), IsOkAndHolds(handle_));
  ASSERT_THAT(vmm().GetMemoryInfo(device), IsOk());
  for (const PointerAttribute attribute : AllPointerAttributes()) {
    vmm().GetPointerAttribute(device, attribute, mapping.base + Bytes(5)).IgnoreError();
  }
  ASSERT_THAT(vmm().GetAddressRange(device, mapping.base + Bytes(5)), IsOkAndHolds(mapping));
  EXPECT_FALSE(vmm().GetAccess(Location::Host(), DeviceAddress(0x1234)).ok());
  ExpectNoDifference();
}

TEST_F(ReplayTest, WhatStreamsReadComesOutTheSame) {
  const AddressRange mapping = MapOne();
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Stream stream, executor().CreateStream(DeviceOrdinal(0)));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Event event, executor().CreateEvent(DeviceOrdinal(0)));
  ASSERT_THAT(executor().Fill(stream, mapping.base, {0x01020304, Bytes(4)}, 4), IsOk());
  uint64_t word = 0;
  ASSERT_THAT(executor().CopyDeviceToHost(stream, &word, mapping.base, Bytes(8)), IsOk());
  ASSERT_THAT(executor().RecordEvent(event, stream), IsOk());
  ASSERT_THAT(executor().WaitEvent(Stream(DeviceOrdinal(0)), event), IsOk());
  ASSERT_THAT(executor().SynchronizeStream(stream), IsOk());
  EXPECT_EQ(lines().back().at("arrived").dump(), R"(["0403020104030201"])");
  ExpectNoDifference();
  lines().back()["arrived"][0] = "0403020104030202";
  TWINMMU_ASSERT_OK_AND_ASSIGN(const ReplayReport report, Play());
  ASSERT_EQ(report.differences.size(), 1u);
}

// The memory is free only when the descriptor is closed too, which is no call.
TEST_F(ReplayTest, AClosedDescriptorIsSeen) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle handle, vmm().Create(kGranule, Shareable()));
  TWINMMU_ASSERT_OK_AND_ASSIGN(
      const ShareableHandle shareable,
      vmm().ExportShareableHandle(handle, HandleType::kPosixFileDescriptor));
  ASSERT_THAT(vmm().Release(handle), IsOk());
  ASSERT_THAT(vmm().GetMemoryInfo(DeviceOrdinal(0)), IsOk());
  EXPECT_EQ(lines().back().at("taken"), kGranule.value());
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle import,
                               vmm().ImportShareableHandle(shareable));
  ASSERT_THAT(vmm().Release(import), IsOk());
  close(shareable.file_descriptor);
  ASSERT_THAT(vmm().GetMemoryInfo(DeviceOrdinal(0)), IsOk());
  EXPECT_EQ(lines().back().at("taken"), 0);
  EXPECT_EQ(lines()[lines().size() - 2].dump(), R"({"closed":"d1"})");
  ExpectNoDifference();
}

// Adjacency decides what a call over two reservations does.
TEST_F(ReplayTest, ReservationsAreWhereTheyWere) {
  const DeviceAddress far(uint64_t{1} << 46);
  ReserveOptions hint;
  hint.hint = far;
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AddressRange a, vmm().AddressReserve(kGranule, hint));
  hint.hint = a.end();
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AddressRange b, vmm().AddressReserve(kGranule, hint));
  ASSERT_EQ(b.base, a.end());
  for (const AddressRange& range : {a, b}) {
    TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle handle, vmm().Create(kGranule, {}));
    ASSERT_THAT(vmm().Map(range, handle), IsOk());
  }
  ASSERT_THAT(vmm().Unmap({a.base, 2 * kGranule, Bytes(0)}), IsOk());
  // Without its hints the recording is still one of neighbours.
  for (Json& line : lines()) line.erase("hint");
  TWINMMU_ASSERT_OK_AND_ASSIGN(const ReplayReport report, Play());
  EXPECT_THAT(report.differences, IsEmpty());
}

TEST_F(ReplayTest, AResultThatIsChangedIsADifference) {
  MapOne();
  lines().back()["code"] = "CUDA_ERROR_INVALID_VALUE";
  TWINMMU_ASSERT_OK_AND_ASSIGN(const ReplayReport report, Play());
  ASSERT_EQ(report.differences.size(), 1u);
  EXPECT_EQ(report.differences[0].line, lines().size());
  EXPECT_THAT(DifferingKeys(report.differences[0].recorded, report.differences[0].seen),
              ElementsAre("code"));
}

TEST_F(ReplayTest, ADifferenceIsCountedWhereAMaskCoversIt) {
  MapOne();
  lines().back()["code"] = "CUDA_ERROR_INVALID_VALUE";
  begin()["undefined"] = true;
  const auto is_set_access = [](const Section&, const Json& recorded, const Json&,
                                const std::string& key) {
    return recorded.at("call") == "SetAccess" && key == "code";
  };
  const Mask masks[] = {{"test", "", is_set_access, false}};
  ASSERT_THAT(Play(), IsOk());
  ReplayOptions options = SimReplayOptions();
  options.masks = masks;
  TWINMMU_ASSERT_OK_AND_ASSIGN(const ReplayReport report,
                               Replay(testing::TempDir() + "program.jsonl", options));
  EXPECT_THAT(report.differences, IsEmpty());
  EXPECT_EQ(report.masked.at("test"), 1u);
}

// Each line without each of its keys, and with something else under it.
TEST_F(ReplayTest, ALineThatIsNoneIsAnErrorAndNeverMore) {
  const AddressRange mapping = MapOne();
  const uint64_t word = 0;
  executor().CopyHostToDevice(DeviceOrdinal(0), mapping.base, &word, Bytes(8)).IgnoreError();
  vmm().ExportShareableHandle(handle_, HandleType::kPosixFileDescriptor).IgnoreError();
  vmm()
      .GetPointerAttribute(DeviceOrdinal(0), PointerAttribute::kMapped, mapping.base)
      .IgnoreError();
  const std::vector<Json> good = lines();
  int refused = 0;
  for (size_t i = 0; i < good.size(); ++i) {
    for (const auto& [key, value] : good[i].items()) {
      for (const Json& wrong : {Json(), Json("x"), Json(-1), Json::array(), Json(1e300)}) {
        lines() = good;
        lines()[i][key] = wrong;
        if (wrong.is_null()) lines()[i].erase(key);
        const absl::StatusOr<ReplayReport> report = Play();
        if (report.ok()) continue;
        ++refused;
        EXPECT_THAT(std::string(report.status().message()), HasSubstr("program"));
      }
    }
  }
  EXPECT_GT(refused, 50);
}

}  // namespace
}  // namespace twinmmu::conformance
