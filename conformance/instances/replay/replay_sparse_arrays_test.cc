// What programs with sparse arrays do comes out the same when it is played on another simulator.

#include <string>
#include <vector>

#include "conformance/instances/replay/replay_fixture.h"

namespace twinmmu::conformance {
namespace {

using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::HasSubstr;

constexpr DeviceOrdinal kDevice(0);
constexpr Bytes kTile = KiB(64);

class ReplaySparseTest : public ReplayFixture {
 protected:
  ReplaySparseTest() {
    AllocationProperties pool;
    pool.usage = kUsageTilePool;
    pool_ = *vmm().Create(MiB(2), pool);
    stream_ = *executor().CreateStream(kDevice);
  }

  Stream stream() const { return stream_; }

  TileOperation Map(Array array, uint64_t of_pool) const {
    TileOperation operation;
    operation.array = array;
    operation.tiles.extent = {128, 128, 1};
    operation.memory = pool_;
    operation.memory_offset = kTile * of_pool;
    return operation;
  }
  absl::Status Write(Array array, const ArrayExtent& at, const ArrayExtent& extent,
                     const std::vector<uint32_t>& words) {
    return arrays().CopyHostToArray(stream_, array, at, extent, words.data());
  }
  // The line that says what came.
  std::string Read(Array array, const ArrayExtent& at, const ArrayExtent& extent) {
    std::vector<uint32_t> words(extent.x * extent.y * extent.z);
    EXPECT_THAT(arrays().CopyArrayToHost(stream_, words.data(), array, at, extent), IsOk());
    EXPECT_THAT(executor().SynchronizeStream(stream_), IsOk());
    return lines().back().dump();
  }
  // An array of which one tile is mapped and has data, a copy that is refused, and a mipmapped one.
  void RunProgram() {
    const Array array = *arrays().CreateArray(kDevice, {{256, 256, 0}});
    arrays().GetArraySparseProperties(array).IgnoreError();
    ASSERT_THAT(arrays().MapTiles(stream(), {Map(array, 3)}), IsOk());
    ASSERT_THAT(Write(array, {126, 1, 0}, {3, 2, 1}, {1, 2, 3, 4, 5, 6}), IsOk());
    Read(array, {126, 1, 0}, {4, 2, 1});
    EXPECT_FALSE(Write(array, {256, 1, 0}, {3, 2, 1}, {}).ok());
    const MipmappedArray mipmap = *arrays().CreateMipmappedArray(kDevice, {{256, 256, 0}}, 9);
    arrays().GetMipmappedArraySparseProperties(mipmap).IgnoreError();
    TileOperation tail = Map(array, 5);
    tail.mipmap = mipmap;
    tail.subresource = ArraySubresource::kMipTail;
    tail.mip_tail.size = kTile;
    ASSERT_THAT(arrays().MapTiles(stream(), {tail}), IsOk());
    const Array level = *arrays().GetLevel(mipmap, 3);
    ASSERT_THAT(Write(level, {0, 0, 0}, {2, 1, 1}, {7, 8}), IsOk());
    Read(level, {0, 0, 0}, {2, 1, 1});
    ASSERT_THAT(arrays().DestroyMipmappedArray(mipmap), IsOk());
    ASSERT_THAT(arrays().DestroyArray(array), IsOk());
  }

  // Every line is a call.
  void ExpectNoDifference() { ReplayFixture::ExpectNoDifference(Eq(lines().size())); }

