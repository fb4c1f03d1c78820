// Many copies at once. The functions are newer than our cuda.h.

#include <cstdint>

#include "conformance/abi/copies/box_memory.h"

namespace twinmmu::abi {
namespace {

struct Attributes {
  int order;
  CUmemLocation from;
  CUmemLocation to;
  unsigned int flags;
};
constexpr Attributes kInStreamOrder = {1, {}, {}, 0};
constexpr Attributes kDuringTheCall = {2, {}, {}, 0};

struct Operand {
  uint64_t type;     // 1: of a pointer, 2: of an array
  uint64_t where;    // the one or the other
  uint64_t part[3];  // length of rows, height of layers; or x, y, z
};
struct Operation {
  Operand from;
  Operand to;
  size_t width;
  size_t height;
  size_t depth;
  int order;
  unsigned int flags;
};

const Function<CUresult(CUdeviceptr*, CUdeviceptr*, size_t*, size_t, Attributes*, size_t*, size_t,
                        size_t*, CUstream)>
    copy_batch_12("cuMemcpyBatchAsync");
const Function<CUresult(CUdeviceptr*, CUdeviceptr*, size_t*, size_t, Attributes*, size_t*, size_t,
                        CUstream)>
    copy_batch("cuMemcpyBatchAsync_v2"), copy_batch_of_thread("cuMemcpyBatchAsync_v2_ptsz");
const Function<CUresult(size_t, Operation*, size_t*, unsigned long long, CUstream)> copy_boxes_12(
    "cuMemcpy3DBatchAsync");
const Function<CUresult(size_t, Operation*, unsigned long long, CUstream)> copy_boxes(
    "cuMemcpy3DBatchAsync_v2");

const Function<CUresult(CUdeviceptr, CUdeviceptr, size_t, Attributes*, CUstream)> copy_one(
    "cuMemcpyWithAttributesAsync");
const Function<CUresult(Operation*, unsigned long long, CUstream)> copy_box(
    "cuMemcpy3DWithAttributesAsync");

constexpr size_t kSize = 4096;

// The source is numbered, and the destination is 0.
class BatchCopiesTest : public ContextTest {
 protected:
  void SetUp() override {
    ContextTest::SetUp();
    if (HasFatalFailure()) return;
    if (DriverVersion() < 13000) GTEST_SKIP() << "the driver is older than these functions";
    EXPECT_EQ(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    EXPECT_EQ(cuMemAlloc(&from_, kSize), CUDA_SUCCESS);
    EXPECT_EQ(cuMemAlloc(&to_, kSize), CUDA_SUCCESS);
    Write(from_, Numbered(kSize));
    EXPECT_EQ(cuMemsetD8(to_, 0, kSize), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  }
  void TearDown() override {
    if (stream_ != nullptr) {
      EXPECT_EQ(cuStreamDestroy(stream_), CUDA_SUCCESS);
      EXPECT_EQ(cuMemFree(from_), CUDA_SUCCESS);
      EXPECT_EQ(cuMemFree(to_), CUDA_SUCCESS);
    }
    ContextTest::TearDown();
  }

  // Two copies of 4 bytes.
  CUresult CopyTwo(std::vector<Attributes> attributes, std::vector<size_t> first, CUstream stream) {
    CUdeviceptr to[] = {to_, to_ + 100};
    CUdeviceptr from[] = {from_ + 8, from_ + 16};
    size_t sizes[] = {4, 4};
    return copy_batch(to, from, sizes, 2, attributes.data(), first.data(), attributes.size(),
                      stream);
  }
  // A box of 4 bytes x 2 x 2, out of rows of 8 bytes in layers of 3 rows.
  Operation Box() const { return {{1, from_, {8, 3, 0}}, {1, to_, {}}, 4, 2, 2, 1, 0}; }
  Content Result() const {
    EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
    return Read(to_, kSize);
  }

  // Of three copies, the first of 4 bytes: that one is made, and the second one named.
  void ExpectTheSecondFails(CUdeviceptr (&to)[3], CUdeviceptr (&from)[3], size_t (&sizes)[3]) {
    Attributes attributes = kInStreamOrder;
    size_t first = 0;
    size_t failed = 77;
    EXPECT_EQ(copy_batch_12(to, from, sizes, 3, &attributes, &first, 1, &failed, stream_),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(failed, 1u);
    Content expected(kSize);
    for (size_t i = 0; i < 4; ++i) expected[i] = Numbered(kSize)[i];
    EXPECT_EQ(Result(), expected);
  }

  CUstream stream_ = nullptr;
  CUdeviceptr from_ = 0;
  CUdeviceptr to_ = 0;
};

TEST_F(BatchCopiesTest, AllAreMade) {
  EXPECT_EQ(CopyTwo({kInStreamOrder}, {0}, stream_), CUDA_SUCCESS);
  Content expected(kSize);
  for (size_t i = 0; i < 4; ++i) {
    expected[i] = Numbered(kSize)[8 + i];
    expected[100 + i] = Numbered(kSize)[16 + i];
  }
  EXPECT_EQ(Result(), expected);
}

TEST_F(BatchCopiesTest, MemoryOfTheHostMayChangeAfterTheCall) {
  Content host = Numbered(4);
  CUdeviceptr to[] = {to_};
  CUdeviceptr from[] = {AddressOf(host.data())};
  size_t sizes[] = {4};
  Attributes attributes = kDuringTheCall;
  size_t first = 0;
  EXPECT_EQ(copy_batch(to, from, sizes, 1, &attributes, &first, 1, stream_), CUDA_SUCCESS);
  host.assign(4, 9);
  Content expected = Numbered(4);
  expected.resize(kSize);
  EXPECT_EQ(Result(), expected);
}

TEST_F(BatchCopiesTest, RowsOfTheHostMayChangeAfterTheCall) {
  Content host = Numbered(16);
  Operation box = {{1, AddressOf(host.data()), {8, 2, 0}}, {1, to_, {}}, 4, 2, 1, 2, 0};
  EXPECT_EQ(copy_boxes(1, &box, 0, stream_), CUDA_SUCCESS);
  host.assign(16, 9);
  Content expected(kSize);
  for (size_t i = 0; i < 4; ++i) {
    expected[i] = Numbered(16)[i];
    expected[4 + i] = Numbered(16)[8 + i];
  }
  EXPECT_EQ(Result(), expected);
}

TEST_F(BatchCopiesTest, AttributesAreForAllThatFollows) {
  EXPECT_EQ(CopyTwo({kInStreamOrder, kDuringTheCall}, {0, 1}, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD8(to_, 0, kSize), CUDA_SUCCESS);
  EXPECT_EQ(CopyTwo({}, {}, stream_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CopyTwo({kInStreamOrder}, {1}, stream_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CopyTwo({kInStreamOrder, kInStreamOrder}, {0, 0}, stream_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CopyTwo({kInStreamOrder, kInStreamOrder}, {0, 2}, stream_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CopyTwo({kInStreamOrder, kInStreamOrder, kInStreamOrder}, {0, 1, 2}, stream_),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CopyTwo({{0, {}, {}, 0}}, {0}, stream_), CUDA_ERROR_INVALID_VALUE) << "no order";
  EXPECT_EQ(CopyTwo({{4, {}, {}, 0}}, {0}, stream_), CUDA_ERROR_INVALID_VALUE) << "no such order";
  EXPECT_EQ(Result(), Content(kSize));
}

TEST_F(BatchCopiesTest, TheLegacyDefaultStreamIsRefused) {
  EXPECT_EQ(CopyTwo({kInStreamOrder}, {0}, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Result(), Content(kSize));
}

// Null is that stream in the form for the default stream of a thread, too.
TEST_F(BatchCopiesTest, TheDefaultStreamOfAThreadIsNamed) {
  CUdeviceptr to[] = {to_};
  CUdeviceptr from[] = {from_};
  size_t sizes[] = {4};
  size_t first[] = {0};
  Attributes attributes[] = {kInStreamOrder};
  const auto copy = [&](CUstream stream) {
    return copy_batch_of_thread(to, from, sizes, 1, attributes, first, 1, stream);
  };
  EXPECT_EQ(copy(nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(copy(CU_STREAM_LEGACY), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(copy(CU_STREAM_PER_THREAD), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(CU_STREAM_PER_THREAD), CUDA_SUCCESS);
}

// What comes before it is done.
TEST_F(BatchCopiesTest, TheOneThatFailsIsNamed) {
  const Mapping denied(0, /*granted=*/false);
  CUdeviceptr to[] = {to_, denied.address(), to_ + 8};
  CUdeviceptr from[] = {from_, from_, from_};
  size_t sizes[] = {4, 4, 4};
  ExpectTheSecondFails(to, from, sizes);
}

TEST_F(BatchCopiesTest, ACopyOfNothingIsRefusedBehindThoseBeforeIt) {
  CUdeviceptr to[] = {to_, to_ + 4, to_ + 8};
  CUdeviceptr from[] = {from_, from_ + 4, from_ + 8};
  size_t sizes[] = {4, 0, 4};
  ExpectTheSecondFails(to, from, sizes);
}

TEST_F(BatchCopiesTest, ACopyOfNullIsRefusedBehindThoseBeforeIt) {
  CUdeviceptr to[] = {to_, 0, to_ + 8};
  CUdeviceptr from[] = {from_, from_ + 4, from_ + 8};
  size_t sizes[] = {4, 4, 0};
  ExpectTheSecondFails(to, from, sizes);
}

TEST_F(BatchCopiesTest, AttributesAreLookedAtBeforeAnyCopyIsMade) {
  CUdeviceptr to[] = {to_, to_ + 4};
  CUdeviceptr from[] = {from_, from_};
  size_t sizes[] = {4, 0};
  size_t first[] = {0, 1};
  const auto nowhere = static_cast<CUmemLocationType>(5);
  const CUmemLocation no_device = {CU_MEM_LOCATION_TYPE_DEVICE, 99};
  for (const Attributes& wrong : {Attributes{0, {}, {}, 0},
                                  {4, {}, {}, 0},
                                  {1, {}, {}, 4},
                                  {1, {nowhere, 0}, {}, 0},
                                  {1, {}, {nowhere, 0}, 0},
                                  {1, no_device, {}, 0},
                                  {1, {}, no_device, 0}}) {
    Attributes attributes[] = {kInStreamOrder, wrong};
    size_t failed = 77;
    EXPECT_EQ(copy_batch_12(to, from, sizes, 2, attributes, first, 2, &failed, stream_),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(failed, SIZE_MAX);
  }
  EXPECT_EQ(Result(), Content(kSize));
}

TEST_F(BatchCopiesTest, ShapesOfBoxesAreLookedAtBeforeAnyIsMade) {
  const auto expect_last_named = [&](const Operation& wrong) {
    Operation boxes[] = {Box(), Box(), wrong};
    boxes[1].to.where = 0;
    size_t failed = 77;
    EXPECT_EQ(copy_boxes_12(3, boxes, &failed, 0, stream_), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(failed, 2u);
  };
  Operation wrong = Box();
  wrong.order = 4;
  expect_last_named(wrong);
  wrong = Box();
  wrong.flags = 4;
  expect_last_named(wrong);
  wrong = Box();
  wrong.width = 0;
  expect_last_named(wrong);
  wrong = Box();
  wrong.from.part[0] = 3;  // shorter than a row
  expect_last_named(wrong);
  EXPECT_EQ(Result(), Content(kSize));
}

TEST_F(BatchCopiesTest, WhatIsNoCopysFaultIsNobodys) {
  CUdeviceptr to[] = {to_};
  CUdeviceptr from[] = {from_};
  size_t sizes[] = {4};
  Attributes attributes = kInStreamOrder;
  size_t first = 1;
  size_t failed = 77;
  EXPECT_EQ(copy_batch_12(to, from, sizes, 1, &attributes, &first, 1, &failed, stream_),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(failed, SIZE_MAX);
}

TEST_F(BatchCopiesTest, BoxesAreMadeOfRows) {
  Operation boxes[] = {Box()};
  EXPECT_EQ(copy_boxes(1, boxes, 0, stream_), CUDA_SUCCESS);
  Content expected(kSize);
  for (size_t row = 0; row < 4; ++row) {
    for (size_t x = 0; x < 4; ++x) {
      expected[row * 4 + x] = Numbered(kSize)[(row / 2 * 3 + row % 2) * 8 + x];
    }
  }
  EXPECT_EQ(Result(), expected);
}

TEST_F(BatchCopiesTest, BoxesInArraysAreCountedInElements) {
  CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
  descriptor.Width = 16;
  descriptor.Height = 8;
  descriptor.Format = CU_AD_FORMAT_UNSIGNED_INT32;
  descriptor.NumChannels = 1;
  CUarray array = nullptr;
  ASSERT_EQ(cuArray3DCreate(&array, &descriptor), CUDA_SUCCESS);
  const auto handle = reinterpret_cast<uint64_t>(array);
  Operation into = {{1, from_, {4, 2, 0}}, {2, handle, {3, 2, 0}}, 2, 2, 1, 1, 0};
  Operation out = {{2, handle, {4, 3, 0}}, {1, to_, {}}, 1, 1, 1, 1, 0};
  EXPECT_EQ(copy_boxes(1, &into, 0, stream_), CUDA_SUCCESS);
  EXPECT_EQ(copy_boxes(1, &out, 0, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(Read(to_, 4), Read(from_ + 16 + 4, 4));
  out.from.part[0] = 16;  // beyond the array
  size_t failed = 77;
  EXPECT_EQ(copy_boxes_12(1, &out, &failed, 0, stream_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(failed, SIZE_MAX) << "no fault of memory, so none is named";
  EXPECT_EQ(cuArrayDestroy(array), CUDA_SUCCESS);
}

TEST_F(BatchCopiesTest, ImpossibleBoxesAreRefused) {
  const auto refused = [&](const Operation& changed, unsigned long long flags = 0) {
    Operation boxes[] = {Box(), changed};
    boxes[0].to.where = to_ + 1024;
    EXPECT_EQ(copy_boxes(2, boxes, flags, stream_), CUDA_ERROR_INVALID_VALUE);
  };
  for (size_t Operation::*const extent :
       {&Operation::width, &Operation::height, &Operation::depth}) {
    Operation box = Box();
    box.*extent = 0;
    refused(box);
    box.*extent = size_t{1} << 62;
    refused(box);
  }
  Operation box = Box();
  box.from.part[0] = 3;  // shorter than a row
  refused(box);
  box = Box();
  box.from.part[1] = 1;  // lower than a layer
  refused(box);
  box = Box();
  box.from.type = 3;
  refused(box);
  box = Box();
  box.to.where = 0;
  refused(box);
  box = Box();
  box.order = 0;
  refused(box);
  refused(Box(), 1);
}

// One copy, without a batch. Nobody measured any of it.
class SingleCopiesTest : public BatchCopiesTest {
 protected:
  void SetUp() override {
    if (DriverVersion() < 13020) GTEST_SKIP() << "the driver is older than these functions";
    BatchCopiesTest::SetUp();
  }
};

TEST_F(SingleCopiesTest, OneIsMade) {
  Attributes attributes = kInStreamOrder;
  EXPECT_EQ(copy_one(to_ + 100, from_ + 8, 4, &attributes, stream_), CUDA_SUCCESS);
  Content expected(kSize);
  for (size_t i = 0; i < 4; ++i) expected[100 + i] = Numbered(kSize)[8 + i];
  EXPECT_EQ(Result(), expected);
}

TEST_F(SingleCopiesTest, AttributesSayWhenTheSourceIsRead) {
  Content host = Numbered(4);
  Attributes attributes = kDuringTheCall;
  EXPECT_EQ(copy_one(to_, AddressOf(host.data()), 4, &attributes, stream_), CUDA_SUCCESS);
  host.assign(4, 9);
  Content expected = Numbered(4);
  expected.resize(kSize);
  EXPECT_EQ(Result(), expected);
}

TEST_F(SingleCopiesTest, AnyStreamTakesIt) {
  Attributes attributes = kInStreamOrder;
  EXPECT_EQ(copy_one(to_, from_, 4, &attributes, nullptr), CUDA_SUCCESS);
  Operation box = Box();
  box.to.where = to_ + 4;
  EXPECT_EQ(copy_box(&box, 0, CU_STREAM_LEGACY), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(Read(to_, 4), Numbered(4));
  EXPECT_EQ(Read(to_ + 4, 4), Numbered(4));
}

TEST_F(SingleCopiesTest, ABoxIsMadeOfRows) {
  Operation box = Box();
  EXPECT_EQ(copy_box(&box, 0, stream_), CUDA_SUCCESS);
  const Content result = Result();
  for (size_t row = 0; row < 4; ++row) {
    EXPECT_EQ(result[row * 4], Numbered(kSize)[(row / 2 * 3 + row % 2) * 8]) << row;
  }
}

TEST_F(SingleCopiesTest, ImpossibleOnesAreRefused) {
  Attributes attributes = kInStreamOrder;
  EXPECT_EQ(copy_one(to_, from_, 4, nullptr, stream_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(copy_one(0, from_, 4, &attributes, stream_), CUDA_ERROR_INVALID_VALUE);
  attributes.order = 0;
  EXPECT_EQ(copy_one(to_, from_, 4, &attributes, stream_), CUDA_ERROR_INVALID_VALUE);
  Operation box = Box();
  EXPECT_EQ(copy_box(nullptr, 0, stream_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(copy_box(&box, 1, stream_), CUDA_ERROR_INVALID_VALUE);
  box.width = 0;
  EXPECT_EQ(copy_box(&box, 0, stream_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Result(), Content(kSize));
}

}  // namespace
}  // namespace twinmmu::abi
