// GrowableBuffer, while calls of the driver fail.

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "api/allocators/growable_buffer.h"
#include "api/testing/matchers.h"
#include "conformance/allocators/error_matchers.h"
#include "conformance/allocators/failure_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu::conformance {
namespace {

using absl::StatusCode;
using testing::HasSubstr;

class GrowableBufferFailureTest : public FailureTest {
 protected:
  using Buffer = std::shared_ptr<GrowableBuffer>;

  absl::StatusOr<Buffer> TryMake(Bytes cache) {
    absl::StatusOr<std::unique_ptr<GrowableBuffer>> buffer =
        GrowableBuffer::Make(&faulty_vmm(), &faulty_executor(), Pages(10), WithCache(cache));
    if (!buffer.ok()) return buffer.status();
    return Buffer(*std::move(buffer));
  }
  // Of 4 pages, 3 of which are within its size and marked, with at most 2 cached.
  Buffer MakeBuffer(Bytes cache) {
    Buffer buffer = TryMake(cache).value();
    EXPECT_THAT(buffer->Resize(Pages(6)), IsOk());
    EXPECT_THAT(buffer->Resize(Pages(4)), IsOk());
    EXPECT_THAT(buffer->ShrinkToFit(), IsOk());
    EXPECT_THAT(buffer->Resize(Pages(3) - Bytes(1)), IsOk());
    MarkAll(*buffer);
    return buffer;
  }
  void Sweep(const std::function<Buffer()>& make,
             const std::function<absl::Status(GrowableBuffer&)>& operation,
             bool all_or_nothing = true) {
    const auto subject = [&] {
      const Buffer buffer = make();
      return Subject{[buffer, operation] { return operation(*buffer); },
                     [this, buffer] { return Describe(*buffer); },
                     [this, buffer] { return CloseChecked(*buffer); }, all_or_nothing};
    };
    FailEachCall(faults(), subject);
    FailEachTwoCalls(faults(), subject);
  }
  void Sweep(const std::function<absl::Status(GrowableBuffer&)>& operation,
             bool all_or_nothing = true) {
    Sweep([this] { return MakeBuffer(Pages(2)); }, operation, all_or_nothing);
  }
  // Whose pages 3 and 4 are leaving: they wait for work that is done.
  Buffer MakeShrunk(Stream stream) {
    Buffer buffer = MakeBuffer(Pages(2));
    EXPECT_THAT(buffer->Resize(Pages(5)), IsOk());
    EXPECT_THAT(buffer->Resize(Pages(3)), IsOk());
    EXPECT_THAT(buffer->ShrinkToFit({stream}), IsOk());
    EXPECT_EQ(buffer->stats().leaving, Pages(2));
    return buffer;
  }

  std::string Describe(const GrowableBuffer& buffer) {
    std::string words =
        absl::StrCat(ToString(buffer.address()), ": size ", ToString(buffer.size()), ", capacity ",
                     ToString(buffer.capacity()), ", ", FailureTest::Describe(buffer.stats()));
    for (uint64_t page = 0; page < buffer.capacity() / granule(); ++page) {
      words += DescribePage(buffer.address() + Pages(page));
    }
    return words;
  }
  void MarkAll(const GrowableBuffer& buffer) {
    for (uint64_t page = 0; page < buffer.capacity() / granule(); ++page) {
      EXPECT_THAT(Mark(buffer.address() + Pages(page), 100 + page), IsOk());
    }
  }
  // Expects that no memory is used twice.
  absl::Status CloseChecked(GrowableBuffer& buffer) {
    if (buffer.Grant(device(), Access::kReadWrite).ok()) MarkAll(buffer);
    for (uint64_t page = 0; page < buffer.capacity() / granule(); ++page) {
      ExpectMarked(buffer.address() + Pages(page), 100 + page);
    }
    return buffer.Close();
  }
};

TEST_P(GrowableBufferFailureTest, MakeLeavesNothingBehind) {
  const auto subject = [&] {
    const auto made = std::make_shared<Buffer>();
    return Subject{[this, made] {
                     absl::StatusOr<Buffer> buffer = TryMake(Pages(2));
                     if (buffer.ok()) *made = *std::move(buffer);
                     return buffer.status();
                   },
                   [this] { return ToString(FreeMemory()); }, [made] { return (*made)->Close(); }};
  };
  FailEachCall(faults(), subject);
}

TEST_P(GrowableBufferFailureTest, ResizeWithCachedAndNewPages) {
  Sweep([&](auto& buffer) { return buffer.Resize(Pages(8) - Bytes(1)); });
}

TEST_P(GrowableBufferFailureTest, ResizeWithGrants) {
  Sweep(
      [&] {
        Buffer buffer = MakeBuffer(Pages(2));
        for (const DeviceOrdinal by : accessors()) {
          EXPECT_THAT(buffer->Grant(by, Access::kReadWrite), IsOk());
        }
        return buffer;
      },
      [&](auto& buffer) { return buffer.Resize(Pages(8)); });
}

TEST_P(GrowableBufferFailureTest, ResizeOverPagesThatAreLeaving) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Stream stream, executor().CreateStream(device()));
  // The work is over, or not, as the driver likes: what is leaving may go at any time.
  Sweep([&] { return MakeShrunk(stream); }, [&](auto& buffer) { return buffer.Resize(Pages(8)); },
        /*all_or_nothing=*/false);
  EXPECT_THAT(executor().DestroyStream(stream), IsOk());
}

