// Prefetches of managed memory, advice, and what is told of its pages.

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "conformance/abi/managed/managed_memory.h"

namespace twinmmu::abi {
namespace {

using PrefetchTo = Function<CUresult(CUdeviceptr, size_t, CUmemLocation, unsigned int, CUstream)>;
using AdviseFor = Function<CUresult(CUdeviceptr, size_t, CUmem_advise, CUmemLocation)>;
const PrefetchTo prefetch_to("cuMemPrefetchAsync_v2");
const AdviseFor advise_for("cuMemAdvise_v2");

CUmemLocation At(int type, int id) { return {static_cast<CUmemLocationType>(type), id}; }
constexpr CUmemLocation kDevice0 = {CU_MEM_LOCATION_TYPE_DEVICE, 0};

class ManagedAdviceTest : public ContextTest {
 protected:
  void SetUp() override {
    ContextTest::SetUp();
    if (HasFatalFailure()) return;
    EXPECT_EQ(cuMemAllocManaged(&address_, kSize, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(cuMemFree(address_), CUDA_SUCCESS);
    ContextTest::TearDown();
  }

  static constexpr size_t kSize = 4 * kMiB;
  CUdeviceptr address_ = 0;
};

// --- Prefetch ------------------------------------------------------------------------------------

TEST_F(ManagedAdviceTest, MemoryWasNeverPrefetchedAtFirst) {
  EXPECT_EQ(LastPrefetch(address_, kSize), kNeverPrefetched);
}

TEST_F(ManagedAdviceTest, PrefetchSaysWhereMemoryWentLast) {
  EXPECT_EQ(cuMemPrefetchAsync(address_, kSize, 0, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(LastPrefetch(address_, kSize), (Where{0, CU_MEM_LOCATION_TYPE_DEVICE, 0}));
  EXPECT_EQ(cuMemPrefetchAsync(address_, kSize, CU_DEVICE_CPU, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(LastPrefetch(address_, kSize),
            (Where{CU_DEVICE_CPU, CU_MEM_LOCATION_TYPE_HOST, CU_DEVICE_CPU}));
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
}

TEST_F(ManagedAdviceTest, ContentsStayWhereverMemoryGoes) {
  auto* const ints = reinterpret_cast<volatile int*>(address_);
  ints[1000] = 5;
  EXPECT_EQ(cuMemPrefetchAsync(address_, kSize, 0, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(ints[1000], 5);
}

TEST_F(ManagedAdviceTest, PrefetchNeedsADeviceThatIsThere) {
  for (const CUdevice device : {-2, -3, 99}) {
    EXPECT_EQ(cuMemPrefetchAsync(address_, kSize, device, nullptr), CUDA_ERROR_INVALID_DEVICE);
  }
  EXPECT_EQ(LastPrefetch(address_, kSize), kNeverPrefetched);
}

TEST_F(ManagedAdviceTest, PrefetchNeedsBytes) {
  EXPECT_EQ(cuMemPrefetchAsync(address_, 0, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemPrefetchAsync(0, 0, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemPrefetchAsync(0, kPage, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ManagedAdviceTest, PrefetchOfAByteIsOfItsPage) {
  EXPECT_EQ(cuMemPrefetchAsync(address_ + kPage + 100, 1, 0, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(LastPrefetch(address_ + kPage, kPage)[0], 0);
  EXPECT_EQ(LastPrefetch(address_, kPage), kNeverPrefetched);
  EXPECT_EQ(LastPrefetch(address_ + 2 * kPage, kPage), kNeverPrefetched);
  EXPECT_EQ(LastPrefetch(address_, kSize), kNeverPrefetched) << "not all of it";
}

TEST_F(ManagedAdviceTest, PrefetchEndsWhereMemoryEnds) {
  EXPECT_EQ(cuMemPrefetchAsync(address_, kSize + 1, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemPrefetchAsync(address_ + kPage, kSize, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(LastPrefetch(address_, kSize), kNeverPrefetched);
  const Managed small(100);
  EXPECT_EQ(cuMemPrefetchAsync(small.address(), 100, 0, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuMemPrefetchAsync(small.address(), 101, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemPrefetchAsync(small.address() + 100, 1, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ManagedAdviceTest, PrefetchGoesToAnyDefaultStream) {
  for (const uintptr_t stream : {0, 1, 2}) {
    EXPECT_EQ(cuMemPrefetchAsync(address_, kSize, 0, reinterpret_cast<CUstream>(stream)),
              CUDA_SUCCESS);
  }
}

TEST_F(ManagedAdviceTest, MemoryForTheHostIsPrefetchedToo) {
  const Managed memory(kPage, CU_MEM_ATTACH_HOST);
  EXPECT_EQ(cuMemPrefetchAsync(memory.address(), kPage, 0, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(LastPrefetch(memory)[0], 0);
}

TEST_F(ManagedAdviceTest, PrefetchTakesALocation) {
  if (DriverVersion() < 12020) GTEST_SKIP() << "the driver is older than this function";
  EXPECT_EQ(prefetch_to(address_, kSize, At(3, 0), 0, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(LastPrefetch(address_, kSize),
            (Where{CU_DEVICE_CPU, CU_MEM_LOCATION_TYPE_HOST_NUMA, 0}));
  EXPECT_EQ(prefetch_to(address_, kSize, At(4, 99), 0, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(LastPrefetch(address_, kSize),
            (Where{CU_DEVICE_CPU, CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT, 99}));
  EXPECT_EQ(prefetch_to(address_, kSize, At(2, 99), 0, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(LastPrefetch(address_, kSize),
            (Where{CU_DEVICE_CPU, CU_MEM_LOCATION_TYPE_HOST, CU_DEVICE_CPU}));
  EXPECT_EQ(prefetch_to(address_, kSize, kDevice0, 0, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(LastPrefetch(address_, kSize), (Where{0, CU_MEM_LOCATION_TYPE_DEVICE, 0}));
}

TEST_F(ManagedAdviceTest, PrefetchNeedsALocationThatIsThere) {
  if (DriverVersion() < 12020) GTEST_SKIP() << "the driver is older than this function";
  for (const int device : {-1, 99}) {
    EXPECT_EQ(prefetch_to(address_, kSize, At(1, device), 0, nullptr), CUDA_ERROR_INVALID_DEVICE);
  }
  for (const CUmemLocation& none : {At(0, 0), At(3, -1), At(3, 99), At(5, 0), At(9, 0)}) {
    EXPECT_EQ(prefetch_to(address_, kSize, none, 0, nullptr), CUDA_ERROR_INVALID_VALUE)
        << none.type << " " << none.id;
  }
  EXPECT_EQ(prefetch_to(address_, kSize, kDevice0, 1, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(prefetch_to(address_, 0, At(1, 99), 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(LastPrefetch(address_, kSize), kNeverPrefetched);
}

// --- Advice --------------------------------------------------------------------------------------

TEST_F(ManagedAdviceTest, ReadMostlyIsSetAndUnsetForNoDeviceInParticular) {
  const auto read_mostly = [&] {
    return RangeAttribute(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, address_, kSize);
  };
  EXPECT_EQ(read_mostly(), 0);
  for (const CUdevice device : {0, -1, -2, 99}) {
    EXPECT_EQ(cuMemAdvise(address_, kSize, CU_MEM_ADVISE_SET_READ_MOSTLY, device), CUDA_SUCCESS);
    EXPECT_EQ(read_mostly(), 1);
    EXPECT_EQ(cuMemAdvise(address_, kSize, CU_MEM_ADVISE_UNSET_READ_MOSTLY, device), CUDA_SUCCESS);
    EXPECT_EQ(read_mostly(), 0);
  }
}

TEST_F(ManagedAdviceTest, PreferredLocationIsADeviceOrTheCpu) {
  EXPECT_EQ(Preferred(address_, kSize), kNotPreferred);
  EXPECT_EQ(cuMemAdvise(address_, kSize, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, 0), CUDA_SUCCESS);
  EXPECT_EQ(Preferred(address_, kSize), (Where{0, CU_MEM_LOCATION_TYPE_DEVICE, 0}));
  EXPECT_EQ(cuMemAdvise(address_, kSize, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, -1), CUDA_SUCCESS);
  const Where cpu = {CU_DEVICE_CPU, CU_MEM_LOCATION_TYPE_HOST, CU_DEVICE_CPU};
  EXPECT_EQ(Preferred(address_, kSize), cpu);
  for (const CUdevice none : {-2, 99}) {
    EXPECT_EQ(cuMemAdvise(address_, kSize, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, none),
              CUDA_ERROR_INVALID_DEVICE);
  }
  EXPECT_EQ(Preferred(address_, kSize), cpu);
  EXPECT_EQ(cuMemAdvise(address_, kSize, CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, 99), CUDA_SUCCESS);
  EXPECT_EQ(Preferred(address_, kSize), kNotPreferred);
}

TEST_F(ManagedAdviceTest, AccessedByListsDevicesThenTheCpu) {
  using Four = std::array<int, 4>;
  const auto accessed_by = [&] {
    Four devices = {};
    EXPECT_EQ(cuMemRangeGetAttribute(devices.data(), sizeof(devices),
                                     CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, address_, kSize),
              CUDA_SUCCESS);
    return devices;
  };
  EXPECT_EQ(accessed_by(), (Four{-2, -2, -2, -2}));
  EXPECT_EQ(cuMemAdvise(address_, kSize, CU_MEM_ADVISE_SET_ACCESSED_BY, -1), CUDA_SUCCESS);
  EXPECT_EQ(accessed_by(), (Four{-1, -2, -2, -2}));
  EXPECT_EQ(cuMemAdvise(address_, kSize, CU_MEM_ADVISE_SET_ACCESSED_BY, 0), CUDA_SUCCESS);
  EXPECT_EQ(accessed_by(), (Four{0, -1, -2, -2}));
  EXPECT_EQ(cuMemAdvise(address_, kSize, CU_MEM_ADVISE_UNSET_ACCESSED_BY, 0), CUDA_SUCCESS);
  EXPECT_EQ(accessed_by(), (Four{-1, -2, -2, -2}));
  for (const CUmem_advise advice :
       {CU_MEM_ADVISE_SET_ACCESSED_BY, CU_MEM_ADVISE_UNSET_ACCESSED_BY}) {
    EXPECT_EQ(cuMemAdvise(address_, kSize, advice, 99), CUDA_ERROR_INVALID_DEVICE);
  }
}

TEST_F(ManagedAdviceTest, ListOfDevicesIsCutToWhatFits) {
  EXPECT_EQ(cuMemAdvise(address_, kSize, CU_MEM_ADVISE_SET_ACCESSED_BY, -1), CUDA_SUCCESS);
  int devices[2] = {77, 77};
  EXPECT_EQ(cuMemRangeGetAttribute(devices, 4, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, address_, kSize),
            CUDA_SUCCESS);
  EXPECT_EQ(devices[0], -1);
  EXPECT_EQ(devices[1], 77);
}

TEST_F(ManagedAdviceTest, UnknownAdviceIsRefused) {
  for (const int advice : {0, 7, 8, -1}) {
    EXPECT_EQ(cuMemAdvise(address_, kSize, static_cast<CUmem_advise>(advice), 0),
              CUDA_ERROR_INVALID_VALUE);
  }
}

TEST_F(ManagedAdviceTest, AdviceEndsWhereMemoryEnds) {
  const CUmem_advise advice = CU_MEM_ADVISE_SET_READ_MOSTLY;
  for (const size_t size : {size_t{0}, kSize + 1, 2 * kSize + kPage, ~size_t{0}}) {
    EXPECT_EQ(cuMemAdvise(address_, size, advice, 0), CUDA_ERROR_INVALID_VALUE) << size;
  }
  EXPECT_EQ(cuMemAdvise(0, kPage, advice, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(RangeAttribute(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, address_, kSize), 0);
}

TEST_F(ManagedAdviceTest, AdviceIsForPages) {
  EXPECT_EQ(cuMemAdvise(address_, kPage, CU_MEM_ADVISE_SET_READ_MOSTLY, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAdvise(address_ + 2 * kPage + 5, 10, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, -1),
            CUDA_SUCCESS);
  const auto read_mostly = [&](size_t offset, size_t size) {
    return RangeAttribute(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, address_ + offset, size);
  };
  EXPECT_EQ(read_mostly(0, kPage), 1);
  EXPECT_EQ(read_mostly(kPage, kPage), 0);
  EXPECT_EQ(read_mostly(0, kPage + 1), 0) << "not all of it";
  EXPECT_EQ(Preferred(address_ + 2 * kPage, kPage)[0], CU_DEVICE_CPU);
  EXPECT_EQ(Preferred(address_, 3 * kPage), kNotPreferred) << "not all of it";
}

// Of small pieces, which share a page.
TEST_F(ManagedAdviceTest, HintsAreForWhateverLiesInAPage) {
  const Managed first(100);
  const Managed second(8000);
  ASSERT_EQ(second.address() / kPage, first.address() / kPage) << "not in one page";
  EXPECT_EQ(cuMemAdvise(first.address(), 100, CU_MEM_ADVISE_SET_READ_MOSTLY, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemPrefetchAsync(first.address(), 100, 0, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(RangeAttribute(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, second.address(), 100), 1);
  EXPECT_EQ(LastPrefetch(second.address(), 100)[0], 0);
  EXPECT_EQ(RangeAttribute(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, second.address(), 8000), 0)
      << "it ends in another page";
}

TEST_F(ManagedAdviceTest, HintsOfAPageGoWithWhateverIsFreedThere) {
  CUdeviceptr first = 0;
  ASSERT_EQ(cuMemAllocManaged(&first, 100, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
  const Managed second(100);
  ASSERT_EQ(second.address() / kPage, first / kPage) << "not in one page";
  EXPECT_EQ(cuMemAdvise(second.address(), 100, CU_MEM_ADVISE_SET_READ_MOSTLY, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(first), CUDA_SUCCESS);
  EXPECT_EQ(RangeAttribute(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, second.address(), 100), 0);
}

TEST_F(ManagedAdviceTest, AdviceTakesALocation) {
  if (DriverVersion() < 12020) GTEST_SKIP() << "the driver is older than this function";
  EXPECT_EQ(advise_for(address_, kSize, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, kDevice0),
            CUDA_SUCCESS);
  EXPECT_EQ(Preferred(address_, kSize), (Where{0, CU_MEM_LOCATION_TYPE_DEVICE, 0}));
  EXPECT_EQ(advise_for(address_, kSize, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, At(2, 99)),
            CUDA_SUCCESS);
  EXPECT_EQ(Preferred(address_, kSize),
            (Where{CU_DEVICE_CPU, CU_MEM_LOCATION_TYPE_HOST, CU_DEVICE_CPU}));
  EXPECT_EQ(advise_for(address_, kSize, CU_MEM_ADVISE_SET_READ_MOSTLY, At(1, 99)), CUDA_SUCCESS)
      << "the number is ignored";
  EXPECT_EQ(advise_for(address_, kSize, CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, At(1, 99)),
            CUDA_SUCCESS);
  EXPECT_EQ(Preferred(address_, kSize), kNotPreferred);
}

TEST_F(ManagedAdviceTest, AdviceForNoLocationIsRefused) {
  if (DriverVersion() < 12020) GTEST_SKIP() << "the driver is older than this function";
  for (int advice = 1; advice <= 6; ++advice) {
    for (const int type : {0, 5, 6}) {
      EXPECT_EQ(advise_for(address_, kSize, static_cast<CUmem_advise>(advice), At(type, 0)),
                CUDA_ERROR_INVALID_VALUE)
          << advice << " " << type;
    }
  }
  for (const CUmem_advise advice :
       {CU_MEM_ADVISE_SET_PREFERRED_LOCATION, CU_MEM_ADVISE_SET_ACCESSED_BY,
        CU_MEM_ADVISE_UNSET_ACCESSED_BY}) {
    EXPECT_EQ(advise_for(address_, kSize, advice, At(1, 99)), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(advise_for(address_, kSize, advice, At(3, 99)), CUDA_ERROR_INVALID_VALUE);
  }
}

TEST_F(ManagedAdviceTest, NodesOfTheHostDoNotAccess) {
  if (DriverVersion() < 12020) GTEST_SKIP() << "the driver is older than this function";
  for (const CUmemLocation& node : {At(3, 0), At(4, 0)}) {
    EXPECT_EQ(advise_for(address_, kSize, CU_MEM_ADVISE_SET_ACCESSED_BY, node),
              CUDA_ERROR_INVALID_VALUE);
  }
}

TEST_F(ManagedAdviceTest, NodesOfTheHostCanBePreferredAndNotReadBack) {
  if (DriverVersion() < 12020) GTEST_SKIP() << "the driver is older than this function";
  for (const CUmemLocation& node : {At(3, 0), At(4, 0)}) {
    EXPECT_EQ(advise_for(address_, kSize, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, node),
              CUDA_SUCCESS);
    EXPECT_EQ(Preferred(address_, kSize), kNotPreferred);
    EXPECT_EQ(advise_for(address_, kSize, CU_MEM_ADVISE_SET_READ_MOSTLY, node), CUDA_SUCCESS);
    EXPECT_EQ(RangeAttribute(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, address_, kSize), 0);
  }
}

TEST_F(ManagedAdviceTest, AdviceForNodesOfTheHostChangesNothing) {
  if (DriverVersion() < 12020) GTEST_SKIP() << "the driver is older than this function";
  EXPECT_EQ(cuMemAdvise(address_, kSize, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAdvise(address_, kSize, CU_MEM_ADVISE_SET_READ_MOSTLY, 0), CUDA_SUCCESS);
  for (const CUmem_advise advice :
       {CU_MEM_ADVISE_SET_PREFERRED_LOCATION, CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION,
        CU_MEM_ADVISE_UNSET_READ_MOSTLY}) {
    EXPECT_EQ(advise_for(address_, kSize, advice, At(3, 0)), CUDA_SUCCESS);
    EXPECT_EQ(Preferred(address_, kSize)[0], 0) << advice;
    EXPECT_EQ(RangeAttribute(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, address_, kSize), 1) << advice;
  }
}

TEST_F(ManagedAdviceTest, NodesOfTheHostTakeAdviceForAnyMemory) {
  if (DriverVersion() < 12020) GTEST_SKIP() << "the driver is older than this function";
  const Buffer buffer(kPage);
  const std::pair<CUdeviceptr, size_t> ranges[] = {
      {address_, 0}, {address_, kSize + 1}, {buffer.address(), kPage}, {0, kPage}, {0, 0}};
  for (const auto& [address, size] : ranges) {
    for (int advice = 1; advice <= 6; ++advice) {
      const CUresult expected = advice < 5 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
      EXPECT_EQ(advise_for(address, size, static_cast<CUmem_advise>(advice), At(3, 0)), expected);
      EXPECT_EQ(advise_for(address, size, static_cast<CUmem_advise>(advice), At(4, 0)), expected);
    }
  }
}

TEST_F(ManagedAdviceTest, NodesOfTheHostTakeAdviceWithoutAContext) {
  if (DriverVersion() < 12020) GTEST_SKIP() << "the driver is older than this function";
  EmptyStack();
  EXPECT_EQ(advise_for(address_, kPage, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, At(3, 0)),
            CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
}

// A piece that becomes one with those before it counts with all of their pages, and as many are
// left out behind it.
TEST_F(ManagedAdviceTest, PagesBehindPiecesThatBecomeOneAreLeftOut) {
  EXPECT_EQ(cuMemPrefetchAsync(address_ + 5 * kPage, kPage, -1, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuMemPrefetchAsync(address_, 10 * kPage, 0, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(LastPrefetch(address_, 6 * kPage)[0], 0);
  EXPECT_EQ(LastPrefetch(address_ + 6 * kPage, 4 * kPage), kNeverPrefetched);
}

// Pages before the range, of the same piece, count as if they were a part of it.
TEST_F(ManagedAdviceTest, PagesBehindAPieceThatBeginsBeforeTheRangeAreNotAsked) {
  EXPECT_EQ(cuMemPrefetchAsync(address_, 10 * kPage, 0, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(LastPrefetch(address_ + 5 * kPage, 10 * kPage)[0], 0);
  EXPECT_EQ(LastPrefetch(address_ + 5 * kPage, 11 * kPage), kNeverPrefetched);
}

TEST_F(ManagedAdviceTest, DevicesAreCheckedBeforeTheMemoryAndBehindTheSize) {
  const Buffer buffer(kPage);
  const CUmem_advise advice = CU_MEM_ADVISE_SET_PREFERRED_LOCATION;
  EXPECT_EQ(cuMemAdvise(buffer.address(), kPage, advice, 99), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuMemPrefetchAsync(buffer.address(), kPage, 99, nullptr), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuMemAdvise(address_, 0, advice, 99), CUDA_ERROR_INVALID_VALUE);
}

// --- Attachment ----------------------------------------------------------------------------------

// No unknown flags: the driver ends the process for them.
TEST_F(ManagedAdviceTest, OnlyAWholeAllocationIsAttached) {
  CUstream stream = nullptr;
  ASSERT_EQ(cuStreamCreate(&stream, 0), CUDA_SUCCESS);
  for (const unsigned int flags :
       {CU_MEM_ATTACH_GLOBAL, CU_MEM_ATTACH_HOST, CU_MEM_ATTACH_SINGLE}) {
    for (const size_t size : {size_t{0}, kSize}) {
      EXPECT_EQ(cuStreamAttachMemAsync(stream, address_, size, flags), CUDA_SUCCESS) << size;
    }
    for (const size_t size : {size_t{1}, kPage, kSize - 1, kSize + 1, ~size_t{0}}) {
      EXPECT_EQ(cuStreamAttachMemAsync(stream, address_, size, flags), CUDA_ERROR_INVALID_VALUE)
          << size;
    }
    for (const size_t offset : {size_t{1}, kPage, kSize / 2}) {
      EXPECT_EQ(cuStreamAttachMemAsync(stream, address_ + offset, 0, flags),
                CUDA_ERROR_INVALID_VALUE)
          << offset;
    }
  }
  EXPECT_EQ(cuStreamDestroy(stream), CUDA_SUCCESS);
}

// --- Attributes ----------------------------------------------------------------------------------

TEST_F(ManagedAdviceTest, AttributesHaveTheirSizes) {
  for (int attribute = 1; attribute <= 8; ++attribute) {
    for (const size_t size : {0, 1, 3, 4, 5, 6, 8, 12, 32}) {
      int values[8];
      const bool is_list = attribute == CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY;
      const bool fits = is_list ? size != 0 && size % 4 == 0 : size == 4;
      EXPECT_EQ(cuMemRangeGetAttribute(values, size, static_cast<CUmem_range_attribute>(attribute),
                                       address_, kSize),
                fits ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE)
          << attribute << " " << size;
    }
  }
}

TEST_F(ManagedAdviceTest, UnknownAttributesAreRefused) {
  for (const int attribute : {0, 9, 10, -1}) {
    int value = 77;
    EXPECT_EQ(cuMemRangeGetAttribute(&value, 4, static_cast<CUmem_range_attribute>(attribute),
                                     address_, kSize),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(value, 77);
  }
}

TEST_F(ManagedAdviceTest, AttributesNeedARangeOfManagedMemory) {
  const CUmem_range_attribute attribute = CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY;
  int value = 77;
  EXPECT_EQ(cuMemRangeGetAttribute(nullptr, 4, attribute, address_, kSize),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemRangeGetAttribute(&value, 4, attribute, address_, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemRangeGetAttribute(&value, 4, attribute, 0, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemRangeGetAttribute(&value, 4, attribute, address_, kSize + 1),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemRangeGetAttribute(&value, 4, attribute, address_ + 1, 1), CUDA_SUCCESS);
}

TEST_F(ManagedAdviceTest, ManyAttributesAreReadAtOnce) {
  CUmem_range_attribute attributes[] = {CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY,
                                        CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION,
                                        CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY};
  size_t sizes[] = {4, 4, 8};
  int read_mostly = 7;
  int preferred = 7;
  int devices[] = {7, 7};
  void* values[] = {&read_mostly, &preferred, devices};
  EXPECT_EQ(cuMemRangeGetAttributes(values, sizes, attributes, 3, address_, kSize), CUDA_SUCCESS);
  EXPECT_EQ(read_mostly, 0);
  EXPECT_EQ(preferred, -2);
  EXPECT_EQ(devices[1], -2);
}

TEST_F(ManagedAdviceTest, NoAttributeIsReadIfOneCannotBe) {
  CUmem_range_attribute attributes[] = {CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY,
                                        CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION};
  size_t sizes[] = {4, 8};
  int first = 7;
  int second = 7;
  void* values[] = {&first, &second};
  const auto read = [&] {
    return cuMemRangeGetAttributes(values, sizes, attributes, 2, address_, kSize);
  };
  EXPECT_EQ(read(), CUDA_ERROR_INVALID_VALUE) << "a wrong size";
  sizes[1] = 4;
  attributes[1] = static_cast<CUmem_range_attribute>(99);
  EXPECT_EQ(read(), CUDA_ERROR_INVALID_VALUE) << "no attribute";
  attributes[1] = attributes[0];
  values[1] = nullptr;
  EXPECT_EQ(read(), CUDA_ERROR_INVALID_VALUE) << "no value";
  EXPECT_EQ(first, 7);
  EXPECT_EQ(cuMemRangeGetAttributes(values, sizes, attributes, 0, address_, kSize),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemRangeGetAttributes(nullptr, sizes, attributes, 1, address_, kSize),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemRangeGetAttributes(values, nullptr, attributes, 1, address_, kSize),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemRangeGetAttributes(values, sizes, nullptr, 1, address_, kSize),
            CUDA_ERROR_INVALID_VALUE);
}

// --- Other memory --------------------------------------------------------------------------------

class OtherMemoryTest : public ContextTest {
 protected:
  void SetUp() override {
    ContextTest::SetUp();
    EXPECT_EQ(cuMemHostAlloc(&pinned_, kPage, 0), CUDA_SUCCESS);
    int pageable = 0;
    EXPECT_EQ(cuDeviceGetAttribute(&pageable, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, 0),
              CUDA_SUCCESS);
    addresses_ = {AddressOf(pinned_), 0x1000, 0xdead00000000};
    if (pageable == 0) addresses_.push_back(AddressOf(host_.data()));
  }
  void TearDown() override {
    EXPECT_EQ(cuMemFreeHost(pinned_), CUDA_SUCCESS);
    ContextTest::TearDown();
  }

  std::vector<char> host_ = std::vector<char>(kPage);
  void* pinned_ = nullptr;
  std::vector<CUdeviceptr> addresses_;
};

TEST_F(OtherMemoryTest, TakesNoHints) {
  const Buffer buffer(kPage);
  const Mapping mapping;
  addresses_.push_back(buffer.address());
  addresses_.push_back(mapping.address());
  for (const CUdeviceptr address : addresses_) {
    EXPECT_EQ(cuMemPrefetchAsync(address, kPage, 0, nullptr), CUDA_ERROR_INVALID_VALUE) << address;
    EXPECT_EQ(cuMemPrefetchAsync(address, kPage, -1, nullptr), CUDA_ERROR_INVALID_VALUE) << address;
    for (int advice = 1; advice <= 6; ++advice) {
      EXPECT_EQ(cuMemAdvise(address, kPage, static_cast<CUmem_advise>(advice), 0),
                CUDA_ERROR_INVALID_VALUE);
    }
    for (const size_t size : {size_t{0}, kPage}) {
      EXPECT_EQ(cuStreamAttachMemAsync(nullptr, address, size, CU_MEM_ATTACH_GLOBAL),
                CUDA_ERROR_INVALID_VALUE);
    }
    int value = 0;
    EXPECT_EQ(cuMemRangeGetAttribute(&value, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, address, kPage),
              CUDA_ERROR_INVALID_VALUE);
  }
}

TEST_F(DriverTest, HintsNeedAContext) {
  EXPECT_EQ(cuMemPrefetchAsync(0, 0, 0, nullptr), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuMemAdvise(0, 0, CU_MEM_ADVISE_SET_READ_MOSTLY, 0), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuMemRangeGetAttribute(nullptr, 0, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, 0, 0),
            CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuStreamAttachMemAsync(nullptr, 0, 0, CU_MEM_ATTACH_GLOBAL),
            CUDA_ERROR_INVALID_CONTEXT);
}

}  // namespace
}  // namespace twinmmu::abi
