// The kinds of subjects: what can be asked of each, right and wrong, and what it is to answer.

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "api/allocators/growable_buffer.h"
#include "api/allocators/sleeping_buffer.h"
#include "api/allocators/sparse_buffer.h"
#include "api/allocators/virtual_memory_pool.h"
#include "api/driver_error.h"
#include "conformance/allocators/random_subject.h"

namespace twinmmu::conformance {
namespace {

using absl::StatusCode;

// A subject that owns its object.
template <typename T>
class SubjectOf : public RandomSubject {
 public:
  SubjectOf(RandomWorld& world, std::unique_ptr<T> object, const char* kind, DeviceAddress base,
            Bytes page_size, Bytes size, Bytes cache_limit)
      : RandomSubject(world, absl::StrCat(kind, " ", world.NextNumber()), base, page_size,
                      size / page_size, cache_limit),
        object_(std::move(object)) {}

 protected:
  absl::Status Grant(DeviceOrdinal device, Access access) override {
    return object_->Grant(device, access);
  }
  absl::Status CloseIt() override { return object_->Close(); }
  T& object() { return *object_; }
  const T& object() const { return *object_; }

  // An operation on a run of pages of which some are wrong: [offset, offset + size).
  void WrongRange(const std::string& what, const std::function<absl::Status(Bytes, Bytes)>& call) {
    const Bytes page = page_size();
    const Bytes size = all().count * page;
    const Bytes wraps = Bytes(0) - page;
    struct Case {
      Bytes offset, size;
      StatusCode code;
    };
    const Case cases[] = {
        {Bytes(0), Bytes(0), StatusCode::kInvalidArgument},
        {page / 2, page, StatusCode::kInvalidArgument},
        {Bytes(0), page - Bytes(1), StatusCode::kInvalidArgument},
        {size, page, StatusCode::kOutOfRange},
        {Bytes(0), size + page, StatusCode::kOutOfRange},
        {wraps, page, StatusCode::kOutOfRange},
        {page, wraps, StatusCode::kOutOfRange},
    };
    const Case& wrong = cases[world().Below(std::size(cases))];
    Refused(absl::StrCat(what, " ", ToString(wrong.size), " at ", ToString(wrong.offset)),
            wrong.code, [&] { return call(wrong.offset, wrong.size); });
  }

  // Whether a question about bytes is answered as the model says, wherever they begin and end.
  void CompareUse(const std::function<bool(Bytes, Bytes)>& question) {
    const Bytes end = all().count * page_size();
    const Bytes offset(world().Below(end.value() + 1));
    const Bytes size(world().Below(3 * page_size().value()));
    bool used = size != Bytes(0) && size <= end - offset;
    for (Bytes at = offset; used && at < offset + size; at = (at / page_size() + 1) * page_size()) {
      used = pages()[at / page_size()].state == PageState::kInUse;
    }
    Expect(question(offset, size) == used,
           absl::StrCat("of ", ToString(size), " at ", ToString(offset), " it says ", !used));
  }

 private:
  std::unique_ptr<T> object_;
};

class PoolSubject : public SubjectOf<VirtualMemoryPool> {
 public:
  using SubjectOf::SubjectOf;
  MemoryStats stats() const override { return object().Stats(); }

 protected:
  void Operate() override {
    if (world().Chance(0.5)) {
      Allocate();
    } else {
      Deallocate();
    }
  }
  void WrongCall() override {
    if (world().Chance(0.5)) {
      WrongRange("Allocate", [&](Bytes offset, Bytes size) {
        return object().Allocate(offset, size).status();
      });
    } else {
      WrongRange("Deallocate",
                 [&](Bytes offset, Bytes size) { return object().Deallocate(offset, size); });
    }
  }
  absl::StatusOr<Bytes> Compact() override { return object().Compact(); }
  void CompareAnswers() override {
    const MemoryStats now = stats();
    Expect(object().PhysicalMemoryUsage() == now.in_use + now.leaving + now.cached,
           "PhysicalMemoryUsage is not the sum of its parts");
    CompareUse([&](Bytes offset, Bytes size) { return object().IsMapped(offset, size); });
  }

 private:
  void Allocate() {
    const PageRun run = RandomRun();
    Intent intent;
    intent.what = "Allocate " + Describe(run);
    intent.collects = true;
    intent.keeps_leaving = false;
    intent.commit = run;
    if (Count(run, PageState::kInUse) > 0) {
      intent.codes = {StatusCode::kAlreadyExists};
    } else if (Count(run, PageState::kLeaving) > 0) {
      intent.codes.push_back(StatusCode::kUnavailable);
    }
    const absl::Status status = Do(intent, [&](auto) {
      const absl::StatusOr<DeviceAddress> address =
          object().Allocate(run.first * page_size(), run.count * page_size());
      Expect(!address.ok() || *address == RangeOf(run.first).base, "a wrong address");
      return address.status();
    });
    Expect(!absl::IsUnavailable(status) || Count(run, PageState::kLeaving) > 0,
           "it waits for nothing");
  }
  void Deallocate() {
    PageRun run = RandomRun();
    // Mostly what is there.
    while (world().Chance(0.9) && Count(run, PageState::kInUse) < run.count) run = RandomRun();
    Intent intent;
    intent.what = "Deallocate " + Describe(run);
    intent.collects = true;
    if (Count(run, PageState::kInUse) < run.count) {
      intent.codes = {StatusCode::kNotFound};
    } else {
      DecideWhen(run, intent);
    }
    Do(intent, [&](absl::Span<const LastUse> after) {
      return object().Deallocate(run.first * page_size(), run.count * page_size(), after);
    }).IgnoreError();
  }
};

class SparseSubject : public SubjectOf<SparseBuffer> {
 public:
  using SubjectOf::SubjectOf;
  MemoryStats stats() const override { return object().stats(); }

