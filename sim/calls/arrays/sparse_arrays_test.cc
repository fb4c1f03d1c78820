// Sparse arrays on the simulator, beyond what the suite asks of any driver: what wrong uses are
// told, when work of streams takes effect, and how memory is counted.

#include "api/sparse_arrays.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/testing/diagnostics_fixture.h"

namespace twinmmu {
namespace {

using Kind = DiagnosticKind;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr Bytes kTile = KiB(64);
constexpr ArrayExtent kOne{1, 1, 1};

Profile With(StreamPolicy policy) {
  Profile profile = Profile::ReferenceH200(2);
  profile.stream_policy = policy;
  profile.stream_seed = 7;
  return profile;
}

// Arrays of words, whose tiles have 128 x 128.
class SparseArraysTest : public DiagnosticsTest {
 protected:
  using DiagnosticsTest::DiagnosticsTest;

  SparseArrays& arrays() { return **simulator_->sparse_arrays(); }
  Bytes FreeMemory(DeviceOrdinal device = kDevice0) { return vmm().GetMemoryInfo(device)->free; }

  Array MakeArray(DeviceOrdinal device = kDevice0, uint32_t flags = kArraySparse) {
    const auto array =
        arrays().CreateArray(device, {{256, 256, 0}, ArrayFormat::kUint32, 1, flags});
    EXPECT_THAT(array, IsOk());
    return *array;
  }
  MipmappedArray MakeMipmappedArray() {
    const auto mipmap = arrays().CreateMipmappedArray(kDevice0, {{256, 256, 0}}, 9);
    EXPECT_THAT(mipmap, IsOk());
    return *mipmap;
  }
  AllocationHandle MakePool(DeviceOrdinal device = kDevice0) {
    AllocationProperties properties = On(Location::Device(device));
    properties.usage = kUsageTilePool;
    return Create(1, properties);
  }
  // The first tile of the array, in that tile of the pool.
  static TileOperation MapOf(Array array, AllocationHandle pool, uint64_t of_pool = 0) {
    TileOperation operation;
    operation.array = array;
    operation.tiles.extent = {128, 128, 1};
    operation.memory = pool;
    operation.memory_offset = kTile * of_pool;
    return operation;
  }
  static TileOperation UnmapOf(Array array) {
    TileOperation operation = MapOf(array, AllocationHandle());
    operation.type = TileOperationType::kUnmap;
    return operation;
  }
  absl::Status Map(const TileOperation& operation, Stream stream = Stream(kDevice0)) {
    return arrays().MapTiles(stream, {operation});
  }
  absl::Status Put(Array array, uint32_t value, Stream stream = Stream(kDevice0)) {
    values_.push_back(std::make_unique<uint32_t>(value));
    return arrays().CopyHostToArray(stream, array, {}, kOne, values_.back().get());
  }
  absl::Status Look(Array array, uint32_t& value, Stream stream = Stream(kDevice0)) {
    return arrays().CopyArrayToHost(stream, &value, array, {}, kOne);
  }
  uint32_t Holds(Array array) {
    uint32_t value = 0x55555555;
    EXPECT_THAT(Look(array, value), IsOk());
    EXPECT_THAT(executor().SynchronizeDevice(array.device()), IsOk());
    return value;
  }

