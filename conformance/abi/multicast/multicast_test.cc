// Multicast objects, on the simulated driver only: on hardware these calls can put the links
// between GPUs out of service for everybody on the machine. Nobody measured any of it: they assert
// what the documentation of the driver says, and where that is silent, what programs do and our
// choice (docs/reference/contract.md).

#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>

#include "conformance/abi/sharing/peer_process.h"

namespace twinmmu::abi {
namespace {

constexpr unsigned long long kDescriptor = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
constexpr auto kIllegalState = static_cast<CUresult>(401);  // CUDA_ERROR_ILLEGAL_STATE

CUmulticastObjectProp TeamOf(unsigned int devices, size_t size = 2 * kChunk,
                             unsigned long long types = 0) {
  return {devices, size, types, 0};
}

// An object. Released at the end.
class Object {
 public:
  explicit Object(const CUmulticastObjectProp& properties) {
    EXPECT_EQ(cuMulticastCreate(&handle_, &properties), CUDA_SUCCESS);
  }
  explicit Object(CUmemGenericAllocationHandle handle) : handle_(handle) {}
  ~Object() { EXPECT_EQ(cuMemRelease(handle_), CUDA_SUCCESS); }
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  CUmemGenericAllocationHandle handle() const { return handle_; }
  void Add(CUdevice device) const {
    EXPECT_EQ(cuMulticastAddDevice(handle_, device), CUDA_SUCCESS);
  }
  CUresult Bind(CUmemGenericAllocationHandle memory, size_t offset = 0) const {
    return cuMulticastBindMem(handle_, offset, memory, 0, kChunk, 0);
  }
  CUresult Unbind(CUdevice device, size_t offset = 0) const {
    return cuMulticastUnbind(handle_, device, offset, kChunk);
  }

