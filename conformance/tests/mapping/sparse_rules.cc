// cuMemMapArrayAsync and the arrays that it is for.

#include <cstdint>
#include <iostream>
#include <numeric>
#include <vector>

#include "conformance/fixtures/child_checks.h"
#include "conformance/fixtures/fixtures.h"
#include "conformance/framework/registry.h"

namespace twinmmu::conformance {
namespace {

constexpr Bytes kTileSize = KiB(64);
constexpr char kLegalPartDone[] = "the legal part is done";

// A sparse array of 1024 x 1024 words, all unmapped, a tile pool and a stream. Arrays that a test
// makes are destroyed after it.
class SparseArrayTest : public ConformanceTest {
 protected:
  void SetUp() override {
    ConformanceTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    const absl::StatusOr<SparseArrays*> offered = sparse_arrays();
    if (!offered.ok()) {
      EXPECT_EQ(offered.status().code(), absl::StatusCode::kUnimplemented);
      RecordUnsupported("no sparse arrays");
      GTEST_SKIP() << "there are no sparse arrays";
    }
    arrays_ = *offered;
    const auto array = MakeWords({1024, 1024, 0});
    if (!IsCreatedAsTold(DeviceAttribute::kSparseCudaArraySupported, array.status())) {
      GTEST_SKIP() << "there are no sparse arrays";
    }
    array_ = *array;
    TWINMMU_ASSERT_OK_AND_ASSIGN(const SparseProperties found,
                                 arrays().GetArraySparseProperties(array_));
    tile_ = found.tile;
    AllocationProperties pool;
    pool.usage = kUsageTilePool;
    TWINMMU_ASSERT_OK_AND_ASSIGN(pool_, vmm().Create(pool_size(), pool));
    TWINMMU_ASSERT_OK_AND_ASSIGN(stream_, executor().CreateStream(device()));
    has_stream_ = true;
  }
  void TearDown() override {
    for (const Array array : made_) EXPECT_THAT(arrays().DestroyArray(array), IsOk());
    for (const MipmappedArray mipmap : mipmaps_) {
      EXPECT_THAT(arrays().DestroyMipmappedArray(mipmap), IsOk());
    }
    if (has_stream_) {
      EXPECT_THAT(executor().DestroyStream(stream_), IsOk());
    }
    ConformanceTest::TearDown();
  }

  SparseArrays& arrays() { return *arrays_; }
  Array array() const { return array_; }
  AllocationHandle pool() const { return pool_; }
  // Room for the tiles that a test uses, also where granules are small.
  Bytes pool_size() const { return RoundUp(MiB(4), granule()); }
  Stream stream() const { return stream_; }
  const ArrayExtent& tile() const { return tile_; }

  static ArrayDescriptor Words(const ArrayExtent& extent, uint32_t flags = kArraySparse) {
    return {extent, ArrayFormat::kUint32, 1, flags};
  }
  absl::StatusOr<Array> Make(const ArrayDescriptor& descriptor) {
    const absl::StatusOr<Array> array = arrays_->CreateArray(device(), descriptor);
    if (array.ok()) made_.push_back(*array);
    return array;
  }
  absl::StatusOr<Array> MakeWords(const ArrayExtent& extent, uint32_t flags = kArraySparse) {
    return Make(Words(extent, flags));
  }
  absl::StatusOr<MipmappedArray> MakeMipmapped(const ArrayExtent& extent, uint32_t levels) {
    const auto mipmap = arrays_->CreateMipmappedArray(device(), Words(extent), levels);
    if (mipmap.ok()) mipmaps_.push_back(*mipmap);
    return mipmap;
  }

  // The map of the tile with these numbers to that tile of the pool.
  TileOperation Tile(uint64_t x, uint64_t y, uint64_t of_pool) const {
    TileOperation operation;
    operation.array = array_;
    operation.tiles.offset = {x * tile_.x, y * tile_.y, 0};
    operation.tiles.extent = {tile_.x, tile_.y, 1};
    operation.memory = pool_;
    operation.memory_offset = kTileSize * of_pool;
    return operation;
  }
  static TileOperation Unmap(TileOperation operation) {
    operation.type = TileOperationType::kUnmap;
    operation.memory = AllocationHandle();
    operation.memory_offset = Bytes(0);
    return operation;
  }
  absl::Status Do(std::vector<TileOperation> operations) {
    return arrays().MapTiles(stream(), operations);
  }

