// What a random sequence that shows a difference comes down to: a bug is found, shrunk to a few
// calls and printed as a test; and what is printed compiles and runs.

#include <unistd.h>

#include <fstream>
#include <memory>
#include <numeric>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "api/testing/forwarding.h"
#include "api/testing/matchers.h"
#include "conformance/instances/random/random_sim.h"
#include "conformance/random/checker.h"
#include "conformance/random/print_sequence.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sim/simulator.h"

namespace twinmmu::conformance::random {
namespace {

// A driver whose Vmm is a `Mutant` around the simulator's.
template <typename Mutant>
class MutantDriver : public Driver {
 public:
  explicit MutantDriver(std::unique_ptr<Driver> driver)
      : driver_(std::move(driver)), vmm_(*driver_->vmm()) {}
  absl::StatusOr<Vmm*> vmm() override { return &vmm_; }
  absl::StatusOr<Executor*> executor() override { return driver_->executor(); }

 private:
  std::unique_ptr<Driver> driver_;
  Mutant vmm_;
};

template <typename Mutant>
absl::StatusOr<Subject> OpenMutant() {
  absl::StatusOr<Subject> subject = SimSubject(Profile::ReferenceH200(2))();
  if (!subject.ok()) return subject.status();
  auto mutant = std::make_unique<MutantDriver<Mutant>>(std::move(subject->driver));
  return Subject{std::move(mutant), subject->parameters, false};
}

// Only the first grant of a list is applied.
class LosesGrants : public ForwardingVmm {
 public:
  using ForwardingVmm::ForwardingVmm;
  absl::Status SetAccess(const AddressRange& range, absl::Span<const AccessGrant> grants) override {
    return ForwardingVmm::SetAccess(range, grants.subspan(0, 1));
  }
};

// The handle comes back without a reference.
class RetainsNothing : public ForwardingVmm {
 public:
  using ForwardingVmm::ForwardingVmm;
  absl::StatusOr<AllocationHandle> RetainAllocationHandle(DeviceAddress address) override {
    const auto handle = ForwardingVmm::RetainAllocationHandle(address);
    if (handle.ok()) (void)Release(*handle);
    return handle;
  }
};

// Flags that are not 0 are not noticed.
class HidesFlags : public ForwardingVmm {
 public:
  using ForwardingVmm::ForwardingVmm;
  absl::StatusOr<AllocationHandle> Create(Bytes size, const AllocationProperties& properties,
                                          uint64_t) override {
    return ForwardingVmm::Create(size, properties, 0);
  }
};

// The calls in a printed test.
int CallsIn(const std::string& text) {
  int calls = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const bool calls_vmm =
        absl::StrContains(line, "vmm.") && !absl::StrContains(line, "const Bytes");
    if (calls_vmm || absl::StrContains(line, "executor.")) ++calls;
  }
  return calls;
}

template <typename Mutant>
std::string DifferenceOf() {
  const absl::StatusOr<Report> report = RunSeeds(OpenMutant<Mutant>, {1, 20, 300});
  EXPECT_THAT(report, IsOk());
  return report->difference;
}

TEST(RandomSequencesTest, FindAndShrinkAGrantThatIsLost) {
  const std::string text = DifferenceOf<LosesGrants>();
  EXPECT_LE(CallsIn(text), 5) << text;
  EXPECT_THAT(text, testing::HasSubstr("vmm.SetAccess(")) << text;
}

TEST(RandomSequencesTest, FindAndShrinkAReferenceThatIsLost) {
  const std::string text = DifferenceOf<RetainsNothing>();
  EXPECT_LE(CallsIn(text), 6) << text;
  EXPECT_THAT(text, testing::HasSubstr("vmm.RetainAllocationHandle(")) << text;
}

TEST(RandomSequencesTest, FindAndShrinkFlagsThatAreTaken) {
  const std::string text = DifferenceOf<HidesFlags>();
  EXPECT_EQ(CallsIn(text), 1) << text;
  EXPECT_THAT(text, testing::HasSubstr("HasDriverCode(DriverCode::kInvalidValue)")) << text;
}

// One call of each kind, with as many forms of operands.
std::vector<Call> Sequence() {
  std::vector<Call> calls;
  const auto add = [&](CallKind kind) -> Call& {
    calls.emplace_back();
    calls.back().kind = kind;
    calls.back().address.slot = 0;
    calls.back().handle.slot = 0;
    calls.back().size.granules = 2;
    return calls.back();
  };
  add(CallKind::kAddressReserve).address.slot = kNoSlot;
  Call& create = add(CallKind::kCreate);
  create.properties.requested_handle_types = HandleType::kPosixFileDescriptor;
  add(CallKind::kMap);
  add(CallKind::kSetAccess).grants = {{Location::Device(DeviceOrdinal(0)), Access::kReadWrite},
                                      {Location::Device(DeviceOrdinal(1)), Access::kRead}};
  add(CallKind::kGetAccess).location = Location::Device(DeviceOrdinal(1));
  add(CallKind::kRetain).result = 1;
  add(CallKind::kRelease).handle.slot = 1;
  add(CallKind::kExport);
  Call& import = add(CallKind::kImport);
  import.shareable = 0;
  import.result = 2;
  add(CallKind::kGetProperties).handle.slot = 2;
  Call& write = add(CallKind::kCopyHostToDevice);
  write.size = Amount{0, 4, 0};
  write.pattern.value = 7;
  Call& copy = add(CallKind::kCopyDeviceToDevice);
  copy.address.offset = Amount{1, ~uint64_t{1}, 0};
  copy.source.slot = 0;
  copy.size = Amount{0, 4, 0};
  Call& read = add(CallKind::kCopyDeviceToHost);
  read.device = DeviceOrdinal(1);
  read.address.offset.granules = 1;
  read.size = Amount{0, 3, 0};
  Call& fill = add(CallKind::kFill);
  fill.stream = StreamOperand::kDefault;
  fill.pattern = FillPattern{0x01020304, Bytes(4)};
  fill.count = 2;
  Call& read_fill = add(CallKind::kCopyDeviceToHost);
  read_fill.size = Amount{0, 9, 0};
  add(CallKind::kGetPointerAttribute).attribute = PointerAttribute::kMappingSize;
  add(CallKind::kGetAddressRange).address.offset.bytes = 5;
  add(CallKind::kGetMemoryInfo);
  add(CallKind::kGetGranularity);
  add(CallKind::kCanAccessPeer).peer = DeviceOrdinal(7);
  add(CallKind::kUnmap).size.granules = 1;  // cuts the mapping
  add(CallKind::kUnmap);
  add(CallKind::kAddressFree);
  add(CallKind::kRelease);
  add(CallKind::kRelease).handle = HandleOperand{kNoSlot, 0};
  add(CallKind::kRelease).handle.slot = 2;
  add(CallKind::kCloseDescriptor);
  return calls;
}

std::string Read(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(PrintTestTest, PrintsWhatTheNextTestIsMadeOf) {
  const absl::StatusOr<Subject> subject = SimSubject(Profile::ReferenceH200(2))();
  ASSERT_THAT(subject, IsOk());
  Checker checker(*subject->driver->vmm(), *subject->driver->executor(), subject->parameters,
                  false);
  EXPECT_EQ(PrintTest(Sequence(), checker),
            Read("conformance/instances/random/random_printed.inc"));
}

TEST(PrintTestTest, WhatIsPrintedIsATest) {
  const auto simulator = *Simulator::Create(Profile::ReferenceH200(2));
  Vmm& vmm = **simulator->vmm();
  Executor& executor = **simulator->executor();
#include "conformance/instances/random/random_printed.inc"
}

}  // namespace
}  // namespace twinmmu::conformance::random