 private:
  CUmemGenericAllocationHandle handle_ = 0;
};

// The first chunk of an object, mapped for `device`. Undone at the end.
class View {
 public:
  explicit View(const Object& object, CUdevice device = 0) {
    EXPECT_EQ(cuMemAddressReserve(&address_, kChunk, kChunk, 0, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuMemMap(address_, kChunk, 0, object.handle(), 0), CUDA_SUCCESS);
    const CUmemAccessDesc grant = {PinnedOn(device).location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    EXPECT_EQ(cuMemSetAccess(address_, kChunk, &grant, 1), CUDA_SUCCESS);
  }
  ~View() {
    EXPECT_EQ(cuMemUnmap(address_, kChunk), CUDA_SUCCESS);
    EXPECT_EQ(cuMemAddressFree(address_, kChunk), CUDA_SUCCESS);
  }
  View(const View&) = delete;
  View& operator=(const View&) = delete;

  CUdeviceptr address() const { return address_; }

 private:
  CUdeviceptr address_ = 0;
};

class MulticastTest : public TwoDevicesTest {
 protected:
  void SetUp() override {
    if (!TraitsOf().allows_multicast) GTEST_SKIP() << "not on hardware";
    TwoDevicesTest::SetUp();
  }
};

// A team of two devices, each of which has bound a chunk, all of it zeros.
class BoundMulticastTest : public MulticastTest {
 protected:
  void SetUp() override {
    MulticastTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    object_.emplace(TeamOf(2, kChunk));
    for (const CUdevice device : {0, 1}) object_->Add(device);
    for (const CUdevice device : {0, 1}) {
      std::optional<Mapping>& memory = memory_[static_cast<size_t>(device)];
      memory.emplace(device);
      ASSERT_EQ(cuCtxPushCurrent(device == 0 ? context_ : second_), CUDA_SUCCESS);
      SetWords(memory->address(), 0, kWords);
      CUcontext popped = nullptr;
      EXPECT_EQ(cuCtxPopCurrent(&popped), CUDA_SUCCESS);
      ASSERT_EQ(object_->Bind(memory->handle()), CUDA_SUCCESS);
    }
    view_.emplace(*object_);
  }
  void TearDown() override {
    view_.reset();
    for (std::optional<Mapping>& memory : memory_) memory.reset();
    object_.reset();
    MulticastTest::TearDown();
  }

  static constexpr size_t kWords = 32;
  using Words = std::array<uint32_t, kWords>;
  CUdeviceptr all() const { return view_->address(); }
  const Object& object() const { return *object_; }
  Words WordsOf(CUdevice device) const {
    Words words = {};
    EXPECT_EQ(cuCtxPushCurrent(device == 0 ? context_ : second_), CUDA_SUCCESS);
    EXPECT_EQ(
        cuMemcpyDtoH(words.data(), memory_[static_cast<size_t>(device)]->address(), sizeof(words)),
        CUDA_SUCCESS);
    CUcontext popped = nullptr;
    EXPECT_EQ(cuCtxPopCurrent(&popped), CUDA_SUCCESS);
    return words;
  }
  void ExpectAll(const Words& expected) const {
    for (const CUdevice device : {0, 1}) EXPECT_EQ(WordsOf(device), expected) << device;
  }
  // One thread of device 0 does `body`, in which %rd1 is the address of all.
  void RunKernel(const std::string& body) const {
    const std::string text =
        ".version 8.1\n.target sm_90\n.address_size 64\n"
        ".visible .entry k(.param .u64 all) {\n"
        ".reg .b64 %rd<8>; .reg .b32 %r<8>; .reg .b16 %h<4>;\nld.param.u64 %rd1, [all];\n" +
        body + "\nret;\n}\n";
    CUmodule module = nullptr;
    CUfunction kernel = nullptr;
    CUdeviceptr address = all();
    void* arguments[] = {&address};
    ASSERT_EQ(cuModuleLoadData(&module, text.c_str()), CUDA_SUCCESS);
    ASSERT_EQ(cuModuleGetFunction(&kernel, module, "k"), CUDA_SUCCESS);
    EXPECT_EQ(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr),
              CUDA_SUCCESS);
    EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_EQ(cuModuleUnload(module), CUDA_SUCCESS);
  }

 private:
  std::optional<Object> object_;
  std::array<std::optional<Mapping>, 2> memory_;
  std::optional<View> view_;
};

// --- Granularity

TEST_F(MulticastTest, RecommendedGranularityIsAMultipleOfTheLeast) {
  const CUmulticastObjectProp team = TeamOf(2);
  size_t least = 0;
  size_t recommended = 0;
  EXPECT_EQ(cuMulticastGetGranularity(&least, &team, CU_MULTICAST_GRANULARITY_MINIMUM),
            CUDA_SUCCESS);
  EXPECT_EQ(cuMulticastGetGranularity(&recommended, &team, CU_MULTICAST_GRANULARITY_RECOMMENDED),
            CUDA_SUCCESS);
  ASSERT_NE(least, 0u);
  EXPECT_NE(recommended, 0u);
  EXPECT_EQ(recommended % least, 0u);
}

TEST_F(MulticastTest, GranularityOfNothingIsRefused) {
  const CUmulticastObjectProp team = TeamOf(2);
  const CUmulticastObjectProp nobody = TeamOf(0);
  size_t size = 7;
  EXPECT_EQ(cuMulticastGetGranularity(nullptr, &team, CU_MULTICAST_GRANULARITY_MINIMUM),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMulticastGetGranularity(&size, nullptr, CU_MULTICAST_GRANULARITY_MINIMUM),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMulticastGetGranularity(&size, &nobody, CU_MULTICAST_GRANULARITY_MINIMUM),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMulticastGetGranularity(&size, &team, static_cast<CUmulticastGranularity_flags>(2)),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(size, 7u);
}

// --- Making an object

TEST_F(MulticastTest, ObjectsHaveHandlesOfTheirOwn) {
  const Object one(TeamOf(2));
  const Object two(TeamOf(2));
  EXPECT_NE(one.handle(), 0u);
  EXPECT_NE(one.handle(), two.handle());
}

TEST_F(MulticastTest, WrongPropertiesMakeNone) {
  CUmemGenericAllocationHandle object = 7;
  const CUmulticastObjectProp right = TeamOf(2);
  EXPECT_EQ(cuMulticastCreate(nullptr, &right), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMulticastCreate(&object, nullptr), CUDA_ERROR_INVALID_VALUE);
  CUmulticastObjectProp flags = right;
  flags.flags = 1;
  const auto more = static_cast<unsigned int>(DeviceCount()) + 1;
  for (const CUmulticastObjectProp& wrong :
       {TeamOf(0), TeamOf(more), TeamOf(2, 0), TeamOf(2, kChunk + 4096), flags}) {
    EXPECT_EQ(cuMulticastCreate(&object, &wrong), CUDA_ERROR_INVALID_VALUE);
  }
  EXPECT_EQ(object, 7u);
}

// --- The team

TEST_F(MulticastTest, DevicesAreAddedOnce) {
  const Object object(TeamOf(2));
  object.Add(1);
  EXPECT_EQ(cuMulticastAddDevice(object.handle(), 1), CUDA_ERROR_INVALID_VALUE);
  object.Add(0);
  const Mapping memory;
  EXPECT_EQ(object.Bind(memory.handle()), CUDA_SUCCESS);
}

TEST_F(MulticastTest, DevicesThatAreNotThereAreNotAdded) {
  const Object object(TeamOf(2));
  for (const CUdevice none : {-1, DeviceCount()}) {
    EXPECT_EQ(cuMulticastAddDevice(object.handle(), none), CUDA_ERROR_INVALID_DEVICE);
  }
  const Mapping memory;
  EXPECT_EQ(cuMulticastAddDevice(memory.handle(), 0), CUDA_ERROR_INVALID_VALUE);
}

// --- Binding by handle

TEST_F(MulticastTest, MemoryIsBoundOnce) {
  const Object object(TeamOf(1));
  object.Add(0);
  const Mapping memory;
  EXPECT_EQ(object.Bind(memory.handle()), CUDA_SUCCESS);
  EXPECT_EQ(object.Bind(memory.handle()), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(object.Bind(memory.handle(), kChunk), CUDA_SUCCESS);
}

TEST_F(MulticastTest, WhatIsNotThereIsNotBound) {
  const Object object(TeamOf(1));
  object.Add(0);
  const Mapping memory;
  const Mapping of_another(1);
  const auto bind = [&](size_t offset, size_t memory_offset, size_t size,
                        unsigned long long flags) {
    return cuMulticastBindMem(object.handle(), offset, memory.handle(), memory_offset, size, flags);
  };
  EXPECT_EQ(bind(0, 0, kChunk, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(bind(0, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(bind(0, 0, 4096, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(bind(2 * kChunk, 0, kChunk, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(bind(0, kChunk, kChunk, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(object.Bind(of_another.handle()), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(bind(0, 0, kChunk, 0), CUDA_SUCCESS);
}

// --- Binding by address

TEST_F(MulticastTest, AddressesAreBoundOnce) {
  const Object object(TeamOf(1));
  object.Add(0);
  const Mapping memory;
  const auto bind = [&] {
    return cuMulticastBindAddr(object.handle(), 0, memory.address(), kChunk, 0);
  };
  EXPECT_EQ(bind(), CUDA_SUCCESS);
  EXPECT_EQ(bind(), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(object.Unbind(0), CUDA_SUCCESS);
}

TEST_F(MulticastTest, AddressesOfNoMappingAreNotBound) {
  const Object object(TeamOf(1));
  object.Add(0);
  const Buffer buffer(kChunk);
  CUdeviceptr reserved = 0;
  ASSERT_EQ(cuMemAddressReserve(&reserved, kChunk, 0, 0, 0), CUDA_SUCCESS);
  for (const CUdeviceptr wrong : {CUdeviceptr{0}, reserved, buffer.address()}) {
    EXPECT_EQ(cuMulticastBindAddr(object.handle(), 0, wrong, kChunk, 0), CUDA_ERROR_INVALID_VALUE);
  }
  EXPECT_EQ(cuMemAddressFree(reserved, kChunk), CUDA_SUCCESS);
}

// --- Unbinding

TEST_F(MulticastTest, WhatIsUnboundCanBeBoundAgain) {
  const Object object(TeamOf(1));
  object.Add(0);
  const Mapping memory;
  ASSERT_EQ(object.Bind(memory.handle()), CUDA_SUCCESS);
  EXPECT_EQ(object.Unbind(0), CUDA_SUCCESS);
  EXPECT_EQ(object.Bind(memory.handle()), CUDA_SUCCESS);
}

TEST_F(MulticastTest, WhatIsNotBoundIsNotUnbound) {
  const Object object(TeamOf(1));
  object.Add(0);
  const Mapping memory;
  EXPECT_EQ(object.Unbind(0), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(object.Bind(memory.handle()), CUDA_SUCCESS);
  EXPECT_EQ(object.Unbind(0, kChunk), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMulticastUnbind(object.handle(), 0, 0, 2 * kChunk), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(object.Unbind(1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(object.Unbind(-1), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(object.Unbind(0), CUDA_SUCCESS);
}

// --- Mapping

// As programs do that have bound less than the object could take.
TEST_F(MulticastTest, TheFirstPartIsMapped) {
  const Object object(TeamOf(1, 4 * kChunk));
  object.Add(0);
  const Mapping memory;
  ASSERT_EQ(object.Bind(memory.handle()), CUDA_SUCCESS);
  const View view(object);
  EXPECT_EQ(cuMemsetD32(view.address(), 5, 1), CUDA_SUCCESS);
  EXPECT_EQ(WordAt(memory.address()), 5u);
}

TEST_F(MulticastTest, NoOtherPartIsMapped) {
  const Object object(TeamOf(1));
  object.Add(0);
  CUdeviceptr address = 0;
  ASSERT_EQ(cuMemAddressReserve(&address, 3 * kChunk, kChunk, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemMap(address, 3 * kChunk, 0, object.handle(), 0), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuMemMap(address, kChunk, kChunk, object.handle(), 0), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuMemMap(address, kChunk + 4096, 0, object.handle(), 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAddressFree(address, 3 * kChunk), CUDA_SUCCESS);
}

// --- Use

// PTX defines multimem alone there.
TEST_F(BoundMulticastTest, PlainStoresReachEveryDevice) {
  RunKernel(
      "mov.u32 %r1, 7; mov.u64 %rd3, 8; mov.u16 %h1, 9;\n"
      "st.global.u32 [%rd1], %r1; st.u32 [%rd1+4], %r1;\n"
      "st.global.v2.u64 [%rd1+16], {%rd3, %rd3};\n"
      "st.global.v4.u32 [%rd1+32], {%r1, %r1, %r1, %r1};\n"
      "st.global.u16 [%rd1+48], %h1; st.global.u8 [%rd1+50], %h1;");
  ExpectAll({7, 7, 0, 0, 8, 0, 8, 0, 7, 7, 7, 7, 0x90009});
}

TEST_F(BoundMulticastTest, CopiesAndFillsReachEveryDevice) {
  const Buffer source(64);
  SetWords(source.address(), 3, 16);
  EXPECT_EQ(cuMemcpyDtoD(all(), source.address(), 8), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyAsync(all() + 12, source.address(), 4, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD32(all() + 16, 5, 2), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  ExpectAll({3, 3, 0, 3, 5, 5});
}

TEST_F(BoundMulticastTest, NothingIsCopiedFromThere) {
  SetWords(all(), 5, 1);
  unsigned int word = 7;
  EXPECT_EQ(cuMemcpyDtoH(&word, all(), sizeof(word)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(word, 7u);
  EXPECT_EQ(cuMemcpyDtoD(all() + 4, all(), 4), CUDA_ERROR_INVALID_VALUE);
  ExpectAll({5});
}

TEST_F(BoundMulticastTest, NothingIsCopiedWhereADeviceHasBoundNothing) {
  EXPECT_EQ(object().Unbind(1), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD32(all(), 5, 1), CUDA_ERROR_INVALID_VALUE);
  ExpectAll({});
}

// --- Incomplete teams

// A driver waits, but here nobody can come: no other process has the object.
TEST_F(MulticastTest, IncompleteTeamsOfOneProcessAreRefusedAtOnce) {
  const Object object(TeamOf(2, kChunk));
  object.Add(0);
  const Mapping memory;
  CUdeviceptr address = 0;
  ASSERT_EQ(cuMemAddressReserve(&address, kChunk, kChunk, 0, 0), CUDA_SUCCESS);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(object.Bind(memory.handle()), kIllegalState);
  EXPECT_EQ(cuMulticastBindAddr(object.handle(), 0, memory.address(), kChunk, 0), kIllegalState);
  EXPECT_EQ(cuMemMap(address, kChunk, 0, object.handle(), 0), kIllegalState);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
  EXPECT_EQ(cuMemAddressFree(address, kChunk), CUDA_SUCCESS);
}

class MulticastProcessesTest : public TwoProcessesTest {
 protected:
  void SetUp() override {
    if (!TraitsOf().allows_multicast) GTEST_SKIP() << "not on hardware";
    if (!IsNewProcess() && DeviceCount() < 2) GTEST_SKIP() << "needs two devices";
  }

  // A chunk of a device that can be bound to an object of several processes, mapped for device 0.
  struct SharedChunk {
    explicit SharedChunk(CUdevice device) {
      CUmemAllocationProp properties = PinnedOn(device);
      properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
      EXPECT_EQ(cuMemCreate(&handle, kChunk, &properties, 0), CUDA_SUCCESS);
      EXPECT_EQ(cuMemAddressReserve(&address, kChunk, 0, 0, 0), CUDA_SUCCESS);
      EXPECT_EQ(cuMemMap(address, kChunk, 0, handle, 0), CUDA_SUCCESS);
      const CUmemAccessDesc grant = {PinnedOn(0).location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
      EXPECT_EQ(cuMemSetAccess(address, kChunk, &grant, 1), CUDA_SUCCESS);
    }
    CUmemGenericAllocationHandle handle = 0;
    CUdeviceptr address = 0;
  };
  static CUmemGenericAllocationHandle Import(int descriptor) {
    CUmemGenericAllocationHandle object = 0;
    void* const shareable = reinterpret_cast<void*>(static_cast<uintptr_t>(descriptor));
    EXPECT_EQ(cuMemImportFromShareableHandle(&object, shareable,
                                             CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
              CUDA_SUCCESS);
    close(descriptor);
    return object;
  }
};

// Neither says when its device is in the team: who comes first waits in the bind.
TEST_F(MulticastProcessesTest, BindsWaitForTheDeviceOfTheOtherProcess) {
  if (RanInNewProcess()) return;
  Run(
      [](Peer& peer) {
        const Object object(TeamOf(2, kChunk, kDescriptor));
        int descriptor = -1;
        ASSERT_EQ(cuMemExportToShareableHandle(&descriptor, object.handle(),
                                               CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
                  CUDA_SUCCESS);
        peer.SendDescriptor(descriptor);
        close(descriptor);
        object.Add(0);
        const SharedChunk own(0);
        EXPECT_EQ(object.Bind(own.handle), CUDA_SUCCESS);
        const View all(object);
        peer.Meet();
        SetWords(all.address(), 5, 1);
        peer.Meet();
        EXPECT_EQ(WordAt(own.address), 5u);
      },
      [](Peer& peer) {
        const Object object(Import(peer.ReceiveDescriptor()));
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        object.Add(1);
        const SharedChunk own(1);
        EXPECT_EQ(object.Bind(own.handle), CUDA_SUCCESS);
        peer.Meet();
        peer.Meet();
        EXPECT_EQ(WordAt(own.address), 5u);
      });
}

}  // namespace
}  // namespace twinmmu::abi
