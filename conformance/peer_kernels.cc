// Kernels of two devices that reach each other's memory.

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "conformance/alias_trials.h"
#include "conformance/child_checks.h"
#include "conformance/kernel_fixture.h"
#include "conformance/peer_fixture.h"
#include "conformance/registry.h"
#include "kernels/kernels.h"

namespace twinmmu::conformance {
namespace {

// Kernels are loaded on both devices. The last granule of own_memory() holds results of device 0,
// that of peer_memory() those of device 1.
class PeerKernelTest : public PeerTest {
 protected:
  void TearDown() override {
    for (std::optional<Kernels>& kernels : kernels_) {
      if (kernels.has_value()) {
        EXPECT_THAT(kernels->Close(), IsOk());
      }
    }
    PeerTest::TearDown();
  }
  // As KernelTest::LoadKernels.
  bool LoadKernels() {
    for (const DeviceOrdinal each : {device(), peer()}) {
      absl::StatusOr<Kernels> kernels = Kernels::Load(&executor(), each);
      if (IsTooOldForPtx(kKernelsSince, kernels.status())) return false;
      EXPECT_THAT(kernels, IsOk());
      if (!kernels.ok()) return false;
      kernels_[each.value()] = *std::move(kernels);
    }
    return true;
  }
  Kernels& kernels(DeviceOrdinal device) { return *kernels_[device.value()]; }
  DeviceAddress result(DeviceOrdinal device) const {
    return (device == peer() ? peer_memory() : own_memory()).base + granule();
  }
  template <typename T>
  absl::StatusOr<T> ReadResult(DeviceOrdinal device) {
    T value = {};
    absl::Status status = executor().SynchronizeDevice(device);
    status.Update(
        executor().CopyDeviceToHost(device, &value, result(device), Bytes(sizeof(value))));
    if (!status.ok()) return status;
    return value;
  }

  // Maps the memory of `owner` a second time, for both devices.
  void MapAlias(const AddressRange& memory) {
    TWINMMU_ASSERT_OK_AND_ASSIGN(alias_, vmm().AddressReserve(memory.size));
    TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle handle,
                                 vmm().RetainAllocationHandle(memory.base));
    ASSERT_THAT(vmm().Map(alias_, handle), IsOk());
    ASSERT_THAT(GrantBoth(alias_, Access::kReadWrite, Access::kReadWrite), IsOk());
    ASSERT_THAT(GrantBoth(all(), Access::kReadWrite, Access::kReadWrite), IsOk());
  }
  DeviceAddress alias() const { return alias_.base; }

  // The writer is device 0 through `memory`, the reader device 1 through the alias.
  absl::StatusOr<AliasResult> WriteThenReadInTurns(DeviceAddress memory, uint64_t rounds, bool warm,
                                                   AliasFence fence) {
    const DeviceAddress turn = result(device()) + Bytes(64);
    absl::Status status = kernels(device()).Store32(Stream(device()), turn, 0);
    status.Update(kernels(device()).Store32(Stream(device()), memory, kAliasStart));
    status.Update(executor().SynchronizeDevice(device()));
    status.Update(kernels(device()).AliasWriteThenReadInTurns(
        Stream(device()), Kernels::AliasRole::kWriter, memory, alias(), turn, rounds, warm, fence,
        result(device())));
    status.Update(kernels(peer()).AliasWriteThenReadInTurns(
        Stream(peer()), Kernels::AliasRole::kReader, memory, alias(), turn, rounds, warm, fence,
        result(peer())));
    if (!status.ok()) return status;
    return ReadResult<AliasResult>(peer());
  }
  // As AliasTest's, with memory of each device.
  void ExpectCoherence(AliasFence fence) {
    const uint64_t rounds = AliasRounds(traits(), AliasPartners::kDevices);
    for (const AddressRange& memory : {own_memory(), peer_memory()}) {
      ASSERT_NO_FATAL_FAILURE(MapAlias(memory));
      for (const bool warm : {false, true}) {
        TWINMMU_ASSERT_OK_AND_ASSIGN(const AliasResult seen,
                                     WriteThenReadInTurns(memory.base, rounds, warm, fence));
        ExpectCoherent(seen, rounds, fence != AliasFence::kNone,
                       absl::StrCat(memory == own_memory() ? "own" : "peers", "_stale_of_", rounds,
                                    warm ? "_warm" : "_cold"));
      }
    }
  }

