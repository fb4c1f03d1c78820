// Logical endpoints. [CUDA 13.3]

#include <cstdint>

#include "conformance/abi/later/later_driver.h"

namespace twinmmu::abi {
namespace {

using Number = uint64_t;  // cuuint64_t

constexpr int kUnicast = 1;
constexpr int kMulticast = 2;
constexpr unsigned int kFabric = 1;

// CUlogicalEndpointProp.
struct Properties {
  int type = kUnicast;
  int device = 0;  // or how many
  unsigned long long size = 2 * kChunk;
  unsigned int handle_types = 0;
  unsigned int flags = 0;
};

const Function<CUresult(uint32_t*, unsigned int)> reserve("cuLogicalEndpointIdReserve");
const Function<CUresult(uint32_t, unsigned int)> release("cuLogicalEndpointIdRelease");
const Function<CUresult(uint32_t, const Properties*)> create("cuLogicalEndpointCreate");
const Function<CUresult(uint32_t, CUdevice)> add_device("cuLogicalEndpointAddDevice");
const Function<CUresult(uint32_t)> destroy("cuLogicalEndpointDestroy");
const Function<CUresult(uint32_t, CUdevice, Number, void*, Number, unsigned long long)>
    bind_address("cuLogicalEndpointBindAddr");
const Function<CUresult(uint32_t, CUdevice, Number, CUmemGenericAllocationHandle, Number, Number,
                        unsigned long long)>
    bind("cuLogicalEndpointBindMem");
const Function<CUresult(uint32_t, CUdevice, Number, Number)> unbind("cuLogicalEndpointUnbind");
const Function<CUresult(void*, uint32_t, int)> export_endpoint("cuLogicalEndpointExport");
const Function<CUresult(uint32_t, const void*, int)> import_endpoint("cuLogicalEndpointImport");
const Function<CUresult(Number*, Number*, const Properties*)> get_limits(
    "cuLogicalEndpointGetLimits");
const Function<CUresult(uint32_t, unsigned int, int*)> query("cuLogicalEndpointQuery");

Properties TeamOf(int devices) {
  Properties properties;
  properties.type = kMulticast;
  properties.device = devices;
  return properties;
}

bool IsReady(uint32_t id, unsigned int count = 1) {
  int status = -1;
  EXPECT_EQ(query(id, count, &status), CUDA_SUCCESS);
  return status != 0;
}

// Memory of a device, released at the end.
class Memory {
 public:
  explicit Memory(CUdevice device = 0, size_t size = kChunk) {
    const CUmemAllocationProp properties = PinnedOn(device);
    EXPECT_EQ(cuMemCreate(&handle_, size, &properties, 0), CUDA_SUCCESS);
  }
  ~Memory() { EXPECT_EQ(cuMemRelease(handle_), CUDA_SUCCESS); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  CUmemGenericAllocationHandle handle() const { return handle_; }

 private:
  CUmemGenericAllocationHandle handle_ = 0;
};

// With a number that is reserved.
class EndpointTest : public LaterDriverTest<13030, 153> {
 protected:
  void SetUp() override {
    LaterDriverTest::SetUp();
    if (IsSkipped()) return;
    ASSERT_EQ(reserve(&id_, kNumbers), CUDA_SUCCESS);
  }
  void TearDown() override {
    if (!IsSkipped()) {
      EXPECT_EQ(release(id_, kNumbers), CUDA_SUCCESS);
    }
    ContextTest::TearDown();
  }
  void Create(const Properties& properties = Properties()) {
    EXPECT_EQ(create(id_, &properties), CUDA_SUCCESS);
  }
  void CreateReady() {
    Create();
    EXPECT_TRUE(IsReady(id_));
  }