  absl::Status Put(Array array, const ArrayExtent& at, uint32_t value) {
    const absl::Status queued = arrays().CopyHostToArray(stream(), array, at, {1, 1, 1}, &value);
    return queued.ok() ? executor().SynchronizeStream(stream()) : queued;
  }
  absl::StatusOr<uint32_t> Get(Array array, const ArrayExtent& at) {
    uint32_t value = 0x55555555;
    absl::Status status = arrays().CopyArrayToHost(stream(), &value, array, at, {1, 1, 1});
    if (status.ok()) status = executor().SynchronizeStream(stream());
    if (!status.ok()) return status;
    return value;
  }
  absl::Status Put(const ArrayExtent& at, uint32_t value) { return Put(array(), at, value); }
  absl::StatusOr<uint32_t> Get(const ArrayExtent& at) { return Get(array(), at); }

 private:
  SparseArrays* arrays_ = nullptr;
  Array array_;
  ArrayExtent tile_;
  AllocationHandle pool_;
  Stream stream_;
  bool has_stream_ = false;
  std::vector<Array> made_;
  std::vector<MipmappedArray> mipmaps_;
};

bool IsPowerOfTwo(uint64_t value) { return value != 0 && (value & (value - 1)) == 0; }

}  // namespace

CONFORMANCE_TEST(SparseArrayTest, SPARSE_1, ATileIs64KiB) {
  for (const ArrayFormat format :
       {ArrayFormat::kUint8, ArrayFormat::kHalf, ArrayFormat::kFloat, ArrayFormat::kInt32}) {
    for (const uint32_t channels : {1u, 2u, 4u}) {
      for (const ArrayExtent& extent : {ArrayExtent{1024, 512, 0}, ArrayExtent{128, 64, 64}}) {
        const ArrayDescriptor descriptor{extent, format, channels, kArraySparse};
        TWINMMU_ASSERT_OK_AND_ASSIGN(const Array array, Make(descriptor));
        TWINMMU_ASSERT_OK_AND_ASSIGN(const SparseProperties found,
                                     arrays().GetArraySparseProperties(array));
        const ArrayExtent& sides = found.tile;
        EXPECT_EQ(ElementSize(descriptor) * (sides.x * sides.y * sides.z), kTileSize);
        EXPECT_TRUE(IsPowerOfTwo(sides.x) && IsPowerOfTwo(sides.y) && IsPowerOfTwo(sides.z));
        EXPECT_EQ(sides.z > 1, extent.z != 0);
        EXPECT_EQ(found.mip_tail_size, Bytes(0)) << "each side is at least a tile";
      }
    }
  }
}

CONFORMANCE_TEST(SparseArrayTest, SPARSE_2, RefusesShapesThatDoNotExist) {
  const ArrayDescriptor good = Words({256, 256, 0});
  std::vector<ArrayDescriptor> bad(9, good);
  bad[0].channels = 0;
  bad[1].channels = 3;
  bad[2].format = static_cast<ArrayFormat>(0);
  bad[3].format = static_cast<ArrayFormat>(77);
  bad[4].extent = {0, 256, 0};
  bad[5].extent = {256, 0, 0};
  bad[6].flags = kArraySparse | kArrayLayered;  // of no layers
  bad[7].flags = kArraySparse | kArraySurface;
  bad[8].extent = {uint64_t{1} << 24, 256, 0};
  for (size_t i = 0; i < bad.size(); ++i) {
    EXPECT_THAT(Make(bad[i]), HasDriverCode(DriverCode::kInvalidValue)) << i;
  }
  EXPECT_THAT(arrays().CreateArray(DeviceOrdinal(device_count()), good),
              HasDriverCode(DriverCode::kInvalidDevice));
}

CONFORMANCE_TEST(SparseArrayTest, SPARSE_3, UnmappedTilesAreEmpty) {
  EXPECT_THAT(Get({500, 500, 0}), IsOkAndHolds(0u));
  ASSERT_THAT(Put({500, 500, 0}, 7), IsOk());
  EXPECT_THAT(Get({500, 500, 0}), IsOkAndHolds(0u));
}

CONFORMANCE_TEST(SparseArrayTest, SPARSE_4, MappedTilesKeepWhatIsWritten) {
  ASSERT_THAT(Do({Tile(0, 0, 0), Tile(1, 0, 5), Tile(0, 1, 9)}), IsOk());
  // The same place of each.
  ASSERT_THAT(Put({0, 0, 0}, 1), IsOk());
  ASSERT_THAT(Put({tile().x, 0, 0}, 2), IsOk());
  ASSERT_THAT(Put({0, tile().y, 0}, 3), IsOk());
  EXPECT_THAT(Get({0, 0, 0}), IsOkAndHolds(1u));
  EXPECT_THAT(Get({tile().x, 0, 0}), IsOkAndHolds(2u));
  EXPECT_THAT(Get({0, tile().y, 0}), IsOkAndHolds(3u));
  // A box over three tiles that are mapped and one that is not.
  const ArrayExtent at{tile().x - 3, tile().y - 2, 0};
  const ArrayExtent box{6, 4, 1};
  std::vector<uint32_t> written(box.x * box.y);
  std::iota(written.begin(), written.end(), 1);
  ASSERT_THAT(arrays().CopyHostToArray(stream(), array(), at, box, written.data()), IsOk());
  std::vector<uint32_t> read(written.size(), 99);
  ASSERT_THAT(arrays().CopyArrayToHost(stream(), read.data(), array(), at, box), IsOk());
  ASSERT_THAT(executor().SynchronizeStream(stream()), IsOk());
  for (uint64_t y = 0; y < box.y; ++y) {
    for (uint64_t x = 0; x < box.x; ++x) {
      const bool mapped = x < 3 || y < 2;
      const uint64_t i = y * box.x + x;
      EXPECT_EQ(read[i], mapped ? written[i] : 0) << x << ", " << y;
    }
  }
}

CONFORMANCE_TEST(SparseArrayTest, SPARSE_5, TilesOfOneMemoryAreTheSame) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Array other, MakeWords({256, 256, 0}));
  TileOperation in_other = Tile(0, 0, 3);
  in_other.array = other;
  ASSERT_THAT(Do({Tile(0, 0, 3), Tile(2, 1, 3), in_other}), IsOk());
  ASSERT_THAT(Put({5, 7, 0}, 57), IsOk());
  EXPECT_THAT(Get({2 * tile().x + 5, tile().y + 7, 0}), IsOkAndHolds(57u));
  EXPECT_THAT(Get(other, {5, 7, 0}), IsOkAndHolds(57u));
}