 private:
  std::optional<Kernels> kernels_[2];
  AddressRange alias_;
};

// One access of a word by a kernel, on the default stream.
absl::Status LoadWord(Kernels& kernels, DeviceAddress word, DeviceAddress out) {
  return kernels.Load32(Stream(kernels.device()), word, out);
}
absl::Status StoreWord(Kernels& kernels, DeviceAddress word, DeviceAddress) {
  return kernels.Store32(Stream(kernels.device()), word, 1);
}
absl::Status AddToWord(Kernels& kernels, DeviceAddress word, DeviceAddress out) {
  return kernels.AtomicAdd32(Stream(kernels.device()), word, 1, out);
}

}  // namespace

CONFORMANCE_TEST(PeerKernelTest, PEER_12, EachDevicesKernelsCrossTheBorders) {
  if (!LoadKernels()) return;
  const uint64_t mappings = traits().interprets_kernels ? 3 : 8;
  const Bytes piece = (traits().interprets_kernels ? 1 : 64) * granule();
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AddressRange range, vmm().AddressReserve(mappings * piece));
  for (uint64_t i = 0; i < mappings; ++i) {
    TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle handle,
                                 vmm().Create(piece, properties(i % 2 == 0 ? here() : there())));
    ASSERT_THAT(vmm().Map(range.subrange(i * piece, piece), handle), IsOk());
  }
  ASSERT_THAT(GrantBoth(range, Access::kReadWrite, Access::kReadWrite), IsOk());
  ASSERT_THAT(GrantBoth(all(), Access::kReadWrite, Access::kReadWrite), IsOk());
  uint64_t seed = 12;
  for (const DeviceOrdinal writer : {device(), peer()}) {
    ++seed;
    ASSERT_THAT(kernels(writer).Fill(Stream(writer), range, seed), IsOk());
    ASSERT_THAT(executor().SynchronizeDevice(writer), IsOk());
    for (const DeviceOrdinal reader : {device(), peer()}) {
      ASSERT_THAT(kernels(reader).Verify(Stream(reader), range, seed, result(reader)), IsOk());
      TWINMMU_ASSERT_OK_AND_ASSIGN(const VerifyResult same, ReadResult<VerifyResult>(reader));
      EXPECT_EQ(same.mismatches, 0u) << writer << " wrote, " << reader << " read";
      EXPECT_EQ(same.first_index, kNoMismatch);
    }
  }
}

CONFORMANCE_TEST(PeerKernelTest, PEER_13, EveryAccessNeedsAGrant) {
  if (!LoadKernels()) return;
  const struct {
    const char* name;
    Access right;
    absl::Status (*launch)(Kernels& kernels, DeviceAddress word, DeviceAddress out);
  } cases[] = {
      {"load without a right", Access::kNone, LoadWord},
      {"add without a right", Access::kNone, AddToWord},
      {"store with a right to read", Access::kRead, StoreWord},
  };
  for (const auto& each : cases) {
    const auto child = [&] {
      ChildChecks checks;
      constexpr DriverCode kFine = DriverCode::kSuccess;
      constexpr DriverCode kFault = DriverCode::kIllegalAddress;
      const DeviceAddress word = peer_memory().base;
      const DeviceAddress out = result(device());
      checks.Expect("grant", GrantBoth(own_memory(), Access::kReadWrite, Access::kNone), kFine);
      checks.Expect("grant", GrantBoth(peer_memory(), each.right, Access::kReadWrite), kFine);
      if (each.right == Access::kRead) {
        checks.Expect("load", LoadWord(kernels(device()), word, out), kFine);
        checks.Expect("synchronise", executor().SynchronizeDevice(device()), kFine);
      }
      checks.Expect("launch", each.launch(kernels(device()), word, out), kFine);
      checks.Expect("synchronise", executor().SynchronizeDevice(device()), kFault);
      checks.Expect("synchronise the peer", executor().SynchronizeDevice(peer()), kFault);
      checks.Exit();
    };
    EXPECT_EXIT(child(), ChildChecks::Passed(), "") << each.name;
  }
}

