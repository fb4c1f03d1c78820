// Owners that share a reservation, in several threads.

#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "api/allocators/owners.h"
#include "api/testing/forwarding.h"
#include "api/testing/matchers.h"
#include "conformance/allocators/owners_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu::conformance {
namespace {

using testing::AnyOf;

constexpr int kThreads = 4;
constexpr int kRounds = 50;

class OwnersThreadsTest : public OwnersTest {
 protected:
  // Runs work(0) .. work(kThreads - 1), each in a thread of its own, which begin together.
  template <typename Work>
  static void InThreads(Work work) {
    std::atomic<int> waiting{kThreads};
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&waiting, &work, i] {
        --waiting;
        while (waiting > 0) std::this_thread::yield();
        work(i);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
};

TEST_P(OwnersThreadsTest, MapMoveAndCloseSideBySide) {
  const Reservation reservation = Reserve(2 * kThreads);
  InThreads([&](int i) {
    for (int round = 0; round < kRounds; ++round) {
      Mapping mapping = MapOne(reservation, static_cast<uint64_t>(i));
      const Bytes other = static_cast<uint64_t>(kThreads + i) * granule();
      EXPECT_THAT(mapping.MoveTo(reservation, other, {ReadWrite()}), IsOk());
      EXPECT_THAT(mapping.Close(), IsOk());
    }
  });
}

// Notes where a call about addresses begins while another one runs.
class OverlapsVmm : public ForwardingVmm {
 public:
  using ForwardingVmm::ForwardingVmm;

  int overlaps() const { return overlaps_; }

  absl::StatusOr<AllocationHandle> RetainAllocationHandle(DeviceAddress address) override {
    return Alone([&] { return ForwardingVmm::RetainAllocationHandle(address); });
  }
  absl::Status Map(const AddressRange& range, AllocationHandle handle, Bytes offset,
                   uint64_t flags) override {
    return Alone([&] { return ForwardingVmm::Map(range, handle, offset, flags); });
  }
  absl::Status Unmap(const AddressRange& range) override {
    return Alone([&] { return ForwardingVmm::Unmap(range); });
  }
  absl::Status SetAccess(const AddressRange& range, absl::Span<const AccessGrant> grants) override {
    return Alone([&] { return ForwardingVmm::SetAccess(range, grants); });
  }

 private:
  template <typename Work>
  auto Alone(const Work& work) -> decltype(work()) {
    if (running_++ != 0) ++overlaps_;
    std::this_thread::yield();
    auto result = work();
    --running_;
    return result;
  }

  std::atomic<int> running_{0};
  std::atomic<int> overlaps_{0};
};

TEST_P(OwnersThreadsTest, CallTheDriverOneAtATime) {
  OverlapsVmm driver(&vmm());
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Reservation reservation,
                               Reservation::Make(&driver, 2 * kThreads * granule()));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Allocation memory,
                               Allocation::Make(&driver, granule(), AllocationProperties()));
  InThreads([&](int i) {
    for (uint64_t round = 0; round < kRounds; ++round) {
      const Bytes here = static_cast<uint64_t>(2 * i) * granule();
      Mapping mapping = Mapping::Make(reservation, here, memory, {ReadWrite()}).value();
      EXPECT_THAT(reservation.SetAccess(here, granule(), {ReadWrite()}), IsOk());
      EXPECT_THAT(mapping.MoveTo(reservation, here + granule()), IsOk());
    }
  });
  EXPECT_EQ(driver.overlaps(), 0);
}

TEST_P(OwnersThreadsTest, OneOfThoseThatMapAtOnePlaceWins) {
  ExpectDiagnostics(std::vector<DiagnosticKind>(static_cast<size_t>(kRounds * (kThreads - 1)),
                                                DiagnosticKind::kMapOverMapped));
  const Reservation reservation = Reserve(1);
  const Allocation memory = Allocate();
  for (int round = 0; round < kRounds; ++round) {
    std::vector<absl::StatusOr<Mapping>> results(kThreads);
    InThreads([&](int i) {
      results[static_cast<size_t>(i)] = Mapping::Make(reservation, Bytes(0), memory, {ReadWrite()});
    });
    int winners = 0;
    for (const absl::StatusOr<Mapping>& result : results) winners += result.ok() ? 1 : 0;
    EXPECT_EQ(winners, 1);
  }
}

// A mapping is made, and the close refused; or the close wins, and nothing is mapped.
TEST_P(OwnersThreadsTest, EitherCloseOrAMappingWins) {
  for (int round = 0; round < kRounds; ++round) {
    Reservation reservation = Reserve(kThreads);
    const Allocation memory = Allocate();
    std::vector<absl::StatusOr<Mapping>> mappings(kThreads);
    absl::Status closed;
    InThreads([&](int i) {
      if (i == 0) {
        closed = reservation.Close();
      } else {
        mappings[static_cast<size_t>(i)] =
            Mapping::Make(reservation, static_cast<uint64_t>(i) * granule(), memory);
      }
    });
    bool any_mapped = false;
    for (size_t i = 1; i < kThreads; ++i) {
      const absl::Status& status = mappings[i].status();
      any_mapped = any_mapped || status.ok();
      EXPECT_THAT(status, AnyOf(IsOk(), StatusIs(absl::StatusCode::kFailedPrecondition)));
    }
    EXPECT_NE(closed.ok(), any_mapped) << closed;
  }
}

TEST_P(OwnersThreadsTest, FreeADestroyedReservationOnce) {
  for (int round = 1; round <= kRounds; ++round) {
    Reservation reservation = Reserve(kThreads);
    std::vector<Mapping> mappings;
    for (uint64_t i = 1; i < kThreads; ++i) mappings.push_back(MapOne(reservation, i));
    InThreads([&](int i) {
      if (i == 0) {
        reservation = Reservation();
      } else {
        EXPECT_THAT(mappings[static_cast<size_t>(i - 1)].Close(), IsOk());
      }
    });
    EXPECT_EQ(CountOf(DriverCall::kAddressFree), round);
  }
}

INSTANTIATE_TEST_SUITE_P(On, OwnersThreadsTest, testing::ValuesIn(Implementations()),
                         NameOfImplementation);

}  // namespace
}  // namespace twinmmu::conformance