 private:
  std::vector<std::unique_ptr<uint32_t>> values_;  // of work that is queued
};

class StrayArraysTest : public SparseArraysTest {
 protected:
  // Every call that takes an array, with this one.
  std::vector<absl::Status> UseEverywhere(Array array) {
    uint32_t word = 0;
    return {arrays().DestroyArray(array), arrays().GetArraySparseProperties(array).status(),
            Map(MapOf(array, MakePool())), Put(array, 1), Look(array, word)};
  }
  std::vector<absl::Status> UseEverywhere(MipmappedArray mipmap) {
    TileOperation operation = MapOf(Array(), MakePool());
    operation.mipmap = mipmap;
    return {arrays().DestroyMipmappedArray(mipmap), arrays().GetLevel(mipmap, 0).status(),
            arrays().GetMipmappedArraySparseProperties(mipmap).status(), Map(operation)};
  }
};

// The driver says so too; nobody is told more than that.
TEST_F(StrayArraysTest, NullIsRefusedInWords) {
  for (const absl::Status& status : UseEverywhere(Array(kDevice0, 0))) {
    EXPECT_THAT(std::string(status.message()), HasSubstr("null"));
  }
  const Array none(kDevice0, 0);
  EXPECT_THAT(arrays().DestroyArray(none), HasDriverCode(DriverCode::kInvalidHandle));
  EXPECT_THAT(Map(MapOf(none, MakePool())), HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(arrays().GetLevel(MipmappedArray(kDevice0, 0), 0),
              HasDriverCode(DriverCode::kInvalidHandle));
  EXPECT_THAT(Noticed(), IsEmpty());
}

// A driver may crash.
TEST_F(StrayArraysTest, OneThatIsGoneIsRefusedAndTold) {
  const Array array = MakeArray();
  const Array level = *arrays().GetLevel(MakeMipmappedArray(), 0);
  ASSERT_THAT(arrays().DestroyArray(array), IsOk());
  for (const absl::Status& status : UseEverywhere(array)) EXPECT_FALSE(status.ok());
  const auto gone = AllOf(IsDiagnostic(Kind::kUseOfUnknownArray), DiagnosticDeviceIs(kDevice0),
                          Says("does not exist"));
  EXPECT_THAT(Noticed(), ElementsAre(AllOf(gone, DiagnosticCallIs("cuArrayDestroy")),
                                     AllOf(gone, DiagnosticCallIs("cuArrayGetSparseProperties")),
                                     AllOf(gone, DiagnosticCallIs("cuMemMapArrayAsync")),
                                     AllOf(gone, DiagnosticCallIs("cuMemcpy3DAsync")),
                                     AllOf(gone, DiagnosticCallIs("cuMemcpy3DAsync"))));
  EXPECT_THAT(arrays().DestroyArray(level), IsOk()) << "another one is as it was";
}

TEST_F(StrayArraysTest, AMipmappedOneThatIsGoneTakesItsLevelsAlong) {
  const MipmappedArray mipmap = MakeMipmappedArray();
  const Array level = *arrays().GetLevel(mipmap, 1);
  ASSERT_THAT(arrays().DestroyMipmappedArray(mipmap), IsOk());
  for (const absl::Status& status : UseEverywhere(mipmap)) EXPECT_FALSE(status.ok());
  EXPECT_EQ(simulator_->CountOf(Kind::kUseOfUnknownArray), 4u);
  for (const absl::Status& status : UseEverywhere(level)) EXPECT_FALSE(status.ok());
  EXPECT_EQ(simulator_->CountOf(Kind::kUseOfUnknownArray), 9u);
}

TEST_F(StrayArraysTest, OneThatNobodyMadeIsRefusedAndTold) {
  const Array array = MakeArray();
  for (const uint64_t value : {array.value() + 1, uint64_t{0xdead}, ~uint64_t{0}}) {
    for (const absl::Status& status : UseEverywhere(Array(kDevice0, value))) {
      EXPECT_FALSE(status.ok()) << value;
    }
    for (const absl::Status& status : UseEverywhere(MipmappedArray(kDevice0, value))) {
      EXPECT_FALSE(status.ok()) << value;
    }
  }
  EXPECT_EQ(simulator_->CountOf(Kind::kUseOfUnknownArray), 3u * 9u);
}

TEST_F(SparseArraysTest, CopiesToADeferredArrayWithoutMemoryAreReported) {
  const Array array = MakeArray(kDevice0, kArrayDeferred);
  EXPECT_THAT(Put(array, 7), IsOk());
  EXPECT_THAT(Noticed(), ElementsAre(AllOf(IsDiagnostic(Kind::kFaultOfQueuedWork),
                                           Says("no memory was mapped to the array"))));
}

TEST_F(SparseArraysTest, DeferredArraysOfAnySizeCostNothingUntilTheyAreMapped) {
  const auto array = arrays().CreateArray(
      kDevice0, {{16384, 16384, 2048}, ArrayFormat::kUint32, 1, kArrayDeferred | kArrayLayered});
  ASSERT_THAT(array, IsOk());
  TileOperation operation = MapOf(*array, MakePool());
  EXPECT_THAT(Map(operation), StatusIs(absl::StatusCode::kInvalidArgument));
  operation.type = TileOperationType::kUnmap;
  EXPECT_THAT(Map(operation), IsOk());
  EXPECT_THAT(arrays().DestroyArray(*array), IsOk());
}

TEST_F(SparseArraysTest, MapsSayWhatIsWrongWithTheArray) {
  const AllocationHandle pool = MakePool();
  const auto words = [&](const TileOperation& operation) {
    const absl::Status status = Map(operation);
    EXPECT_THAT(status, HasDriverCode(DriverCode::kInvalidValue));
    return std::string(status.message());
  };
  EXPECT_THAT(words(MapOf(MakeArray(kDevice0, 0), pool)), HasSubstr("the array is not sparse"));
  EXPECT_THAT(words(MapOf(*arrays().GetLevel(MakeMipmappedArray(), 0), pool)),
              HasSubstr("is a level of a mipmapped array"));
  EXPECT_THAT(words(MapOf(MakeArray(kDevice1), pool)),
              AllOf(HasSubstr("the array is of device 1"), HasSubstr("the stream of device 0")));
  TileOperation tiles = MapOf(MakeArray(), pool);
  tiles.tiles.offset.x = 64;
  EXPECT_THAT(words(tiles), HasSubstr("128 x 128 x 1 elements at 64, 0, 0 are not tiles"));
  EXPECT_THAT(words(MapOf(MakeArray(), pool, 32)), HasSubstr("64 KiB at 2 MiB"));
  EXPECT_THAT(words(MapOf(MakeArray(), MakePool(kDevice1))),
              HasSubstr("the memory is of device 1, the stream of device 0"));
  EXPECT_THAT(Noticed(), IsEmpty()) << "a driver refuses all of them";
}

TEST_F(SparseArraysTest, MemoryOfNoTilePoolIsTold) {
  EXPECT_THAT(Map(MapOf(MakeArray(), Create(1))), HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(Only(), AllOf(IsDiagnostic(Kind::kTilesOfOtherMemory), DiagnosticRuleIs("SPARSE-13"),
                            DiagnosticCallIs("cuMemMapArrayAsync")));
}

TEST_F(SparseArraysTest, MemoryThatIsReleasedIsTold) {
  const AllocationHandle pool = MakePool();
  ASSERT_THAT(vmm().Release(pool), IsOk());
  EXPECT_THAT(Map(MapOf(MakeArray(), pool)), HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(Only(), AllOf(IsDiagnostic(Kind::kUseOfDeadHandle), DiagnosticHandleIs(pool)));
}

TEST_F(SparseArraysTest, WhatIsNotDestroyedIsLeft) {
  const Array array = MakeArray(kDevice1);             // call 1
  const MipmappedArray mipmap = MakeMipmappedArray();  // call 2
  ASSERT_THAT(arrays().GetLevel(mipmap, 2), IsOk());
  const auto left = [&](const char* call, uint64_t call_id, DeviceOrdinal device) {
    return AllOf(IsDiagnostic(Kind::kLeakedArray), DiagnosticCallIs(call),
                 DiagnosticCallIdIs(call_id), DiagnosticDeviceIs(device));
  };
  EXPECT_THAT(simulator_->leaks(), ElementsAre(left("cuArray3DCreate", 1, kDevice1),
                                               left("cuMipmappedArrayCreate", 2, kDevice0)));
  EXPECT_THAT(arrays().DestroyArray(array), IsOk());
  EXPECT_THAT(arrays().DestroyMipmappedArray(mipmap), IsOk());
  EXPECT_THAT(simulator_->leaks(), IsEmpty());
}

// --- Memory

TEST_F(SparseArraysTest, ASparseArrayTakesNoMemoryAndAnotherDoes) {
  const Bytes before = FreeMemory();
  const Array sparse = MakeArray();
  EXPECT_EQ(FreeMemory(), before);
  const Array plain = MakeArray(kDevice0, 0);
  EXPECT_EQ(FreeMemory(), before - KiB(256)) << "256 x 256 words";
  EXPECT_THAT(arrays().DestroyArray(plain), IsOk());
  EXPECT_THAT(arrays().DestroyArray(sparse), IsOk());
  EXPECT_EQ(FreeMemory(), before);
}

TEST_F(SparseArraysTest, AnArrayForWhichThereIsNoMemoryIsRefused) {
  const Bytes free = FreeMemory();
  // Of which the driver keeps a granule back.
  const AllocationHandle most = *vmm().Create(kGranule * (free / kGranule - 1), {});
  const ArrayDescriptor large{{1024, 1024, 0}, ArrayFormat::kUint32, 1, 0};
  EXPECT_THAT(arrays().CreateArray(kDevice0, large), HasDriverCode(DriverCode::kOutOfMemory));
  ASSERT_THAT(vmm().Release(most), IsOk());
  EXPECT_EQ(FreeMemory(), free);
  EXPECT_THAT(arrays().CreateArray(kDevice0, large), IsOk());
}

// A limit that is no number of elements is that of a device that has no such arrays.
TEST_F(SparseArraysTest, AnArrayBeyondALimitIsRefused) {
  for (const int limit : {255, -1}) {
    Profile profile = Profile::ReferenceH200(1);
    profile.devices[0].attributes[DeviceAttribute(22)] = limit;  // width in two dimensions
    simulator_ = *Simulator::Create(profile);
    EXPECT_THAT(arrays().CreateArray(kDevice0, {{256, 256, 0}, ArrayFormat::kUint32, 1, 0}),
                HasDriverCode(DriverCode::kInvalidValue))
        << limit;
  }
}

// Mapped tiles are as good as a mapping: memory is free only when the last one is gone.
TEST_F(SparseArraysTest, TilesKeepTheirMemoryTaken) {
  const Bytes before = FreeMemory();
  const Array first = MakeArray();
  const Array second = MakeArray();
  const AllocationHandle pool = MakePool();
  for (const Array array : {first, second}) ASSERT_THAT(Map(MapOf(array, pool)), IsOk());
  ASSERT_THAT(Map(MapOf(first, pool, 3)), IsOk()) << "instead of the other tile";
  ASSERT_THAT(vmm().Release(pool), IsOk());
  EXPECT_EQ(FreeMemory(), before - kGranule);
  ASSERT_THAT(Map(UnmapOf(first)), IsOk());
  EXPECT_EQ(FreeMemory(), before - kGranule);
  ASSERT_THAT(arrays().DestroyArray(second), IsOk());
  EXPECT_EQ(FreeMemory(), before);
}

// --- Order

class LateArraysTest : public SparseArraysTest {
 protected:
  LateArraysTest() : SparseArraysTest(With(StreamPolicy::kDeferred)) {}
};

TEST_F(LateArraysTest, AMapTakesEffectWhenItsTurnComes) {
  const Array array = MakeArray();
  const AllocationHandle pool = MakePool();
  uint32_t before = 9;
  uint32_t after = 9;
  ASSERT_THAT(Put(array, 1), IsOk());
  ASSERT_THAT(Look(array, before), IsOk());
  ASSERT_THAT(Map(MapOf(array, pool)), IsOk());
  ASSERT_THAT(Put(array, 2), IsOk());
  ASSERT_THAT(Look(array, after), IsOk());
  EXPECT_EQ(after, 9u) << "nothing has run yet";
  ASSERT_THAT(executor().SynchronizeDevice(kDevice0), IsOk());
  EXPECT_EQ(before, 0u);
  EXPECT_EQ(after, 2u);
}

// The memory is kept from the call on, not from when the map runs.
TEST_F(LateArraysTest, AQueuedMapKeepsItsMemory) {
  const Bytes before = FreeMemory();
  const Array array = MakeArray();
  const AllocationHandle pool = MakePool();
  ASSERT_THAT(Map(MapOf(array, pool)), IsOk());
  ASSERT_THAT(vmm().Release(pool), IsOk());
  ASSERT_THAT(Put(array, 5), IsOk());
  EXPECT_EQ(Holds(array), 5u);
  EXPECT_EQ(FreeMemory(), before - kGranule);
  ASSERT_THAT(arrays().DestroyArray(array), IsOk());
  EXPECT_EQ(FreeMemory(), before);
}

TEST_F(LateArraysTest, DestroyingAnArrayWaitsForWhatUsesIt) {
  const Bytes before = FreeMemory();
  const Array array = MakeArray();
  const AllocationHandle pool = MakePool();
  const Stream stream = *executor().CreateStream(kDevice0);
  uint32_t read = 9;
  ASSERT_THAT(Map(MapOf(array, pool), stream), IsOk());
  ASSERT_THAT(Put(array, 6, stream), IsOk());
  ASSERT_THAT(Look(array, read, stream), IsOk());
  ASSERT_THAT(arrays().DestroyArray(array), IsOk());
  EXPECT_EQ(read, 6u);
  ASSERT_THAT(vmm().Release(pool), IsOk());
  EXPECT_EQ(FreeMemory(), before);
  EXPECT_THAT(Noticed(), IsEmpty());
}

// Two streams are ordered by an event, whatever the order in which streams run.
TEST(SeededArraysTest, AnEventOrdersMapsOfTwoStreams) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    Profile profile = With(StreamPolicy::kSeeded);
    profile.stream_seed = seed;
    const auto simulator = *Simulator::Create(profile);
    Executor& executor = **simulator->executor();
    SparseArrays& arrays = **simulator->sparse_arrays();
    AllocationProperties properties;
    properties.usage = kUsageTilePool;
    const AllocationHandle pool = *(*simulator->vmm())->Create(kGranule, properties);
    const Array array = *arrays.CreateArray(kDevice0, {{256, 256, 0}});
    const Stream maps = *executor.CreateStream(kDevice0);
    const Stream copies = *executor.CreateStream(kDevice0);
    const Event mapped = *executor.CreateEvent(kDevice0);
    TileOperation map;
    map.array = array;
    map.tiles.extent = {128, 128, 1};
    map.memory = pool;
    const uint32_t written = 8;
    uint32_t read = 9;
    ASSERT_THAT(arrays.MapTiles(maps, {map}), IsOk());
    ASSERT_THAT(executor.RecordEvent(mapped, maps), IsOk());
    ASSERT_THAT(executor.WaitEvent(copies, mapped), IsOk());
    ASSERT_THAT(arrays.CopyHostToArray(copies, array, {}, kOne, &written), IsOk());
    ASSERT_THAT(arrays.CopyArrayToHost(copies, &read, array, {}, kOne), IsOk());
    ASSERT_THAT(executor.SynchronizeDevice(kDevice0), IsOk());
    EXPECT_EQ(read, written) << "seed " << seed;
  }
}

}  // namespace
}  // namespace twinmmu