 protected:
  void Operate() override {
    const PageRun run = RandomRun();
    const bool commit = world().Chance(0.5);
    Intent intent;
    intent.what = absl::StrCat(commit ? "Commit " : "Decommit ", Describe(run));
    intent.collects = true;
    if (commit) {
      intent.commit = run;
    } else {
      DecideWhen(run, intent);
    }
    Do(intent, [&](absl::Span<const LastUse> after) {
      const Bytes offset = run.first * page_size();
      const Bytes size = run.count * page_size();
      return commit ? object().Commit(offset, size) : object().Decommit(offset, size, after);
    }).IgnoreError();
  }
  void WrongCall() override {
    const bool commit = world().Chance(0.5);
    WrongRange(commit ? "Commit" : "Decommit", [&](Bytes offset, Bytes size) {
      return commit ? object().Commit(offset, size) : object().Decommit(offset, size);
    });
  }
  absl::StatusOr<Bytes> Compact() override { return object().Compact(); }
  void CompareAnswers() override {
    std::vector<AddressRange> expected;
    for (uint64_t page = 0; page < pages().size(); ++page) {
      if (pages()[page].state != PageState::kInUse) continue;
      if (expected.empty() || expected.back().end() != RangeOf(page).base) {
        expected.push_back(RangeOf(page));
      } else {
        expected.back().size = expected.back().size + page_size();
      }
    }
    Expect(object().ResidentRanges() == expected, "ResidentRanges has others");
    Expect(object().resident_size() == stats().in_use, "resident_size is not what is in use");
    CompareUse([&](Bytes offset, Bytes size) { return object().IsResident(offset, size); });
  }
};

class GrowableSubject : public SubjectOf<GrowableBuffer> {
 public:
  using SubjectOf::SubjectOf;
  MemoryStats stats() const override { return object().stats(); }

 protected:
  void Operate() override {
    if (world().Chance(0.4)) {
      Shrink();
    } else {
      Grow(world().Chance(0.7));
    }
  }
  void WrongCall() override {
    const Bytes most(std::numeric_limits<uint64_t>::max());
    const Bytes wrong = world().Chance(0.5) ? most : object().max_size() + Bytes(1);
    if (world().Chance(0.5)) {
      Refused("Resize to too much", StatusCode::kOutOfRange,
              [&] { return object().Resize(wrong); });
    } else {
      Refused("Reserve of too much", StatusCode::kOutOfRange,
              [&] { return object().Reserve(wrong); });
    }
  }
  absl::StatusOr<Bytes> Compact() override { return object().Compact(); }
  void CompareAnswers() override {
    Expect(object().size() == size_,
           absl::StrCat("size ", ToString(object().size()), ", not ", ToString(size_)));
    Expect(object().capacity() == Count(all(), PageState::kInUse) * page_size(), "capacity");
    Expect(object().template View<uint64_t>().size == size_.value() / 8, "the size of a view");
  }

 private:
  uint64_t PagesOf(Bytes size) const { return RoundUp(size, page_size()) / page_size(); }
  uint64_t Capacity() const { return Count(all(), PageState::kInUse); }

  void Grow(bool resize) {
    const Bytes wanted(world().Below(object().max_size().value() + 1));
    const Bytes size_before = size_;
    Intent intent;
    intent.what = absl::StrCat(resize ? "Resize " : "Reserve ", ToString(wanted));
    if (PagesOf(wanted) > Capacity()) {
      intent.collects = true;
      intent.commit = PageRun{Capacity(), PagesOf(wanted) - Capacity()};
    }
    Do(intent, [&](auto) {
      const absl::Status status = resize ? object().Resize(wanted) : object().Reserve(wanted);
      size_ = resize && status.ok() ? wanted : size_before;
      return status;
    }).IgnoreError();
  }
  void Shrink() {
    Intent intent;
    intent.what = "ShrinkToFit";
    intent.collects = true;
    const uint64_t pages = PagesOf(size_);
    if (pages < Capacity()) DecideWhen(PageRun{pages, Capacity() - pages}, intent);
    Do(intent, [&](absl::Span<const LastUse> after) {
      return object().ShrinkToFit(after);
    }).IgnoreError();
  }