CONFORMANCE_TEST(SparseArrayTest, SPARSE_6, UnmappedMemoryKeepsItsData) {
  ASSERT_THAT(Do({Tile(0, 0, 1)}), IsOk());
  ASSERT_THAT(Put({1, 2, 0}, 12), IsOk());
  ASSERT_THAT(Do({Unmap(Tile(0, 0, 1))}), IsOk());
  EXPECT_THAT(Get({1, 2, 0}), IsOkAndHolds(0u));
  ASSERT_THAT(Do({Unmap(Tile(0, 0, 1))}), IsOk()) << "where nothing is mapped";
  ASSERT_THAT(Do({Tile(3, 3, 1)}), IsOk());
  EXPECT_THAT(Get({3 * tile().x + 1, 3 * tile().y + 2, 0}), IsOkAndHolds(12u));
}

CONFORMANCE_TEST(SparseArrayTest, SPARSE_7, RefusesWhatIsNoTiles) {
  const TileOperation good = Tile(0, 0, 0);
  std::vector<TileOperation> bad(10, good);
  bad[0].tiles.offset.x = 1;
  bad[1].tiles.offset.y = tile().y / 2;
  bad[2].tiles.offset.z = 1;
  bad[3].tiles.extent.x = tile().x / 2;
  bad[4].tiles.extent.y = 0;
  bad[5].tiles.extent.z = 0;
  bad[6].tiles.extent.z = 2;
  bad[7].tiles.offset.x = 1024;
  bad[8].tiles.extent.x = 1024 + tile().x;
  bad[9].tiles.level = 1;
  for (size_t i = 0; i < bad.size(); ++i) {
    EXPECT_THAT(Do({bad[i]}), HasDriverCode(DriverCode::kInvalidValue)) << i;
    EXPECT_THAT(Do({Unmap(bad[i])}), HasDriverCode(DriverCode::kInvalidValue)) << "unmap " << i;
  }
  ASSERT_THAT(Put({0, 0, 0}, 1), IsOk());
  EXPECT_THAT(Get({0, 0, 0}), IsOkAndHolds(0u)) << "a refused call must map nothing";

  TWINMMU_ASSERT_OK_AND_ASSIGN(const Array uneven,
                               MakeWords({2 * tile().x + 44, tile().y + 72, 0}));
  TileOperation edge = good;
  edge.array = uneven;
  edge.tiles.offset = {2 * tile().x, tile().y, 0};
  EXPECT_THAT(Do({edge}), HasDriverCode(DriverCode::kInvalidValue)) << "beyond the edge";
  edge.tiles.extent = {44, 72, 1};
  ASSERT_THAT(Do({edge}), IsOk());
  ASSERT_THAT(Put(uneven, {2 * tile().x + 43, tile().y + 71, 0}, 8), IsOk());
  EXPECT_THAT(Get(uneven, {2 * tile().x + 43, tile().y + 71, 0}), IsOkAndHolds(8u));
}

