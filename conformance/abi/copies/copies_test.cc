// Copies and fills: which memory they take from the host and from devices.

#include "conformance/abi/abi_fixtures.h"

namespace twinmmu::abi {
namespace {

using CopiesTest = ContextTest;

TEST_F(CopiesTest, GenericOnesFindOutWhatIsWhere) {
  const Mapping mapping;
  const Buffer buffer(4096);
  const int written = 42;
  int from_mapping = 0;
  int from_buffer = 0;
  EXPECT_EQ(cuMemcpy(mapping.address(), AddressOf(&written), 4), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpy(AddressOf(&from_mapping), mapping.address(), 4), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpy(buffer.address(), mapping.address(), 4), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpy(AddressOf(&from_buffer), buffer.address(), 4), CUDA_SUCCESS);
  EXPECT_EQ(from_mapping, 42);
  EXPECT_EQ(from_buffer, 42);
}

TEST_F(CopiesTest, GenericOnesCopyOnTheHostToo) {
  const int from = 42;
  int to = 0;
  EXPECT_EQ(cuMemcpy(AddressOf(&to), AddressOf(&from), 4), CUDA_SUCCESS);
  EXPECT_EQ(to, 42);
}

TEST_F(CopiesTest, GenericAsynchronousOnesDoTheSame) {
  const Mapping mapping;
  const int written = 42;
  int read = 0;
  int copied = 0;
  EXPECT_EQ(cuMemcpyAsync(mapping.address(), AddressOf(&written), 4, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyAsync(AddressOf(&read), mapping.address(), 4, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyAsync(AddressOf(&copied), AddressOf(&written), 4, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(read, 42);
  EXPECT_EQ(copied, 42);
}

TEST_F(CopiesTest, GenericOnesNeedTheRightsOfMappings) {
  const Mapping mapping(0, /*granted=*/false);
  int value = 42;
  EXPECT_EQ(cuMemcpy(mapping.address(), AddressOf(&value), 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpy(AddressOf(&value), mapping.address(), 4), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(CopiesTest, HostMemoryOfTheProgramIsNoDeviceMemory) {
  const Mapping mapping;
  int value = 42;
  EXPECT_EQ(cuMemcpyDtoD(mapping.address(), AddressOf(&value), 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyDtoDAsync(mapping.address(), AddressOf(&value), 4, nullptr),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyHtoD(AddressOf(&value), &value, 4), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(CopiesTest, DeviceMemoryMayBeGivenAsMemoryOfTheHost) {
  const Mapping mapping;
  const Buffer buffer(4096);
  void* const as_host = reinterpret_cast<void*>(buffer.address());
  int value = 42;
  EXPECT_EQ(cuMemcpyHtoD(buffer.address(), &value, 4), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyHtoD(mapping.address(), as_host, 4), CUDA_SUCCESS);
  value = 0;
  EXPECT_EQ(cuMemcpyDtoH(&value, mapping.address(), 4), CUDA_SUCCESS);
  EXPECT_EQ(value, 42);
  EXPECT_EQ(cuMemcpyDtoH(as_host, mapping.address(), 4), CUDA_SUCCESS);
}

TEST_F(CopiesTest, NullIsRefused) {
  const Mapping mapping;
  int value = 0;
  EXPECT_EQ(cuMemcpy(0, AddressOf(&value), 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpy(mapping.address(), 0, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyHtoD(mapping.address(), nullptr, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyDtoH(nullptr, mapping.address(), 4), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(CopiesTest, OfNothingSucceedWhereverItIs) {
  char host[8] = {};
  EXPECT_EQ(cuMemcpy(0, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpy(AddressOf(host), AddressOf(host), 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyHtoD(0, nullptr, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyHtoD(1, host, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyDtoD(1, 2, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyDtoH(nullptr, 1, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD8(1, 0, 0), CUDA_SUCCESS);
}

TEST_F(CopiesTest, FillsNeedTheAlignmentOfTheirElements) {
  const Mapping mapping;
  EXPECT_EQ(cuMemsetD32(mapping.address() + 1, 0, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemsetD16(mapping.address() + 1, 0, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemsetD16Async(mapping.address() + 1, 0, 1, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemsetD8(mapping.address() + 1, 0, 1), CUDA_SUCCESS);
}

TEST_F(CopiesTest, FillsOfAStreamAreDoneWhenTheStreamIs) {
  const Mapping mapping;
  unsigned int word = 0;
  EXPECT_EQ(cuMemsetD16Async(mapping.address(), 0x1234, 2, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyDtoH(&word, mapping.address(), sizeof(word)), CUDA_SUCCESS);
  EXPECT_EQ(word, 0x12341234u);
}

// What is to be decompressed, as the driver's header has it.
struct Compressed {
  size_t from_bytes;
  size_t to_bytes;
  unsigned int* written;
  CUdeviceptr from;
  CUdeviceptr to;
  unsigned int algorithm;
  unsigned char reserved[20];
};

TEST_F(CopiesTest, WithoutAnEngineNothingIsDecompressed) {
  constexpr auto kAlgorithms = static_cast<CUdevice_attribute>(136);
  constexpr unsigned int kDeflate = 1;
  const Function<CUresult(Compressed*, size_t, unsigned int, size_t*, CUstream)> decompress(
      "cuMemBatchDecompressAsync");
  if (DriverVersion() < 12080) GTEST_SKIP() << "the driver is older than this attribute";
  int algorithms = 0;
  ASSERT_EQ(cuDeviceGetAttribute(&algorithms, kAlgorithms, 0), CUDA_SUCCESS);
  if (algorithms != 0) GTEST_SKIP() << "the device has an engine";
  const Buffer from(64);
  const Buffer to(64);
  const Buffer written(4);
  Compressed one = {64,
                    64,
                    reinterpret_cast<unsigned int*>(written.address()),
                    from.address(),
                    to.address(),
                    kDeflate,
                    {}};
  size_t wrong = 0;
  EXPECT_EQ(decompress(&one, 1, 0, &wrong, nullptr), CUDA_ERROR_NOT_SUPPORTED);
}

// The form of CUDA 2 is one of 32 bits.
TEST_F(CopiesTest, FormOfCuda2) {
  const Function<CUresult(CUdeviceptr, const void*, size_t)> copy("cuMemcpyHtoD");
  const Mapping mapping;
  const int value = 42;
  EXPECT_EQ(copy(mapping.address(), &value, 4),
            TraitsOf().keeps_old_forms ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS);
}

}  // namespace
}  // namespace twinmmu::abi
