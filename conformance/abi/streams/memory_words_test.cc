// Operations of streams on words of memory: conditions of waits, and what is refused.

#include "conformance/abi/streams/memory_words.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace twinmmu::abi {
namespace {

using OperationOn32 = Function<CUresult(CUstream, CUdeviceptr, cuuint32_t, unsigned int)>;
using OperationOn64 = Function<CUresult(CUstream, CUdeviceptr, cuuint64_t, unsigned int)>;
using Batch = Function<CUresult(CUstream, unsigned int, CUstreamBatchMemOpParams*, unsigned int)>;

// --- What devices can do -------------------------------------------------------------------------

TEST_F(MemoryWordsTest, AttributesSayThatOnlyTheSecondVersionIsThere) {
  const std::pair<int, int> expected[] = {{92, 0}, {93, 0}, {94, 0}, {122, 1}, {123, 1}};
  for (const auto& [attribute, value] : expected) {
    int found = -1;
    EXPECT_EQ(cuDeviceGetAttribute(&found, static_cast<CUdevice_attribute>(attribute), 0),
              CUDA_SUCCESS);
    EXPECT_EQ(found, value) << attribute;
  }
}

TEST_F(MemoryWordsTest, TheFirstVersionIsNotSupportedWhateverIsPassed) {
  for (const char* const name : {"cuStreamWaitValue32", "cuStreamWriteValue32"}) {
    EXPECT_EQ(OperationOn32(name)(stream_, words_, 0, 0), CUDA_ERROR_NOT_SUPPORTED) << name;
    EXPECT_EQ(OperationOn32(name)(stream_, 0, 0, 99), CUDA_ERROR_NOT_SUPPORTED) << name;
  }
  for (const char* const name : {"cuStreamWaitValue64", "cuStreamWriteValue64"}) {
    EXPECT_EQ(OperationOn64(name)(stream_, words_, 0, 0), CUDA_ERROR_NOT_SUPPORTED) << name;
    EXPECT_EQ(OperationOn64(name)(stream_, words_ + 2, 0, 0), CUDA_ERROR_NOT_SUPPORTED) << name;
  }
  CUstreamBatchMemOpParams write = Write(words_, 1);
  EXPECT_EQ(Batch("cuStreamBatchMemOp")(stream_, 1, &write, 0), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(Batch("cuStreamBatchMemOp")(stream_, 1, nullptr, 0), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(Batch("cuStreamBatchMemOp")(stream_, 0, nullptr, 9), CUDA_ERROR_NOT_SUPPORTED);
}

TEST_F(MemoryWordsTest, NothingIsFlushed) {
  int flushes = -1;
  ASSERT_EQ(cuDeviceGetAttribute(&flushes, static_cast<CUdevice_attribute>(98), 0), CUDA_SUCCESS);
  if (flushes != 0) GTEST_SKIP() << "this device can flush remote writes";
  EXPECT_EQ(cuStreamWaitValue32(stream_, words_, 0, kFlush), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuStreamWaitValue64(stream_, words_, 0, kFlush | kEqual), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuStreamWaitValue32(stream_, words_, 0, kFlush | 4), CUDA_ERROR_INVALID_VALUE);
}

// --- Conditions ----------------------------------------------------------------------------------

class ConditionsTest : public MemoryWordsTest {
 protected:
  // Whether a stream that waits for `value` goes on when the word is `word`. It goes on in the end,
  // when the word is `enough`.
  bool GoesOn32(unsigned int condition, uint32_t word, uint32_t value, uint32_t enough) {
    host_[0] = uint64_t{0xfeed'f00d} << 32 | word;
    EXPECT_EQ(cuStreamWaitValue32(stream_, OnHost(0), value, condition), CUDA_SUCCESS);
    return Ends(enough);
  }
  bool GoesOn64(unsigned int condition, uint64_t word, uint64_t value, uint64_t enough) {
    host_[0] = word;
    EXPECT_EQ(cuStreamWaitValue64(stream_, OnHost(0), value, condition), CUDA_SUCCESS);
    return Ends(enough);
  }

 private:
  bool Ends(uint64_t enough) {
    const bool ends = SettledSoon(stream_) == CUDA_SUCCESS;
    host_[0] = enough;
    EXPECT_EQ(Settled(stream_), CUDA_SUCCESS);
    return ends;
  }
};

TEST_F(ConditionsTest, GreaterOrEqual) {
  EXPECT_TRUE(GoesOn32(kGeq, 5, 5, 5));
  EXPECT_TRUE(GoesOn32(kGeq, 6, 5, 5));
  EXPECT_FALSE(GoesOn32(kGeq, 4, 5, 5));
  EXPECT_TRUE(GoesOn64(kGeq, uint64_t{1} << 32, 5, 5));
  EXPECT_FALSE(GoesOn64(kGeq, 4, 5, 5));
}

// What was counted on beyond the greatest number is greater, by up to half of all numbers.
TEST_F(ConditionsTest, GreaterOrEqualWraps) {
  EXPECT_TRUE(GoesOn32(kGeq, 0, 0xffff'ffff, 0));
  EXPECT_FALSE(GoesOn32(kGeq, 0xffff'ffff, 0, 0));
  EXPECT_TRUE(GoesOn32(kGeq, 0x8000'0004, 5, 5));
  EXPECT_FALSE(GoesOn32(kGeq, 0x8000'0005, 5, 5));
  EXPECT_TRUE(GoesOn64(kGeq, 0, ~uint64_t{0}, 0));
  EXPECT_TRUE(GoesOn64(kGeq, 0x8000'0000'0000'0004, 5, 5));
  EXPECT_FALSE(GoesOn64(kGeq, 0x8000'0000'0000'0005, 5, 5));
}

TEST_F(ConditionsTest, Equal) {
  EXPECT_TRUE(GoesOn32(kEqual, 5, 5, 5));
  EXPECT_FALSE(GoesOn32(kEqual, 6, 5, 5));
  EXPECT_TRUE(GoesOn64(kEqual, uint64_t{1} << 40, uint64_t{1} << 40, 0));
  EXPECT_FALSE(GoesOn64(kEqual, uint64_t{1} << 41, uint64_t{1} << 40, uint64_t{1} << 40));
}

TEST_F(ConditionsTest, AnyBitOfTheValue) {
  EXPECT_TRUE(GoesOn32(kAnd, 4, 6, 6));
  EXPECT_FALSE(GoesOn32(kAnd, 1, 6, 6));
  EXPECT_TRUE(GoesOn64(kAnd, uint64_t{1} << 40, uint64_t{1} << 40, 0));
  EXPECT_FALSE(GoesOn64(kAnd, 1, uint64_t{1} << 40, ~uint64_t{0}));
}

TEST_F(ConditionsTest, AnyBitMissingInBoth) {
  EXPECT_FALSE(GoesOn32(kNor, 0xffff'ffff, 0, 0));
  EXPECT_FALSE(GoesOn32(kNor, 0xffff'0000, 0xffff, 0));
  EXPECT_TRUE(GoesOn32(kNor, 0xffff'0000, 0x7fff, 0));
  EXPECT_TRUE(GoesOn64(kNor, ~uint64_t{1}, 0, 0));
  EXPECT_FALSE(GoesOn64(kNor, ~uint64_t{0}, 0, 0));
}

TEST_F(ConditionsTest, OthersAreInvalid) {
  for (const unsigned int flags : {4u, 8u, 1u << 29, 1u << 31, kFlush | 4}) {
    EXPECT_EQ(cuStreamWaitValue32(stream_, words_, 0, flags), CUDA_ERROR_INVALID_VALUE) << flags;
    EXPECT_EQ(cuStreamWaitValue64(stream_, words_, 0, flags), CUDA_ERROR_INVALID_VALUE) << flags;
  }
}

// --- Words that cannot be used -------------------------------------------------------------------

TEST_F(MemoryWordsTest, WordsAreAligned) {
  for (const CUdeviceptr offset : {1, 2, 3}) {
    EXPECT_EQ(cuStreamWaitValue32(stream_, words_ + offset, 0, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuStreamWriteValue32(stream_, words_ + offset, 0, 0), CUDA_ERROR_INVALID_VALUE);
  }
  for (const CUdeviceptr offset : {1, 2, 3, 4}) {
    EXPECT_EQ(cuStreamWaitValue64(stream_, words_ + offset, 0, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuStreamWriteValue64(stream_, words_ + offset, 0, 0), CUDA_ERROR_INVALID_VALUE);
  }
  EXPECT_EQ(cuStreamWriteValue32(stream_, words_ + 4, 0, 0), CUDA_SUCCESS);
}

TEST_F(MemoryWordsTest, WordsAreThere) {
  CUdeviceptr reserved = 0;
  CUdeviceptr freed = 0;
  ASSERT_EQ(cuMemAddressReserve(&reserved, kChunk, 0, 0, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemAlloc(&freed, 4 << 20), CUDA_SUCCESS);
  ASSERT_EQ(cuMemFree(freed), CUDA_SUCCESS);
  const Mapping denied(0, /*granted=*/false);
  const Buffer small(4);
  std::vector<uint64_t> of_the_program(1000);
  for (const CUdeviceptr address :
       {CUdeviceptr{0}, CUdeviceptr{4096}, reserved, freed, denied.address(), small.address() + 4,
        AddressOf(of_the_program.data())}) {
    EXPECT_EQ(cuStreamWaitValue32(stream_, address, 0, 0), CUDA_ERROR_INVALID_VALUE) << address;
    EXPECT_EQ(cuStreamWaitValue64(stream_, address, 0, 0), CUDA_ERROR_INVALID_VALUE) << address;
    EXPECT_EQ(cuStreamWriteValue32(stream_, address, 0, 0), CUDA_ERROR_INVALID_VALUE) << address;
    EXPECT_EQ(cuStreamWriteValue64(stream_, address, 0, 0), CUDA_ERROR_INVALID_VALUE) << address;
  }
  EXPECT_EQ(Settled(stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAddressFree(reserved, kChunk), CUDA_SUCCESS);
}

// The first byte counts.
TEST_F(MemoryWordsTest, AWordMayEndBehindItsAllocation) {
  const Buffer small(4);
  EXPECT_EQ(cuStreamWriteValue64(stream_, small.address(), 5, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitValue64(stream_, small.address(), 5, kEqual), CUDA_SUCCESS);
  EXPECT_EQ(Settled(stream_), CUDA_SUCCESS);
}

TEST_F(MemoryWordsTest, VariablesOfModulesHaveWords) {
  const char text[] = R"(.version 7.0
.target sm_70
.address_size 64
.visible .global .align 8 .b8 flag[8];
.visible .entry nothing() { ret; }
)";
  void* module = nullptr;
  CUdeviceptr flag = 0;
  size_t size = 0;
  ASSERT_EQ((Function<CUresult(void**, const void*)>("cuModuleLoadData")(&module, text)),
            CUDA_SUCCESS);
  ASSERT_EQ((Function<CUresult(CUdeviceptr*, size_t*, void*, const char*)>("cuModuleGetGlobal_v2")(
                &flag, &size, module, "flag")),
            CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWriteValue32(stream_, flag, 5, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitValue32(stream_, flag, 5, kEqual), CUDA_SUCCESS);
  EXPECT_EQ(Settled(stream_), CUDA_SUCCESS);
  EXPECT_EQ((Function<CUresult(void*)>("cuModuleUnload")(module)), CUDA_SUCCESS);
}

// To the byte, as it was registered.
TEST_F(MemoryWordsTest, RegisteredMemoryHasItsOwnWordsOnly) {
  alignas(4096) static char page[4096];
  ASSERT_EQ(cuMemHostRegister(page, 4, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWriteValue64(stream_, AddressOf(page), 1, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWriteValue32(stream_, AddressOf(page + 4), 1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamWriteValue32(stream_, AddressOf(page + 8), 1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Settled(stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuMemHostUnregister(page), CUDA_SUCCESS);
}

// For the write too there are no flags but 0, whatever the documentation says.
TEST_F(MemoryWordsTest, WritesHaveNoFlags) {
  for (const unsigned int flags : {1u, 2u, 3u, 4u, 1u << 30}) {
    EXPECT_EQ(cuStreamWriteValue32(stream_, words_, 1, flags), CUDA_ERROR_INVALID_VALUE) << flags;
    EXPECT_EQ(cuStreamWriteValue64(stream_, words_, 1, flags), CUDA_ERROR_INVALID_VALUE) << flags;
  }
  EXPECT_EQ(Read(words_), 0u);
}

// --- Streams and contexts ------------------------------------------------------------------------

TEST_F(MemoryWordsTest, DefaultStreamsHaveAllTheirNames) {
  for (const CUstream stream : {CUstream{nullptr}, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD}) {
    EXPECT_EQ(cuStreamWriteValue32(stream, Word(0), 5, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamWaitValue32(stream, Word(0), 5, kEqual), CUDA_SUCCESS);
    EXPECT_EQ(Settled(stream), CUDA_SUCCESS);
  }
}

TEST_F(MemoryWordsTest, OnlyADefaultStreamNeedsACurrentContext) {
  EXPECT_EQ(cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
  CUstreamBatchMemOpParams write = Write(Word(1), 6);
  EXPECT_EQ(cuStreamWriteValue32(stream_, Word(0), 5, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitValue32(stream_, Word(0), 5, kEqual), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamBatchMemOp(stream_, 1, &write, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWriteValue32(stream_, 0, 5, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamWaitValue32(stream_, Word(0), 5, 99), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamWriteValue32(nullptr, Word(0), 5, 0), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(Read(Word(0)), 5u);
  EXPECT_EQ(Read(Word(1)), 6u);
}

TEST_F(MemoryWordsTest, AStreamMustBeThere) {
  alignas(64) char invented[4096] = {};
  const auto stream = reinterpret_cast<CUstream>(invented);
  EXPECT_EQ(cuStreamWriteValue32(stream, Word(0), 5, 0), CUDA_ERROR_INVALID_HANDLE);
  if (!TraitsOf().survives_bad_pointers) return;
  CUstream destroyed = nullptr;
  ASSERT_EQ(cuStreamCreate(&destroyed, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamDestroy(destroyed), CUDA_SUCCESS);
  CUstreamBatchMemOpParams write = Write(Word(1), 6);
  EXPECT_EQ(cuStreamWaitValue32(destroyed, Word(0), 0, 0), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuStreamBatchMemOp(destroyed, 1, &write, 0), CUDA_ERROR_INVALID_HANDLE);
}

using MemoryWordsInitTest = NewProcessTest;

TEST_F(MemoryWordsInitTest, NothingWorksBeforeInit) {
  if (RanInNewProcess()) return;
  CUstreamBatchMemOpParams write = Write(4096, 6);
  EXPECT_EQ(cuStreamWaitValue32(nullptr, 4096, 0, 0), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(cuStreamWriteValue64(nullptr, 4096, 0, 0), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(cuStreamBatchMemOp(nullptr, 1, &write, 0), CUDA_ERROR_NOT_INITIALIZED);
}

}  // namespace
}  // namespace twinmmu::abi