CONFORMANCE_TEST(SparseArrayTest, SPARSE_8, RefusesMemoryThatIsNoTiles) {
  TileOperation operation = Tile(0, 0, 0);
  operation.memory_offset = KiB(4);
  EXPECT_THAT(Do({operation}), HasDriverCode(DriverCode::kInvalidValue)) << "4 KiB";
  operation.memory_offset = pool_size();
  EXPECT_THAT(Do({operation}), HasDriverCode(DriverCode::kInvalidValue)) << "at the end";
  operation.memory_offset = pool_size() - kTileSize;
  operation.tiles.extent.x = 2 * tile().x;
  EXPECT_THAT(Do({operation}), HasDriverCode(DriverCode::kInvalidValue)) << "over the end";
  operation.tiles.extent.x = tile().x;
  ASSERT_THAT(Do({operation}), IsOk()) << "the last tile";
  ASSERT_THAT(Put({1, 1, 0}, 3), IsOk());
  EXPECT_THAT(Get({1, 1, 0}), IsOkAndHolds(3u));
}

CONFORMANCE_TEST(SparseArrayTest, SPARSE_9, RefusesOtherOperations) {
  EXPECT_THAT(Do({}), HasDriverCode(DriverCode::kInvalidValue)) << "no operation";
  const TileOperation good = Tile(0, 0, 0);
  std::vector<TileOperation> bad(7, good);
  bad[0].device_mask = 0;
  bad[1].device_mask = 2;
  bad[2].device_mask = 3;
  bad[3].flags = 1;
  bad[4].type = static_cast<TileOperationType>(0);
  bad[5].type = static_cast<TileOperationType>(3);
  bad[6].subresource = static_cast<ArraySubresource>(2);
  for (size_t i = 0; i < bad.size(); ++i) {
    EXPECT_THAT(Do({bad[i]}), HasDriverCode(DriverCode::kInvalidValue)) << i;
  }
  ASSERT_THAT(Put({0, 0, 0}, 1), IsOk());
  EXPECT_THAT(Get({0, 0, 0}), IsOkAndHolds(0u)) << "a refused call must map nothing";
}

CONFORMANCE_TEST(SparseArrayTest, SPARSE_10, AListIsDoneInOrderOrNotAtAll) {
  TileOperation bad = Tile(1, 0, 1);
  bad.flags = 1;
  EXPECT_THAT(Do({Tile(0, 0, 0), bad}), HasDriverCode(DriverCode::kInvalidValue));
  ASSERT_THAT(Put({0, 0, 0}, 1), IsOk());
  EXPECT_THAT(Get({0, 0, 0}), IsOkAndHolds(0u)) << "none of the list";
  ASSERT_THAT(Do({Unmap(Tile(0, 0, 0)), Tile(0, 0, 0)}), IsOk());
  ASSERT_THAT(Put({0, 0, 0}, 2), IsOk());
  EXPECT_THAT(Get({0, 0, 0}), IsOkAndHolds(2u)) << "mapped last";
  ASSERT_THAT(Do({Tile(0, 0, 0), Unmap(Tile(0, 0, 0))}), IsOk());
  EXPECT_THAT(Get({0, 0, 0}), IsOkAndHolds(0u)) << "unmapped last";
}