  static constexpr unsigned int kNumbers = 4;
  uint32_t id_ = 0;
};

TEST_F(EndpointTest, NumbersAreReservedInARow) {
  uint32_t first = 0;
  ASSERT_EQ(reserve(&first, 3), CUDA_SUCCESS);
  EXPECT_TRUE(first + 3 <= id_ || id_ + kNumbers <= first) << "they are of nobody else";
  EXPECT_EQ(release(first + 1, 1), CUDA_SUCCESS);
  EXPECT_EQ(release(first + 1, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(release(first, 3), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(release(first, 1), CUDA_SUCCESS);
  EXPECT_EQ(release(first + 2, 1), CUDA_SUCCESS);
  EXPECT_EQ(reserve(&first, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(reserve(nullptr, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(release(id_, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(EndpointTest, ANumberNamesOneEndpoint) {
  const Properties properties;
  Create();
  EXPECT_EQ(create(id_, &properties), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(create(id_ + kNumbers, &properties), CUDA_ERROR_INVALID_VALUE) << "it is not reserved";
  EXPECT_EQ(release(id_, kNumbers), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(destroy(id_), CUDA_SUCCESS);
  EXPECT_EQ(destroy(id_), CUDA_ERROR_INVALID_VALUE);
  Create();
  EXPECT_EQ(destroy(id_), CUDA_SUCCESS);
}

TEST_F(EndpointTest, LimitsAreThoseOfCreate) {
  Properties properties;
  Number alignment = 0;
  Number most = 0;
  ASSERT_EQ(get_limits(&alignment, &most, &properties), CUDA_SUCCESS);
  ASSERT_GT(alignment, 1u);
  ASSERT_GE(most, alignment);
  for (const Number size : {Number{0}, alignment / 2, alignment + 1, most + alignment}) {
    properties.size = size;
    EXPECT_EQ(create(id_, &properties), CUDA_ERROR_INVALID_VALUE) << size;
  }
  for (const Number size : {alignment, most}) {
    properties.size = size;
    EXPECT_EQ(create(id_, &properties), CUDA_SUCCESS) << size;
    EXPECT_EQ(destroy(id_), CUDA_SUCCESS);
  }
  EXPECT_EQ(get_limits(nullptr, &most, &properties), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(EndpointTest, PropertiesThatDoNotExistAreRefused) {
  Number alignment = 0;
  Number most = 0;
  Properties properties;
  const auto expect_refused = [&] {
    EXPECT_EQ(create(id_, &properties), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(get_limits(&alignment, &most, &properties), CUDA_ERROR_INVALID_VALUE);
    properties = Properties();
  };
  properties.type = 0;
  expect_refused();
  properties.type = 3;
  expect_refused();
  properties.device = DeviceCount();
  expect_refused();
  properties.handle_types = 2;
  expect_refused();
  properties.flags = 2;
  expect_refused();
  properties = TeamOf(0);
  expect_refused();
  properties = TeamOf(DeviceCount() + 1);
  expect_refused();
}

TEST_F(EndpointTest, MemoryIsBoundOnceQueryHasSaidSo) {
  const Memory memory;
  Create();
  EXPECT_EQ(bind(id_, 0, 0, memory.handle(), 0, kChunk, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_TRUE(IsReady(id_));
  EXPECT_EQ(bind(id_, 0, 0, memory.handle(), 0, kChunk, 0), CUDA_SUCCESS);
  EXPECT_EQ(bind(id_, 0, 0, memory.handle(), 0, kChunk, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(unbind(id_, 0, 0, kChunk), CUDA_SUCCESS);
  EXPECT_EQ(unbind(id_, 0, 0, kChunk), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(destroy(id_), CUDA_SUCCESS);
}

TEST_F(EndpointTest, MappedMemoryIsBoundByItsAddress) {
  const Mapping mapping;
  CreateReady();
  void* const address = reinterpret_cast<void*>(mapping.address());
  EXPECT_EQ(bind_address(id_, 0, kChunk, address, kChunk, 0), CUDA_SUCCESS);
  EXPECT_EQ(bind_address(id_, 0, 0, &id_, kChunk, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(unbind(id_, 0, kChunk, kChunk), CUDA_SUCCESS);
  EXPECT_EQ(destroy(id_), CUDA_SUCCESS);
}

TEST_F(EndpointTest, WhatCannotBeBoundIsRefused) {
  const Memory memory(0, 2 * kChunk);
  CreateReady();
  const auto expect_refused = [&](CUdevice device, Number offset, Number memory_offset, Number size,
                                  unsigned long long flags) {
    EXPECT_EQ(bind(id_, device, offset, memory.handle(), memory_offset, size, flags),
              CUDA_ERROR_INVALID_VALUE);
  };
  expect_refused(0, 0, 0, 0, 0);
  expect_refused(0, 0, 0, kChunk, 1);
  expect_refused(0, 1, 0, kChunk, 0);
  expect_refused(0, 0, 1, kChunk, 0);
  expect_refused(0, 2 * kChunk, 0, kChunk, 0);  // beyond the endpoint
  expect_refused(0, 0, kChunk, 2 * kChunk, 0);  // beyond the memory
  expect_refused(0, ~Number{0} - kChunk + 1, 0, kChunk, 0);
  expect_refused(DeviceCount() > 1 ? 1 : 99, 0, 0, kChunk, 0);  // not the owner
  EXPECT_EQ(bind(id_, 0, 0, 0x1234567, 0, kChunk, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(destroy(id_), CUDA_SUCCESS);
}

// Each whole.
TEST_F(EndpointTest, SeveralBindingsAreUnboundAtOnce) {
  const Memory memory(0, 2 * kChunk);
  CreateReady();
  EXPECT_EQ(bind(id_, 0, 0, memory.handle(), 0, kChunk, 0), CUDA_SUCCESS);
  EXPECT_EQ(bind(id_, 0, kChunk, memory.handle(), kChunk, kChunk, 0), CUDA_SUCCESS);
  EXPECT_EQ(unbind(id_, 0, 0, 2 * kChunk), CUDA_SUCCESS);
  EXPECT_EQ(bind(id_, 0, 0, memory.handle(), 0, 2 * kChunk, 0), CUDA_SUCCESS);
  EXPECT_EQ(unbind(id_, 0, 0, kChunk), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(unbind(id_, 0, kChunk, kChunk), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(unbind(id_, 99, 0, 2 * kChunk), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(unbind(id_, 0, 0, 2 * kChunk), CUDA_SUCCESS);
  EXPECT_EQ(destroy(id_), CUDA_SUCCESS);
}

TEST_F(EndpointTest, TheEndOfAnEndpointUnbindsItsMemory) {
  const size_t before = FreeMemory();
  {
    const Memory memory;
    CreateReady();
    EXPECT_EQ(bind(id_, 0, 0, memory.handle(), 0, kChunk, 0), CUDA_SUCCESS);
    EXPECT_EQ(destroy(id_), CUDA_SUCCESS);
  }
  EXPECT_EQ(FreeMemory(), before);
}

TEST_F(EndpointTest, QueryIsTrueOfEndpointsThatAreComplete) {
  Create();
  EXPECT_TRUE(IsReady(id_));
  EXPECT_FALSE(IsReady(id_, 2)) << "the second number names none";
  const Properties properties;
  EXPECT_EQ(create(id_ + 1, &properties), CUDA_SUCCESS);
  EXPECT_TRUE(IsReady(id_, 2));
  int status = -1;
  EXPECT_EQ(query(id_, 0, &status), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(query(id_ + kNumbers, 1, &status), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(query(id_, 1, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(status, -1);
  EXPECT_EQ(destroy(id_), CUDA_SUCCESS);
  EXPECT_EQ(destroy(id_ + 1), CUDA_SUCCESS);
}

TEST_F(EndpointTest, ATeamIsCompleteWithItsLastDevice) {
  if (DeviceCount() < 2) GTEST_SKIP() << "one device is no team";
  const Memory first(0);
  const Memory second(1);
  Create(TeamOf(2));
  EXPECT_EQ(add_device(id_, 0), CUDA_SUCCESS);
  EXPECT_EQ(add_device(id_, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_FALSE(IsReady(id_));
  EXPECT_EQ(bind(id_, 0, 0, first.handle(), 0, kChunk, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(add_device(id_, 99), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(add_device(id_, 1), CUDA_SUCCESS);
  EXPECT_TRUE(IsReady(id_));
  EXPECT_EQ(bind(id_, 0, 0, first.handle(), 0, kChunk, 0), CUDA_SUCCESS);
  EXPECT_EQ(bind(id_, 0, kChunk, second.handle(), 0, kChunk, 0), CUDA_ERROR_INVALID_VALUE)
      << "it is of the other device";
  EXPECT_EQ(bind(id_, 1, 0, second.handle(), 0, kChunk, 0), CUDA_SUCCESS);
  EXPECT_EQ(unbind(id_, 1, 0, kChunk), CUDA_SUCCESS);
  EXPECT_EQ(unbind(id_, 0, 0, kChunk), CUDA_SUCCESS);
  EXPECT_EQ(destroy(id_), CUDA_SUCCESS);
}

TEST_F(EndpointTest, AUnicastEndpointHasNoTeam) {
  Create();
  EXPECT_EQ(add_device(id_, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(destroy(id_), CUDA_SUCCESS);
}

TEST_F(EndpointTest, OnlyWhatWasMadeForItIsExported) {
  char handle[64] = {7};
  Create();
  EXPECT_EQ(export_endpoint(handle, id_, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(export_endpoint(handle, id_, kFabric), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(export_endpoint(handle, id_ + 1, kFabric), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(export_endpoint(nullptr, id_, kFabric), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(handle[0], 7);
  EXPECT_EQ(import_endpoint(id_ + 1, handle, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_NE(import_endpoint(id_ + 1, handle, kFabric), CUDA_SUCCESS);
  EXPECT_EQ(destroy(id_), CUDA_SUCCESS);
}

// Where the user may share memory so: `--profile` with fabric_permitted.
TEST_F(EndpointTest, AnExportedEndpointIsImported) {
  Properties properties;
  properties.handle_types = kFabric;
  const CUresult made = create(id_, &properties);
  if (made == CUDA_ERROR_NOT_PERMITTED) GTEST_SKIP() << "fabric handles are not permitted";
  ASSERT_EQ(made, CUDA_SUCCESS);
  char handle[64] = {};
  EXPECT_EQ(export_endpoint(handle, id_, kFabric), CUDA_SUCCESS);
  EXPECT_EQ(import_endpoint(id_, handle, kFabric), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(import_endpoint(id_ + 1, handle, kFabric), CUDA_SUCCESS);
  EXPECT_TRUE(IsReady(id_, 2));
  const Memory memory;
  EXPECT_EQ(bind(id_ + 1, 0, 0, memory.handle(), 0, kChunk, 0), CUDA_ERROR_INVALID_VALUE)
      << "an imported unicast endpoint is bound by who made it";
  EXPECT_EQ(destroy(id_ + 1), CUDA_SUCCESS);
  EXPECT_EQ(destroy(id_), CUDA_SUCCESS);
}

}  // namespace
}  // namespace twinmmu::abi
