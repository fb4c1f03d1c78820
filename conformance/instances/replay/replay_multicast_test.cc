// What programs with multicast objects do comes out the same when it is played on another
// simulator.

#include <string>
#include <vector>

#include "conformance/instances/replay/replay_cuda_on_sim.h"
#include "conformance/instances/replay/replay_fixture.h"

namespace twinmmu::conformance {
namespace {

using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr DeviceOrdinal kDevice0(0);
constexpr DeviceOrdinal kDevice1(1);
constexpr Bytes kGranule = MiB(2);

class ReplayMulticastTest : public ReplayFixture {
 protected:
  static MulticastProperties Of(uint32_t devices, uint64_t granules) {
    return {devices, granules * kGranule, HandleType::kNone, 0};
  }
  AllocationHandle Memory(DeviceOrdinal device) {
    AllocationProperties properties;
    properties.location = Location::Device(device);
    return *vmm().Create(kGranule, properties);
  }
  std::string LastLine() { return lines().back().dump(); }

  // An object of two devices that is bound, mapped and unbound, and calls that are refused.
  void RunProgram() {
    multicast().GetGranularity(Of(2, 1), Granularity::kMinimum).IgnoreError();
    const AllocationHandle object = *multicast().Create(Of(2, 2));
    const AllocationHandle memory = Memory(kDevice0);
    ASSERT_THAT(multicast().AddDevice(object, kDevice0), IsOk());
    EXPECT_FALSE(multicast().BindMemory(object, Bytes(0), memory, Bytes(0), kGranule).ok());
    ASSERT_THAT(multicast().AddDevice(object, kDevice1), IsOk());
    ASSERT_THAT(multicast().BindMemory(object, kGranule, memory, Bytes(0), kGranule), IsOk());
    const AddressRange range = *vmm().AddressReserve(kGranule);
    ASSERT_THAT(vmm().Map(range, Memory(kDevice1)), IsOk());
    ASSERT_THAT(vmm().SetAccess(range, {{Location::Device(kDevice1), Access::kReadWrite}}), IsOk());
    ASSERT_THAT(multicast().BindAddress(object, Bytes(0), range), IsOk());
    EXPECT_FALSE(multicast().BindAddress(object, Bytes(0), range, 1).ok());
    const AddressRange all = *vmm().AddressReserve(2 * kGranule);
    ASSERT_THAT(vmm().Map(all, object), IsOk());
    ASSERT_THAT(multicast().Unbind(object, kDevice0, kGranule, kGranule), IsOk());
    EXPECT_FALSE(multicast().Unbind(object, kDevice0, kGranule, kGranule).ok());
    ASSERT_THAT(vmm().Unmap(all), IsOk());
    ASSERT_THAT(vmm().Release(object), IsOk());
  }
};

TEST_F(ReplayMulticastTest, AProgramComesOutTheSame) {
  RunProgram();
  ExpectNoDifference(Eq(lines().size()));
  TWINMMU_ASSERT_OK_AND_ASSIGN(
      const ReplayReport report,
      Replay(testing::TempDir() + "program.jsonl", CudaOnSimReplayOptions()));
  EXPECT_THAT(report.differences, IsEmpty());
  EXPECT_EQ(report.calls, lines().size());
}

TEST_F(ReplayMulticastTest, ALineSaysWhatIsBoundWhere) {
  const AllocationHandle object = *multicast().Create(Of(1, 2));
  EXPECT_EQ(LastLine(), R"({"call":"MulticastCreate","properties":{"devices":1,"size":4194304},)"
                        R"("code":"CUDA_SUCCESS","handle":"h1"})");
  const AllocationHandle memory = Memory(kDevice0);
  ASSERT_THAT(multicast().AddDevice(object, kDevice0), IsOk());
  EXPECT_EQ(LastLine(),
            R"({"call":"MulticastAddDevice","object":"h1","device":0,"code":"CUDA_SUCCESS"})");
  ASSERT_THAT(multicast().BindMemory(object, kGranule, memory, Bytes(0), kGranule), IsOk());
  EXPECT_EQ(LastLine(),
            R"({"call":"MulticastBindMemory","object":"h1","offset":2097152,"memory":"h2",)"
            R"("size":2097152,"code":"CUDA_SUCCESS"})");
  const AddressRange nowhere{DeviceAddress(0x1000), kGranule, Bytes(0)};
  EXPECT_FALSE(multicast().BindAddress(object, Bytes(0), nowhere, 4).ok());
  EXPECT_THAT(LastLine(), HasSubstr(R"({"call":"MulticastBindAddress","object":"h1",)"
                                    R"("range":"0x1000","size":2097152,"flags":4,)"));
  ASSERT_THAT(multicast().Unbind(object, kDevice0, kGranule, kGranule), IsOk());
  EXPECT_EQ(LastLine(), R"({"call":"MulticastUnbind","object":"h1","offset":2097152,"device":0,)"
                        R"("size":2097152,"code":"CUDA_SUCCESS"})");
}

TEST_F(ReplayMulticastTest, AResultThatIsChangedIsADifference) {
  RunProgram();
  const std::vector<Json> good = lines();
  for (size_t i = 0; i < good.size(); ++i) {
    lines() = good;
    lines()[i]["code"] = "CUDA_ERROR_UNKNOWN";
    TWINMMU_ASSERT_OK_AND_ASSIGN(const ReplayReport report, Play());
    ASSERT_EQ(report.differences.size(), 1u) << good[i].dump();
    EXPECT_EQ(report.differences[0].line, i + 1);
    EXPECT_THAT(DifferingKeys(report.differences[0].recorded, report.differences[0].seen),
                ElementsAre("code"));
  }
}

// Each line without each of its keys, and with something else under it.
TEST_F(ReplayMulticastTest, ALineThatIsNoneIsAnErrorAndNeverMore) {
  RunProgram();
  const std::vector<Json> good = lines();
  int refused = 0;
  for (size_t i = 0; i < good.size(); ++i) {
    if (TextOr(good[i], "call").rfind("Multicast", 0) != 0) continue;
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