TEST_P(GrowableBufferFailureTest, Reserve) {
  Sweep([&](auto& buffer) { return buffer.Reserve(Pages(7)); });
}

TEST_P(GrowableBufferFailureTest, ShrinkToFit) {
  Sweep([&](auto& buffer) {
    const Bytes size = buffer.size();
    absl::Status status = buffer.Resize(Bytes(1));
    status.Update(buffer.ShrinkToFit());
    if (!status.ok()) status.Update(buffer.Resize(size));
    return status;
  });
}

TEST_P(GrowableBufferFailureTest, ShrinkToFitAfterWork) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Stream stream, executor().CreateStream(device()));
  Sweep([&](auto& buffer) { return buffer.ShrinkToFit({stream}); });
  EXPECT_THAT(executor().DestroyStream(stream), IsOk());
}

TEST_P(GrowableBufferFailureTest, Grant) {
  for (const DeviceOrdinal by : accessors()) {
    Sweep([&](auto& buffer) { return buffer.Grant(by, Access::kRead); });
  }
}

TEST_P(GrowableBufferFailureTest, Compact) {
  Sweep([&](auto& buffer) { return buffer.Compact().status(); }, /*all_or_nothing=*/false);
}

TEST_P(GrowableBufferFailureTest, Close) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Stream stream, executor().CreateStream(device()));
  Sweep([&] { return MakeShrunk(stream); }, [&](auto& buffer) { return buffer.Close(); },
        /*all_or_nothing=*/false);
  EXPECT_THAT(executor().DestroyStream(stream), IsOk());
}

TEST_P(GrowableBufferFailureTest, IsAsBeforeWhenMemoryRunsOut) {
  const Buffer buffer = MakeBuffer(Bytes(0));
  faulty_vmm().SetMemoryBudget(device(), Pages(6));
  const std::string before = Describe(*buffer);
  EXPECT_THAT(buffer->Resize(Pages(9)),
              IsError(StatusCode::kResourceExhausted, HasSubstr("page 3 of 5")));
  EXPECT_EQ(Describe(*buffer), before);
  EXPECT_THAT(buffer->Resize(Pages(6)), IsOk());
  EXPECT_THAT(CloseChecked(*buffer), IsOk());
}

TEST_P(GrowableBufferFailureTest, KeepsSizeAndCapacityWhereCloseIsRefused) {
  const Buffer buffer = MakeBuffer(Bytes(0));
  const Bytes size = buffer->size();
  const Bytes capacity = buffer->capacity();
  faults().FailNth(1, DriverCode::kNotPermitted, {DriverCall::kUnmap});
  EXPECT_THAT(buffer->Close(), HasDriverCode(DriverCode::kNotPermitted));
  EXPECT_EQ(buffer->size(), size);
  EXPECT_EQ(buffer->capacity(), capacity);
  ASSERT_THAT(buffer->Close(), IsOk());
  EXPECT_EQ(buffer->size(), Bytes(0));
  EXPECT_EQ(buffer->capacity(), Bytes(0));
}

INSTANTIATE_TEST_SUITE_P(On, GrowableBufferFailureTest, testing::ValuesIn(Implementations()),
                         NameOfImplementation);

}  // namespace
}  // namespace twinmmu::conformance