  AllocationHandle pool_;
  Stream stream_;
};

TEST_F(ReplaySparseTest, AProgramComesOutTheSame) {
  RunProgram();
  ExpectNoDifference();
}

TEST_F(ReplaySparseTest, ALineSaysWhichBoxAndWhatIsInIt) {
  const Array array = *arrays().CreateArray(kDevice, {{256, 256, 0}});
  EXPECT_EQ(lines().back().dump(),
            R"({"call":"CreateArray","descriptor":{"extent":[256,256,0]},"device":0,)"
            R"("code":"CUDA_SUCCESS","array":"a1"})");
  ASSERT_THAT(arrays().MapTiles(stream(), {Map(array, 1)}), IsOk());
  ASSERT_THAT(Write(array, {126, 1, 0}, {3, 1, 1}, {0x01010101, 0x02020202, 3}), IsOk());
  EXPECT_EQ(lines().back().dump(),
            R"({"call":"CopyHostToArray","array":"a1","offset":[126,1,0],"extent":[3,1,1],)"
            R"("stream":"s1","device":0,"size":12,)"
            R"("code":"CUDA_SUCCESS","data":"010101010202020203000000"})");
  // The third is not in the tile that is mapped.
  EXPECT_THAT(Read(array, {126, 1, 0}, {3, 1, 1}),
              HasSubstr(R"("arrived":["010101010202020200000000"])"));
}

// What the driver gives out again after an array is gone is another thing.
TEST_F(ReplaySparseTest, ALevelHasOneNameAndTheNextArrayAnother) {
  const MipmappedArray mipmap = *arrays().CreateMipmappedArray(kDevice, {{256, 256, 0}}, 9);
  for (const char* name : {"a1", "a1"}) {
    ASSERT_THAT(arrays().GetLevel(mipmap, 2), IsOk());
    EXPECT_EQ(lines().back().at("array"), name);
  }
  ASSERT_THAT(arrays().GetLevel(mipmap, 3), IsOk());
  EXPECT_EQ(lines().back().at("array"), "a2");
  ASSERT_THAT(arrays().DestroyMipmappedArray(mipmap), IsOk());
  ASSERT_THAT(arrays().CreateMipmappedArray(kDevice, {{256, 256, 0}}, 9), IsOk());
  EXPECT_EQ(lines().back().at("mipmap"), "p2");
  ExpectNoDifference();
}

TEST_F(ReplaySparseTest, NullIsPlayedAsNull) {
  const Array array = *arrays().CreateArray(kDevice, {{256, 256, 0}});
  EXPECT_FALSE(arrays().CopyHostToArray(stream(), array, {}, {1, 1, 1}, nullptr).ok());
  EXPECT_FALSE(arrays().CopyArrayToHost(stream(), nullptr, array, {}, {1, 1, 1}).ok());
  EXPECT_FALSE(arrays().DestroyArray(Array(kDevice, 0)).ok());
  ExpectNoDifference();
}

TEST_F(ReplaySparseTest, AnArrayOfAnotherDeviceThanTheStreamIsOne) {
  const Array array = *arrays().CreateArray(DeviceOrdinal(1), {{256, 256, 0}});
  arrays().CopyHostToArray(stream(), array, {}, {1, 1, 1}, "abcd").IgnoreError();
  EXPECT_EQ(lines().back().at("device"), 0);
  EXPECT_EQ(lines().back().at("array_device"), 1);
  ExpectNoDifference();
  arrays()
      .CopyHostToArray(stream(), Array(kDevice, array.value()), {}, {1, 1, 1}, "abcd")
      .IgnoreError();
  EXPECT_NE(lines().back().at("code"), lines()[lines().size() - 2].at("code"));
  ExpectNoDifference();
}

// No memory of the player is as large as these.
TEST_F(ReplaySparseTest, ABoxThatIsTooLargeIsRefusedAgain) {
  const Array array = *arrays().CreateArray(kDevice, {{256, 256, 0}});
  const uint64_t huge = uint64_t{1} << 62;
  for (const ArrayExtent& extent : {ArrayExtent{huge, 1, 1}, ArrayExtent{huge, huge, huge}}) {
    EXPECT_FALSE(Write(array, {}, extent, {}).ok());
  }
  ExpectNoDifference();
}

TEST_F(ReplaySparseTest, AResultThatIsChangedIsADifference) {
  RunProgram();
  const std::vector<Json> good = lines();
  const auto differs = [&](size_t line, const char* key) {
    const auto report = Play();
    ASSERT_THAT(report, IsOk());
    ASSERT_EQ(report->differences.size(), 1u) << good[line].dump();
    EXPECT_EQ(report->differences[0].line, line + 1);
    EXPECT_THAT(DifferingKeys(report->differences[0].recorded, report->differences[0].seen),
                ElementsAre(key));
  };
  for (size_t i = 0; i < good.size(); ++i) {
    lines() = good;
    lines()[i]["code"] = "CUDA_ERROR_UNKNOWN";
    differs(i, "code");
    for (const char* key : {"properties", "arrived"}) {
      if (!good[i].contains(key) || TextOr(good[i], "call") == "Create") continue;
      lines() = good;
      lines()[i][key] = "another";
      differs(i, key);
    }
  }
}

// Each line without each of its keys, and with something else under it.
TEST_F(ReplaySparseTest, ALineThatIsNoneIsAnErrorAndNeverMore) {
  RunProgram();
  const std::vector<Json> good = lines();
  int refused = 0;
  const auto play = [&] {
    const absl::StatusOr<ReplayReport> report = Play();
    if (report.ok()) return;
    ++refused;
    EXPECT_THAT(std::string(report.status().message()), HasSubstr("program"));
  };
  const Json wrongs[] = {Json(),
                         Json("x"),
                         Json(-1),
                         Json(1 << 20),
                         Json::array(),
                         Json(1e300),
                         Json{1 << 20, 1 << 20, 1}};
  for (size_t i = 0; i < good.size(); ++i) {
    for (const auto& [key, value] : good[i].items()) {
      for (const Json& wrong : wrongs) {
        lines() = good;
        lines()[i][key] = wrong;
        if (wrong.is_null()) lines()[i].erase(key);
        play();
      }
    }
    if (!good[i].contains("operations")) continue;
    for (const auto& [key, value] : good[i].at("operations")[0].items()) {
      for (const Json& wrong : wrongs) {
        lines() = good;
        lines()[i]["operations"][0][key] = wrong;
        play();
      }
    }
  }
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace twinmmu::conformance