CONFORMANCE_TEST(PeerKernelTest, PEER_14, TheFenceMakesDevicesCoherent) {
  if (!LoadKernels()) return;
  ExpectCoherence(AliasFence::kWriter);
}

CONFORMANCE_TEST(PeerKernelTest, PEER_15, DevicesWithoutTheFenceOldOrNew) {
  if (!LoadKernels()) return;
  ExpectCoherence(AliasFence::kNone);
}

CONFORMANCE_TEST(PeerKernelTest, PEER_16, NoAtomicAdditionOfTwoDevicesIsLost) {
  if (!LoadKernels()) return;
  const bool may_lose = traits().loses_aliased_atomics;
  const uint32_t blocks = may_lose ? 2 : traits().interprets_kernels ? 4 : 16;
  const uint32_t rounds = may_lose ? 4 : traits().interprets_kernels ? 8 : 64;
  const uint32_t all = 7 + 2 * blocks * Kernels::kThreadsPerBlock * rounds;
  for (const AddressRange& memory : {own_memory(), peer_memory()}) {
    ASSERT_NO_FATAL_FAILURE(MapAlias(memory));
    ASSERT_THAT(kernels(device()).Store32(Stream(device()), memory.base, 7), IsOk());
    ASSERT_THAT(executor().SynchronizeDevice(device()), IsOk());
    for (const DeviceOrdinal each : {device(), peer()}) {
      ASSERT_THAT(kernels(each).Count(Stream(each), memory.base, alias(), blocks, rounds), IsOk());
    }
    ASSERT_THAT(executor().SynchronizeDevice(device()), IsOk());
    ASSERT_THAT(executor().SynchronizeDevice(peer()), IsOk());
    for (const DeviceOrdinal each : {device(), peer()}) {
      ASSERT_THAT(kernels(each).Load32(Stream(each), alias(), result(each)), IsOk());
      TWINMMU_ASSERT_OK_AND_ASSIGN(const uint32_t counted, ReadResult<uint32_t>(each));
      EXPECT_TRUE(may_lose ? counted < all : counted == all) << counted << " of " << all;
    }
  }
}

CONFORMANCE_TEST(PeerKernelTest, PEER_17, AnEventMakesDevicesCoherent) {
  if (!LoadKernels()) return;
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Event written, executor().CreateEvent(device()));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Event read, executor().CreateEvent(peer()));
  const Stream writer(device());
  const Stream reader(peer());
  for (const AddressRange& memory : {own_memory(), peer_memory()}) {
    ASSERT_NO_FATAL_FAILURE(MapAlias(memory));
    for (uint32_t round = 1; round <= 100; ++round) {
      ASSERT_THAT(kernels(peer()).Load32(reader, alias(), result(peer())), IsOk());
      ASSERT_THAT(executor().RecordEvent(read, reader), IsOk());
      ASSERT_THAT(executor().WaitEvent(writer, read), IsOk());
      ASSERT_THAT(kernels(device()).Store32(writer, memory.base, round), IsOk());
      ASSERT_THAT(executor().RecordEvent(written, writer), IsOk());
      ASSERT_THAT(executor().WaitEvent(reader, written), IsOk());
      ASSERT_THAT(kernels(peer()).Load32(reader, alias(), result(peer())), IsOk());
      ASSERT_THAT(ReadResult<uint32_t>(peer()), IsOkAndHolds(round));
    }
  }
  EXPECT_THAT(executor().DestroyEvent(read), IsOk());
  EXPECT_THAT(executor().DestroyEvent(written), IsOk());
}

}  // namespace twinmmu::conformance