CONFORMANCE_TEST(SparseArrayTest, SPARSE_11, LayersAreMappedOneByOne) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Array layered,
                               MakeWords({256, 256, 3}, kArraySparse | kArrayLayered));
  TileOperation operation = Tile(0, 0, 0);
  operation.array = layered;
  operation.tiles.layer = 3;
  EXPECT_THAT(Do({operation}), HasDriverCode(DriverCode::kInvalidValue)) << "no such layer";
  operation.tiles.layer = 2;
  ASSERT_THAT(Do({operation}), IsOk());
  for (uint64_t layer = 0; layer < 3; ++layer) {
    ASSERT_THAT(Put(layered, {1, 1, layer}, 9), IsOk());
    EXPECT_THAT(Get(layered, {1, 1, layer}), IsOkAndHolds(layer == 2 ? 9u : 0u)) << layer;
  }
  TileOperation unlayered = Tile(0, 0, 0);
  unlayered.tiles.layer = 1;
  EXPECT_THAT(Do({unlayered}), HasDriverCode(DriverCode::kInvalidValue)) << "no layers";
}

CONFORMANCE_TEST(SparseArrayTest, SPARSE_12, TilesOutliveTheHandle) {
  ASSERT_THAT(Do({Tile(0, 0, 2)}), IsOk());
  ASSERT_THAT(Put({3, 4, 0}, 34), IsOk());
  ASSERT_THAT(vmm().Release(pool()), IsOk());
  AllocationProperties next;
  next.usage = kUsageTilePool;
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle another, vmm().Create(pool_size(), next));
  TileOperation elsewhere = Tile(1, 1, 2);
  elsewhere.memory = another;
  ASSERT_THAT(Do({elsewhere}), IsOk());
  ASSERT_THAT(Put({tile().x + 3, tile().y + 4, 0}, 35), IsOk());
  EXPECT_THAT(Get({3, 4, 0}), IsOkAndHolds(34u));
}

CONFORMANCE_TEST(SparseArrayTest, SPARSE_13, MemoryOfNoTilePoolIsNotMapped) {
  ExpectInChildOrEnd(kLegalPartDone, [&](ChildChecks& checks) {
    TileOperation operation = Tile(0, 0, 0);
    const auto ordinary = vmm().Create(granule(), properties());
    checks.Expect("create", ordinary.status());
    checks.Expect("map a tile", Do({Tile(1, 1, 0)}));
    std::cerr << kLegalPartDone << std::endl;
    operation.memory = *ordinary;
    checks.Expect("map of other memory", Do({operation}), DriverCode::kInvalidValue);
  });
}

CONFORMANCE_TEST(SparseArrayTest, SPARSE_14, LevelsHaveTilesAndTheLastOnesATail) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const MipmappedArray mipmap, MakeMipmapped({1024, 1024, 0}, 11));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const SparseProperties found,
                               arrays().GetMipmappedArraySparseProperties(mipmap));
  const uint32_t tail = found.mip_tail_level;
  ASSERT_GT(tail, 1u);
  ASSERT_LT(tail, 10u);
  ASSERT_EQ(found.mip_tail_size, kTileSize);
  EXPECT_THAT(arrays().GetLevel(mipmap, 11), HasDriverCode(DriverCode::kInvalidValue));
  TileOperation operation = Tile(0, 0, 0);
  operation.mipmap = mipmap;
  operation.tiles.level = tail;
  EXPECT_THAT(Do({operation}), HasDriverCode(DriverCode::kInvalidValue)) << "a level of the tail";
  operation.tiles.level = tail - 1;
  EXPECT_THAT(Do({Unmap(operation)}), IsOk()) << "the last level that has tiles";
  operation.tiles.level = 1;
  ASSERT_THAT(Do({operation}), IsOk());
  const auto holds = [&](uint32_t level) -> absl::StatusOr<uint32_t> {
    const auto array = arrays().GetLevel(mipmap, level);
    if (!array.ok()) return array.status();
    const absl::Status put = Put(*array, {0, 0, 0}, 100 + level);
    if (!put.ok()) return put;
    return Get(*array, {0, 0, 0});
  };
  for (uint32_t level = 0; level < 11; ++level) {
    EXPECT_THAT(holds(level), IsOkAndHolds(level == 1 ? 101u : 0u)) << "without tail, " << level;
  }
  TileOperation mapped = operation;
  mapped.subresource = ArraySubresource::kMipTail;
  mapped.memory_offset = kTileSize;
  for (const MipTailRange& range :
       {MipTailRange{0, KiB(4), kTileSize}, MipTailRange{0, Bytes(0), KiB(4)},
        MipTailRange{0, Bytes(0), 2 * kTileSize}, MipTailRange{1, Bytes(0), kTileSize},
        MipTailRange{0, Bytes(0), Bytes(0)}}) {
    mapped.mip_tail = range;
    EXPECT_THAT(Do({mapped}), HasDriverCode(DriverCode::kInvalidValue));
  }
  mapped.mip_tail = {0, Bytes(0), kTileSize};
  ASSERT_THAT(Do({mapped}), IsOk());
  for (uint32_t level = tail; level < 11; ++level) {
    EXPECT_THAT(holds(level), IsOkAndHolds(100 + level)) << "with tail, " << level;
  }
  EXPECT_THAT(holds(0), IsOkAndHolds(0u)) << "not of the tail";
}