  Bytes size_;
};

class SleepingSubject : public SubjectOf<SleepingBuffer> {
 public:
  SleepingSubject(RandomWorld& world, std::unique_ptr<SleepingBuffer> object, const char* kind,
                  DeviceAddress base, Bytes page_size, Bytes size, Bytes /*cache_limit*/)
      : SubjectOf(world, std::move(object), kind, base, page_size, size, Bytes(0)) {
    StartInUse();
  }
  MemoryStats stats() const override { return object().stats(); }

 protected:
  void Operate() override {
    if (awake_) {
      Sleep();
    } else if (world().Chance(0.4)) {
      TidyUp();
    } else {
      Wake();
    }
  }
  void WrongCall() override {
    if (awake_) {
      Refused("Wake", StatusCode::kFailedPrecondition, [&] { return object().Wake(); });
    } else {
      Refused("Sleep", StatusCode::kFailedPrecondition,
              [&] { return object().Sleep(Contents::kSave, {world().stream(0)}); });
    }
  }
  // It has no cache; it has this.
  absl::StatusOr<Bytes> Compact() override {
    object().Collect();
    return Bytes(0);
  }
  bool HasCache() const override { return false; }
  void CompareAnswers() override {
    Expect(object().awake() == awake_, "awake");
    Expect(object().saved() == saved_.has_value(), "saved");
  }

 private:
  std::vector<std::optional<uint32_t>> Patterns() {
    std::vector<std::optional<uint32_t>> patterns;
    for (const Page& page : pages()) patterns.push_back(page.pattern);
    return patterns;
  }

  void Sleep() {
    const Contents contents = world().Chance(0.5) ? Contents::kSave : Contents::kDiscard;
    Intent intent;
    intent.what = contents == Contents::kSave ? "Sleep, saving" : "Sleep";
    intent.collects = true;
    DecideWhen(all(), intent);
    const auto patterns = Patterns();
    Do(intent, [&](absl::Span<const LastUse> after) {
      const absl::Status status = object().Sleep(contents, after);
      if (status.ok()) awake_ = false;
      if (status.ok() && contents == Contents::kSave) saved_ = patterns;
      return status;
    }).IgnoreError();
  }
  void Wake() {
    Intent intent;
    intent.what = "Wake";
    intent.commit = all();
    intent.copies = saved_.has_value();
    const auto saved = saved_;
    const absl::Status status = Do(intent, [&](auto) {
      const absl::Status result = object().Wake();
      if (result.ok()) {
        awake_ = true;
        saved_.reset();
      }
      return result;
    });
    if (!status.ok() || !saved.has_value()) return;
    for (uint64_t page = 0; page < pages().size(); ++page) pages()[page].pattern = (*saved)[page];
  }

  bool awake_ = true;
  std::optional<std::vector<std::optional<uint32_t>>> saved_;
};

// What is right to ask for.
struct Size {
  PageOptions options;
  Bytes bytes;
};

Size RandomSize(RandomWorld& world, uint64_t most_pages) {
  Size size;
  size.options.page_size = MiB(world.Chance(0.7) ? 2 : 4);
  const uint64_t pages = 1 + world.Below(most_pages);
  const uint64_t limit = world.Below(4);
  if (limit > 0) size.options.cache_limit = (limit - 1) * 3 * size.options.page_size;
  size.bytes = pages * size.options.page_size - Bytes(world.Below(2));
  return size;
}

template <typename Subject, typename T>
std::unique_ptr<RandomSubject> Make(RandomWorld& world, const char* kind, uint64_t most_pages,
                                    Bytes usual_cache) {
  const Size size = RandomSize(world, most_pages);
  world.Log(absl::StrCat("make a ", kind, " of ", ToString(size.bytes)));
  world.Arm();
  absl::StatusOr<std::unique_ptr<T>> made =
      T::Make(world.failing_vmm(), world.failing_executor(), size.bytes, size.options);
  const bool fired = world.Disarm().any;
  if (!made.ok()) {
    if (!fired) world.Must(made.status(), "Make");
    return nullptr;
  }
  const auto address = [&] {
    if constexpr (std::is_same_v<T, VirtualMemoryPool>) {
      return (*made)->BaseAddress();
    } else {
      return (*made)->address();
    }
  }();
  // A page is at least what was asked for, and the granularity of today's devices is no more.
  const Bytes page = size.options.page_size;
  return std::make_unique<Subject>(world, *std::move(made), kind, address, page,
                                   RoundUp(size.bytes, page),
                                   size.options.cache_limit.value_or(usual_cache));
}

}  // namespace

std::unique_ptr<RandomSubject> MakeRandomSubject(RandomWorld& world) {
  switch (world.Below(4)) {
    case 0:
      return Make<PoolSubject, VirtualMemoryPool>(world, "pool", 40, GiB(1));
    case 1:
      return Make<GrowableSubject, GrowableBuffer>(world, "growable", 24, Bytes(0));
    case 2:
      return Make<SparseSubject, SparseBuffer>(world, "sparse", 40, Bytes(0));
    default:
      return Make<SleepingSubject, SleepingBuffer>(world, "sleeping", 3, Bytes(0));
  }
}

}  // namespace twinmmu::conformance
