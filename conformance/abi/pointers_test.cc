// What is at an address.

#include <cstdint>
#include <cstring>
#include <map>
#include <vector>

#include "conformance/abi/abi_fixtures.h"

namespace twinmmu::abi {
namespace {

constexpr unsigned char kUnwritten = 0xEE;

// A place for an answer, all of whose bytes are kUnwritten at first.
struct Answer {
  Answer() { std::memset(bytes, kUnwritten, sizeof(bytes)); }

  // How many bytes were written.
  size_t size() const {
    size_t size = sizeof(bytes);
    while (size > 0 && bytes[size - 1] == kUnwritten) --size;
    return size;
  }
  uint64_t value() const {
    uint64_t value = 0;
    std::memcpy(&value, bytes, size() == 4 ? 4 : 8);
    return value;
  }

  unsigned char bytes[32];
};

const std::vector<CUpointer_attribute>& AllAttributes() {
  static const auto* const all = new std::vector<CUpointer_attribute>{
      CU_POINTER_ATTRIBUTE_CONTEXT,
      CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
      CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
      CU_POINTER_ATTRIBUTE_HOST_POINTER,
      CU_POINTER_ATTRIBUTE_SYNC_MEMOPS,
      CU_POINTER_ATTRIBUTE_BUFFER_ID,
      CU_POINTER_ATTRIBUTE_IS_MANAGED,
      CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
      CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
      CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
      CU_POINTER_ATTRIBUTE_RANGE_SIZE,
      CU_POINTER_ATTRIBUTE_MAPPED,
      CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES,
      CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE,
      CU_POINTER_ATTRIBUTE_ACCESS_FLAGS,
      CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE,
      CU_POINTER_ATTRIBUTE_MAPPING_SIZE,
      CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR,
      CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID,
  };
  return *all;
}

TWINMMU_ANY_TYPES CUresult Ask(CUpointer_attribute attribute, CUdeviceptr address, Answer* answer) {
  return cuPointerGetAttribute(answer->bytes, attribute, address);
}

uint64_t AttributeOf(CUpointer_attribute attribute, CUdeviceptr address) {
  Answer answer;
  EXPECT_EQ(Ask(attribute, address, &answer), CUDA_SUCCESS) << attribute;
  return answer.value();
}

// What is told of memory.
struct Expected {
  CUcontext context = nullptr;
  uint64_t type = CU_MEMORYTYPE_DEVICE;
  CUdeviceptr start = 0;
  uint64_t size = 0;
  CUdeviceptr mapping_start = 0;
  uint64_t mapping_size = 0;
  bool linear = false;  // of a device, and not mapped by the program
};

void ExpectAttributes(CUdeviceptr address, const Expected& expected) {
  const std::map<CUpointer_attribute, uint64_t> kAnswers = {
      {CU_POINTER_ATTRIBUTE_CONTEXT, AddressOf(expected.context)},
      {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, expected.type},
      {CU_POINTER_ATTRIBUTE_DEVICE_POINTER, address},
      {CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, 0},
      {CU_POINTER_ATTRIBUTE_IS_MANAGED, 0},
      {CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, 0},
      {CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, expected.linear ? 1 : 0},
      {CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, expected.start},
      {CU_POINTER_ATTRIBUTE_RANGE_SIZE, expected.size},
      {CU_POINTER_ATTRIBUTE_MAPPED, 1},
      {CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, 0},
      {CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE, expected.linear ? 1 : 0},
      {CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, 3},
      {CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, 0},
      {CU_POINTER_ATTRIBUTE_MAPPING_SIZE, expected.mapping_size},
      {CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, expected.mapping_start},
  };
  for (const auto& [attribute, answer] : kAnswers) {
    EXPECT_EQ(AttributeOf(attribute, address), answer) << attribute;
  }
  CUdeviceptr start = 0;
  size_t size = 0;
  EXPECT_EQ(cuMemGetAddressRange(&start, &size, address), CUDA_SUCCESS);
  EXPECT_EQ(start, expected.start);
  EXPECT_EQ(size, expected.size);
}

// There is nothing that the driver knows of.
void ExpectNothing(CUdeviceptr address) {
  for (const CUpointer_attribute attribute : AllAttributes()) {
    Answer answer;
    EXPECT_EQ(Ask(attribute, address, &answer), CUDA_ERROR_INVALID_VALUE) << attribute;
  }
  CUdeviceptr base = 1;
  size_t size = 1;
  EXPECT_EQ(cuMemGetAddressRange(&base, &size, address), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(base, 0u) << "written, although it failed";
  EXPECT_EQ(size, 0u) << "written, although it failed";
}

// --- Kinds of memory -----------------------------------------------------------------------------

using PointersTest = ContextTest;

TEST_F(PointersTest, OfMappings) {
  const Mapping mapping;
  Expected expected;
  expected.start = expected.mapping_start = mapping.address();
  expected.size = expected.mapping_size = kChunk;
  ExpectAttributes(mapping.address(), expected);
  ExpectAttributes(mapping.address() + kChunk - 1, expected);
}

TEST_F(PointersTest, OfPlainMemory) {
  const size_t size = size_t{3} << 20;
  const Buffer buffer(size);
  Expected expected;
  expected.context = context_;
  expected.start = expected.mapping_start = buffer.address();
  expected.size = size;
  expected.mapping_size = 2 * kChunk;
  expected.linear = true;
  ExpectAttributes(buffer.address(), expected);
  ExpectAttributes(buffer.address() + 5, expected);
}

TEST_F(PointersTest, OfPlainMemoryEndWithItsLastByte) {
  const Buffer buffer(100);
  EXPECT_EQ(AttributeOf(CU_POINTER_ATTRIBUTE_RANGE_SIZE, buffer.address() + 99), 100u);
  ExpectNothing(buffer.address() + 100);
  ExpectNothing(buffer.address() + 200);
}

TEST_F(PointersTest, OfPlainMemoryLieInItsChunk) {
  const Buffer buffer(100);
  EXPECT_EQ(AttributeOf(CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, buffer.address()) % kChunk, 0u);
  EXPECT_EQ(AttributeOf(CU_POINTER_ATTRIBUTE_MAPPING_SIZE, buffer.address()), kChunk);
}

TEST_F(PointersTest, OfFreedMemory) {
  CUdeviceptr address = 0;
  EXPECT_EQ(cuMemAlloc(&address, 3 << 20), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(address), CUDA_SUCCESS);
  ExpectNothing(address);
}

TEST_F(PointersTest, OfHostMemory) {
  void* memory = nullptr;
  ASSERT_EQ(cuMemAllocHost(&memory, 100), CUDA_SUCCESS);
  Expected expected;
  expected.context = context_;
  expected.type = CU_MEMORYTYPE_HOST;
  expected.start = AddressOf(memory);
  expected.size = 100;
  expected.mapping_start = AttributeOf(CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, AddressOf(memory));
  expected.mapping_size = kChunk;
  ExpectAttributes(AddressOf(memory), expected);
  ExpectAttributes(AddressOf(memory) + 99, expected);
  EXPECT_EQ(AttributeOf(CU_POINTER_ATTRIBUTE_HOST_POINTER, AddressOf(memory) + 99),
            AddressOf(memory) + 99);
  ExpectNothing(AddressOf(memory) + 100);
  EXPECT_EQ(cuMemFreeHost(memory), CUDA_SUCCESS);
}

TEST_F(PointersTest, OfRegisteredMemory) {
  std::vector<char> memory(1 << 20);
  const CUdeviceptr address = AddressOf(memory.data());
  const CUdeviceptr first_page = address / 4096 * 4096;
  const CUdeviceptr end = (address + memory.size() + 4095) / 4096 * 4096;
  ASSERT_EQ(cuMemHostRegister(memory.data(), memory.size(), 0), CUDA_SUCCESS);
  Expected expected;
  expected.context = context_;
  expected.type = CU_MEMORYTYPE_HOST;
  expected.start = address;
  expected.size = memory.size();
  expected.mapping_start = first_page;
  expected.mapping_size = end - first_page;
  ExpectAttributes(address, expected);
  EXPECT_EQ(AttributeOf(CU_POINTER_ATTRIBUTE_HOST_POINTER, address), address);
  EXPECT_EQ(cuMemHostUnregister(memory.data()), CUDA_SUCCESS);
  ExpectNothing(address);
}

TEST_F(PointersTest, OfMemoryThatIsNoneOfTheDrivers) {
  int on_the_stack = 0;
  ExpectNothing(AddressOf(&on_the_stack));
  ExpectNothing(0);
}

TEST_F(PointersTest, OfReservedAddresses) {
  CUdeviceptr address = 0;
  ASSERT_EQ(cuMemAddressReserve(&address, kChunk, 0, 0, 0), CUDA_SUCCESS);
  ExpectNothing(address);
  EXPECT_EQ(cuMemAddressFree(address, kChunk), CUDA_SUCCESS);
}

TEST_F(PointersTest, MemoryOfADeviceHasNoHostPointer) {
  const Mapping mapping;
  const Buffer buffer(100);
  for (const CUdeviceptr address : {mapping.address(), buffer.address()}) {
    void* pointer = &pointer;
    EXPECT_EQ(cuPointerGetAttribute(&pointer, CU_POINTER_ATTRIBUTE_HOST_POINTER, address),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(pointer, nullptr) << "written, although it failed";
  }
}

TEST_F(PointersTest, WithoutTheRightThereIsNoDevicePointer) {
  const Mapping mapping(0, /*granted=*/false);
  void* pointer = &pointer;
  EXPECT_EQ(cuPointerGetAttribute(&pointer, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, mapping.address()),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(pointer, nullptr) << "written, although it failed";
}

TEST_F(PointersTest, BuffersHaveIdentitiesOfTheirOwn) {
  const Buffer buffer(100);
  const Buffer other(100);
  const Mapping mapping;
  const uint64_t id = AttributeOf(CU_POINTER_ATTRIBUTE_BUFFER_ID, buffer.address());
  EXPECT_NE(id, 0u);
  EXPECT_EQ(id, AttributeOf(CU_POINTER_ATTRIBUTE_BUFFER_ID, buffer.address() + 99));
  EXPECT_NE(id, AttributeOf(CU_POINTER_ATTRIBUTE_BUFFER_ID, other.address()));
  EXPECT_NE(id, AttributeOf(CU_POINTER_ATTRIBUTE_BUFFER_ID, mapping.address()));
}

TEST_F(PointersTest, MappingsAreNotDecompressedByHardware) {
  constexpr auto kIsHwDecompressCapable = static_cast<CUpointer_attribute>(21);
  const Mapping mapping;
  Answer answer;
  EXPECT_EQ(Ask(kIsHwDecompressCapable, mapping.address(), &answer), CUDA_SUCCESS);
  EXPECT_EQ(answer.size(), 4u);
  EXPECT_EQ(answer.value(), 0u);
}

// --- How answers are written ---------------------------------------------------------------------

TEST_F(PointersTest, AnswersHaveTheirWidths) {
  const Buffer buffer(100);
  for (const CUpointer_attribute attribute : AllAttributes()) {
    if (attribute == CU_POINTER_ATTRIBUTE_HOST_POINTER) continue;
    size_t expected = 8;
    switch (attribute) {
      case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      case CU_POINTER_ATTRIBUTE_MAPPED:
      case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
      case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        expected = 4;
        break;
      default:
        break;
    }
    Answer answer;
    EXPECT_EQ(Ask(attribute, buffer.address(), &answer), CUDA_SUCCESS) << attribute;
    EXPECT_EQ(answer.size(), expected) << attribute;
  }
}

TEST_F(PointersTest, UnknownAttributesAreRefused) {
  const Buffer buffer(100);
  for (const int attribute : {0, 22, 99, -1}) {
    Answer answer;
    EXPECT_EQ(Ask(static_cast<CUpointer_attribute>(attribute), buffer.address(), &answer),
              CUDA_ERROR_INVALID_VALUE);
  }
  EXPECT_EQ(cuPointerGetAttribute(nullptr, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, buffer.address()),
            CUDA_ERROR_INVALID_VALUE);
}

// --- Without a context, and with a dead one ------------------------------------------------------

TEST_F(PointersTest, WithoutAContextNobodyHasAccess) {
  const Mapping mapping;
  EmptyStack();
  Answer answer;
  CUdeviceptr base = 1;
  EXPECT_EQ(AttributeOf(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, mapping.address()),
            unsigned{CU_MEMORYTYPE_DEVICE});
  EXPECT_EQ(AttributeOf(CU_POINTER_ATTRIBUTE_RANGE_SIZE, mapping.address()), kChunk);
  EXPECT_EQ(AttributeOf(CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, mapping.address()), 0u);
  EXPECT_EQ(Ask(CU_POINTER_ATTRIBUTE_DEVICE_POINTER, mapping.address(), &answer),
            CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuMemGetAddressRange(&base, nullptr, mapping.address()), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(PointersTest, WithADeadContextNobodyHasAccess) {
  const Mapping mapping;
  CUcontext dead = nullptr;
  EXPECT_EQ(cuCtxCreate(&dead, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxPushCurrent(dead), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxDestroy(dead), CUDA_SUCCESS);
  Answer answer;
  CUdeviceptr base = 1;
  EXPECT_EQ(AttributeOf(CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, mapping.address()), 0u);
  EXPECT_EQ(Ask(CU_POINTER_ATTRIBUTE_DEVICE_POINTER, mapping.address(), &answer),
            CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuMemGetAddressRange(&base, nullptr, mapping.address()),
            CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

// --- Several at once -----------------------------------------------------------------------------

// Asks for all attributes: their answers.
std::map<CUpointer_attribute, Answer> AskForAll(CUdeviceptr address) {
  std::vector<CUpointer_attribute> attributes = AllAttributes();
  std::vector<Answer> answers(attributes.size());
  std::vector<void*> places;
  for (Answer& answer : answers) places.push_back(answer.bytes);
  EXPECT_EQ(cuPointerGetAttributes(static_cast<unsigned int>(attributes.size()), attributes.data(),
                                   places.data(), address),
            CUDA_SUCCESS);
  std::map<CUpointer_attribute, Answer> all;
  for (size_t i = 0; i < attributes.size(); ++i) all[attributes[i]] = answers[i];
  return all;
}

TEST_F(PointersTest, TokensAreNotAskedForAmongSeveral) {
  const Buffer buffer(100);
  CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                      CU_POINTER_ATTRIBUTE_P2P_TOKENS};
  Answer type;
  Answer tokens;
  void* places[] = {type.bytes, tokens.bytes};
  EXPECT_EQ(cuPointerGetAttributes(2, attributes, places, buffer.address()),
            CUDA_ERROR_INVALID_VALUE);
}

// Who has them may copy unseen, says the documentation. Source: an H200 with driver 580.159.
TEST_F(PointersTest, AskingForTokensMakesOperationsSynchronous) {
  const Buffer buffer(100);
  EXPECT_EQ(AttributeOf(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, buffer.address()), 0u);
  Answer tokens;
  EXPECT_EQ(cuPointerGetAttribute(tokens.bytes, CU_POINTER_ATTRIBUTE_P2P_TOKENS, buffer.address()),
            CUDA_SUCCESS);
  EXPECT_EQ(AttributeOf(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, buffer.address()), 1u);
}

TEST_F(PointersTest, SeveralAtOnceAreTheSameAsEach) {
  const Mapping mapping;
  const Buffer buffer(100);
  for (const CUdeviceptr address : {mapping.address(), buffer.address()}) {
    for (const auto& [attribute, answer] : AskForAll(address)) {
      if (attribute == CU_POINTER_ATTRIBUTE_HOST_POINTER) continue;
      EXPECT_EQ(answer.value(), AttributeOf(attribute, address)) << attribute;
    }
  }
}

TEST_F(PointersTest, SeveralOfADeviceHaveANullHostPointer) {
  const Mapping mapping;
  const Answer answer = AskForAll(mapping.address())[CU_POINTER_ATTRIBUTE_HOST_POINTER];
  EXPECT_EQ(answer.size(), 8u);
  EXPECT_EQ(answer.value(), 0u);
}

// What is asked for several addresses has defaults instead of an error.
void ExpectDefaults(CUdeviceptr address) {
  std::map<CUpointer_attribute, Answer> answers = AskForAll(address);
  EXPECT_EQ(answers[CU_POINTER_ATTRIBUTE_CONTEXT].value(), 0u);
  EXPECT_EQ(answers[CU_POINTER_ATTRIBUTE_MEMORY_TYPE].value(), 0u);
  EXPECT_EQ(answers[CU_POINTER_ATTRIBUTE_DEVICE_POINTER].value(), 0u);
  EXPECT_EQ(answers[CU_POINTER_ATTRIBUTE_HOST_POINTER].value(), address);
  EXPECT_EQ(answers[CU_POINTER_ATTRIBUTE_BUFFER_ID].value(), 0u);
  EXPECT_EQ(answers[CU_POINTER_ATTRIBUTE_IS_MANAGED].value(), 0u);
  EXPECT_EQ(answers[CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL].value(), 0xFFFFFFFEu);
  EXPECT_EQ(answers[CU_POINTER_ATTRIBUTE_MAPPED].value(), 0u);
  EXPECT_EQ(answers[CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES].value(), 0u);
  EXPECT_EQ(answers[CU_POINTER_ATTRIBUTE_ACCESS_FLAGS].value(), 0u);
}

TEST_F(PointersTest, SeveralOfUnknownMemoryAreDefaults) {
  int on_the_stack = 0;
  for (const CUdeviceptr address : {AddressOf(&on_the_stack), CUdeviceptr{0}}) {
    ExpectDefaults(address);
    std::map<CUpointer_attribute, Answer> answers = AskForAll(address);
    EXPECT_EQ(answers[CU_POINTER_ATTRIBUTE_RANGE_START_ADDR].size(), 0u) << "nothing is written";
    EXPECT_EQ(answers[CU_POINTER_ATTRIBUTE_RANGE_SIZE].size(), 0u) << "nothing is written";
  }
}

TEST_F(PointersTest, SeveralOfReservedAddressesTellTheReservation) {
  CUdeviceptr address = 0;
  ASSERT_EQ(cuMemAddressReserve(&address, kChunk, 0, 0, 0), CUDA_SUCCESS);
  ExpectDefaults(address);
  std::map<CUpointer_attribute, Answer> answers = AskForAll(address);
  EXPECT_EQ(answers[CU_POINTER_ATTRIBUTE_RANGE_START_ADDR].value(), address);
  EXPECT_EQ(answers[CU_POINTER_ATTRIBUTE_RANGE_SIZE].value(), kChunk);
  EXPECT_EQ(cuMemAddressFree(address, kChunk), CUDA_SUCCESS);
}

TEST_F(PointersTest, SeveralWithoutAContextAreDefaultsWhereThereIsNoAnswer) {
  const Mapping mapping;
  EmptyStack();
  std::map<CUpointer_attribute, Answer> answers = AskForAll(mapping.address());
  EXPECT_EQ(answers[CU_POINTER_ATTRIBUTE_MEMORY_TYPE].value(), unsigned{CU_MEMORYTYPE_DEVICE});
  EXPECT_EQ(answers[CU_POINTER_ATTRIBUTE_DEVICE_POINTER].value(), 0u);
  EXPECT_EQ(answers[CU_POINTER_ATTRIBUTE_ACCESS_FLAGS].value(), 0u);
  EXPECT_EQ(answers[CU_POINTER_ATTRIBUTE_RANGE_SIZE].value(), kChunk);
}

TEST_F(PointersTest, SeveralEndAtAnUnknownAttribute) {
  const Buffer buffer(100);
  for (const int unknown : {0, 22, 23, 99, -1}) {
    CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                        static_cast<CUpointer_attribute>(unknown),
                                        CU_POINTER_ATTRIBUTE_MAPPED};
    unsigned int answers[] = {7, 7, 7};
    void* places[] = {&answers[0], &answers[1], &answers[2]};
    EXPECT_EQ(cuPointerGetAttributes(3, attributes, places, buffer.address()),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(answers[0], unsigned{CU_MEMORYTYPE_DEVICE}) << "those before it are answered";
    EXPECT_EQ(answers[1], 7u);
    EXPECT_EQ(answers[2], 7u);
  }
}

TEST_F(PointersTest, SeveralNeedPlacesForAll) {
  const Buffer buffer(100);
  CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                      CU_POINTER_ATTRIBUTE_MAPPED};
  unsigned int answer = 7;
  void* places[] = {&answer, nullptr};
  EXPECT_EQ(cuPointerGetAttributes(2, attributes, places, buffer.address()),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(answer, 7u) << "nothing is answered";
  EXPECT_EQ(cuPointerGetAttributes(1, nullptr, nullptr, buffer.address()),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuPointerGetAttributes(0, nullptr, nullptr, buffer.address()),
            CUDA_ERROR_INVALID_VALUE);
}

// --- Setting -------------------------------------------------------------------------------------

TEST_F(PointersTest, SynchronyIsSetOfPlainMemoryOnly) {
  const Buffer buffer(100);
  const Mapping mapping;
  int one = 1;
  const auto sync = CU_POINTER_ATTRIBUTE_SYNC_MEMOPS;
  EXPECT_EQ(cuPointerSetAttribute(&one, sync, buffer.address()), CUDA_SUCCESS);
  EXPECT_EQ(AttributeOf(sync, buffer.address()), 1u);
  EXPECT_EQ(cuPointerSetAttribute(&one, sync, mapping.address()), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(AttributeOf(sync, mapping.address()), 0u);
  EXPECT_EQ(cuPointerSetAttribute(&one, sync, AddressOf(&one)), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(PointersTest, NothingIsSupportedToBeSetOfMappings) {
  const Mapping mapping;
  const int one = 1;
  for (const int attribute : {-1, 0, 1, 6, 13, 99}) {
    EXPECT_EQ(
        cuPointerSetAttribute(&one, static_cast<CUpointer_attribute>(attribute), mapping.address()),
        CUDA_ERROR_NOT_SUPPORTED)
        << attribute;
  }
}

TEST_F(PointersTest, OthersAreNotSet) {
  const Buffer buffer(100);
  int one = 1;
  EXPECT_EQ(cuPointerSetAttribute(&one, CU_POINTER_ATTRIBUTE_MAPPED, buffer.address()),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuPointerSetAttribute(nullptr, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, buffer.address()),
            CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace twinmmu::abi