CONFORMANCE_TEST(SparseArrayTest, SPARSE_15, OthersHaveNoSparseProperties) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Array plain, MakeWords({256, 256, 0}, 0));
  EXPECT_THAT(arrays().GetArraySparseProperties(plain), HasDriverCode(DriverCode::kInvalidValue));
  ASSERT_THAT(Put(plain, {200, 200, 0}, 4), IsOk());
  EXPECT_THAT(Get(plain, {200, 200, 0}), IsOkAndHolds(4u)) << "it has memory of its own";
  TileOperation operation = Tile(0, 0, 0);
  operation.array = plain;
  EXPECT_THAT(Do({operation}), HasDriverCode(DriverCode::kInvalidValue)) << "no tiles";
  TWINMMU_ASSERT_OK_AND_ASSIGN(const MipmappedArray mipmap, MakeMipmapped({1024, 1024, 0}, 4));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Array level, arrays().GetLevel(mipmap, 0));
  EXPECT_THAT(arrays().GetLevel(mipmap, 0), IsOkAndHolds(level)) << "the same at each call";
  EXPECT_THAT(arrays().GetArraySparseProperties(level), HasDriverCode(DriverCode::kInvalidValue));
  operation.array = level;
  EXPECT_THAT(Do({operation}), HasDriverCode(DriverCode::kInvalidValue)) << "mapped by a level";
}

CONFORMANCE_TEST(SparseArrayTest, SPARSE_16, RefusesCopiesBeyondTheArray) {
  std::vector<uint32_t> host(64, 6);
  const ArrayExtent boxes[][2] = {{{1020, 0, 0}, {8, 1, 1}},
                                  {{0, 1020, 0}, {4, 8, 1}},
                                  {{0, 0, 1}, {4, 1, 1}},
                                  {{0, 0, 0}, {4, 1, 2}},
                                  {{2000, 0, 0}, {1, 1, 1}}};
  for (const auto& [at, box] : boxes) {
    EXPECT_THAT(arrays().CopyArrayToHost(stream(), host.data(), array(), at, box),
                HasDriverCode(DriverCode::kInvalidValue));
    EXPECT_THAT(arrays().CopyHostToArray(stream(), array(), at, box, host.data()),
                HasDriverCode(DriverCode::kInvalidValue));
  }
  ASSERT_THAT(executor().SynchronizeStream(stream()), IsOk());
  EXPECT_EQ(host, std::vector<uint32_t>(64, 6));
}

CONFORMANCE_TEST(SparseArrayTest, SPARSE_17, MapsTakeEffectInTheOrderOfTheStream) {
  const uint32_t first = 1;
  const uint32_t second = 2;
  uint32_t read[3] = {9, 9, 9};
  const ArrayExtent one{1, 1, 1};
  const auto look = [&](int i) {
    return arrays().CopyArrayToHost(stream(), &read[i], array(), {}, one);
  };
  ASSERT_THAT(Do({Tile(0, 0, 0)}), IsOk());
  ASSERT_THAT(arrays().CopyHostToArray(stream(), array(), {}, one, &first), IsOk());
  ASSERT_THAT(Do({Tile(0, 0, 1)}), IsOk());
  ASSERT_THAT(arrays().CopyHostToArray(stream(), array(), {}, one, &second), IsOk());
  ASSERT_THAT(look(0), IsOk());
  ASSERT_THAT(Do({Tile(0, 0, 0)}), IsOk());
  ASSERT_THAT(look(1), IsOk());
  ASSERT_THAT(Do({Unmap(Tile(0, 0, 0))}), IsOk());
  ASSERT_THAT(look(2), IsOk());
  ASSERT_THAT(executor().SynchronizeStream(stream()), IsOk());
  EXPECT_EQ(read[0], 2u);
  EXPECT_EQ(read[1], 1u);
  EXPECT_EQ(read[2], 0u);
}

}  // namespace twinmmu::conformance
