// Plays the race litmus tests: the ordered form of each has no diagnostic, the racing form exactly
// those that the test names.

#include "sim/tests/race_litmus/race_litmus.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "api/diagnostics.h"
#include "api/multicast.h"
#include "api/testing/diagnostic_matchers.h"
#include "sim/calls/executor/kernel_calls.h"
#include "sim/calls/executor/memory_operations.h"
#include "sim/testing/test_machine.h"

namespace twinmmu {
namespace {

// What every kernel has ahead of its lines: names for places of memory and for who it is.
constexpr char kPrelude[] = R"({
.reg .b64 %x, %y, %flag, %count, %far, %big, %mine, %mine16, %otherblock, %mc, %u0, %u1, %l<4>;
.reg .b32 %t, %b, %s, %sn, %so, %s16, %tile, %sp, %bar, %bar2, %barp, %i, %r<8>;
.reg .b16 %mask;
.reg .pred %p, %q, %first, %last;
.shared .align 128 .b8 tile[4096];
.shared .align 8 .b64 bars[2];
ld.param.u64 %x, [memory]; ld.param.u64 %far, [other]; ld.param.u64 %mc, [multicast];
ld.param.u64 %u0, [first_replica]; ld.param.u64 %u1, [second_replica];
add.u64 %y, %x, 256; add.u64 %flag, %x, 512; add.u64 %count, %x, 768; add.u64 %big, %x, 4096;
mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %r0, %ntid.x; mov.u16 %mask, 3;
mad.lo.u32 %i, %b, %r0, %t; mul.wide.u32 %mine, %i, 4; add.u64 %mine, %mine, %x;
add.u64 %mine, %mine, 8192; mul.wide.u32 %mine16, %i, 16; add.u64 %mine16, %mine16, %x;
add.u64 %mine16, %mine16, 16384; xor.b32 %i, %b, 1; mad.lo.u32 %i, %i, %r0, %t;
mul.wide.u32 %otherblock, %i, 4; add.u64 %otherblock, %otherblock, %x;
add.u64 %otherblock, %otherblock, 8192; setp.eq.u32 %first, %t, 0; sub.u32 %r0, %r0, 32;
setp.eq.u32 %last, %t, %r0; mov.u32 %tile, tile; mov.u32 %bar, bars; add.u32 %bar2, %bar, 8;
mad.lo.u32 %s, %t, 4, %tile; xor.b32 %i, %t, 1; mad.lo.u32 %sn, %i, 4, %tile;
xor.b32 %i, %t, 32; mad.lo.u32 %so, %i, 4, %tile; mad.lo.u32 %s16, %t, 16, %tile;
)";
constexpr char kOfCluster[] =
    "mov.u32 %i, %cluster_ctarank; xor.b32 %i, %i, 1; mapa.shared::cluster.u32 %sp, %s, %i; "
    "mapa.shared::cluster.u32 %barp, %bar, %i;\n";

Profile ProfileOf(const RaceLitmus& test) {
  const auto is_newer = [](const RaceStep& step) {
    return absl::StartsWith(step.Word("target", ""), "sm_100");
  };
  Profile profile = std::any_of(test.steps.begin(), test.steps.end(), is_newer)
                        ? Profile::Named("reference-b200").value()
                        : Profile::ReferenceH200(2);
  profile.race_check = true;
  profile.stream_policy = StreamPolicy::kDeferred;
  return profile;
}

std::string KindInWords(DiagnosticKind kind) {
  switch (kind) {
    case DiagnosticKind::kDataRace:
    case DiagnosticKind::kUnorderedAliases:
    case DiagnosticKind::kUnorderedAliasesOfDevices:
      return "race";
    case DiagnosticKind::kMissingAsyncFence:
      return "async";
    case DiagnosticKind::kMissingAliasFence:
      return "alias";
    default:
      return InfoOf(kind).name;
  }
}

class RaceLitmusTest : public MachineTest, public testing::WithParamInterface<RaceLitmus> {
 protected:
  RaceLitmusTest() : MachineTest(ProfileOf(GetParam())) {}

  void SetUp() override {
    memory_ = MapOn(kDevice0);
    other_ = MapOn(kDevice1);
    MakeTeam();
    for (int device = 0; device < 2; ++device)
      ASSERT_THAT(executor().SynchronizeDevice(DeviceOrdinal(device)), IsOk());
  }

  DeviceAddress MapOn(DeviceOrdinal device) {
    const AddressRange range = Reserve(1);
    handles_.push_back(MapNew(range.base, 1, On(Location::Device(device))));
    Grant(range, For(kDevice0, Access::kReadWrite));
    Grant(range, For(kDevice1, Access::kReadWrite));
    return range.base;
  }
  void MakeTeam() {
    Multicast& multicast = **simulator_->multicast();
    const auto object = multicast.Create({2, kGranule, HandleType::kNone, 0});
    ASSERT_THAT(object, IsOk());
    for (const DeviceOrdinal device : {kDevice0, kDevice1})
      ASSERT_THAT(multicast.AddDevice(*object, device), IsOk());
    for (const DeviceOrdinal device : {kDevice0, kDevice1}) {
      replicas_.push_back(MapOn(device));
      ASSERT_THAT(multicast.BindMemory(*object, Bytes(0), handles_.back(), Bytes(0), kGranule, 0),
                  IsOk());
    }
    const AddressRange range = Reserve(1);
    ASSERT_THAT(vmm().Map(range, *object), IsOk());
    Grant(range, For(kDevice0, Access::kReadWrite));
    Grant(range, For(kDevice1, Access::kReadWrite));
    multicast_ = range.base;
  }

  Stream StreamOf(DeviceOrdinal device, uint64_t number) {
    const auto found = streams_.find(number);
    if (found != streams_.end()) return found->second;
    const auto made = executor().CreateStream(device);
    EXPECT_THAT(made, IsOk());
    return streams_[number] = *made;
  }

  std::string TextOf(const RaceStep& step) {
    const uint64_t cluster = step.Number("cluster", 1);
    // Lines of different kernels have different numbers.
    const size_t first = 1000 * ++kernels_;
    std::string text = absl::StrCat(
        ".version ", step.Word("ptx", "8.3"), "\n.target ", step.Word("target", "sm_90a"),
        "\n.address_size 64\n.visible .entry kernel(.param .u64 memory, .param .u64 other, "
        ".param .u64 multicast, .param .u64 first_replica, .param .u64 second_replica)",
        cluster == 1 ? "" : absl::StrCat("\n.reqnctapercluster ", cluster), "\n", kPrelude,
        cluster == 1 ? "" : kOfCluster);
    text.insert(0, first - static_cast<size_t>(std::count(text.begin(), text.end(), '\n')), '\n');
    for (size_t i = 0; i < step.lines.size(); ++i) {
      const std::string& line = step.lines[i];
      const size_t name = line.find("// ");
      if (name != std::string::npos) names_[absl::StrCat(first + i + 1)] = line.substr(name + 3);
      absl::StrAppend(&text, line, "\n");
    }
    return text + "ret;\n}\n";
  }

  // Unimplemented: there is an instruction that the interpreter lacks.
  absl::Status Launch(const RaceStep& step) {
    const DeviceOrdinal device(static_cast<int>(step.Number("device", 0)));
    const uint64_t number = step.Number("stream", kernels_);
    const auto module = executor().LoadModule(device, TextOf(step));
    if (!module.ok()) return module.status();
    const auto kernel = executor().GetKernel(*module, "kernel");
    if (!kernel.ok()) return kernel.status();
    LaunchConfig config;
    config.grid.x = static_cast<uint32_t>(step.Number("blocks", 1));
    config.block.x = static_cast<uint32_t>(step.Number("threads", 1));
    config.programmatic_stream_serialization = step.Number("early", 0) != 0;
    LaunchForm form;
    form.cooperative = step.Number("cooperative", 0) != 0;
    const std::array places{memory_, other_, multicast_, replicas_[0], replicas_[1]};
    std::array<const void*, places.size()> arguments;
    for (size_t i = 0; i < places.size(); ++i) arguments[i] = &places[i];
    return simulator_->kernels().Launch(StreamOf(device, number), *kernel, config, arguments, form);
  }

  absl::Status Tell(DeviceOrdinal device, uint64_t from, Stream to) {
    const auto event = executor().CreateEvent(StreamOf(device, from).device());
    if (!event.ok()) return event.status();
    absl::Status status = executor().RecordEvent(*event, StreamOf(device, from));
    status.Update(executor().WaitEvent(to, *event));
    return status;
  }

  absl::Status Do(const RaceStep& step) {
    if (step.what == "kernel") return Launch(step);
    const DeviceOrdinal device(static_cast<int>(step.Number("device", 0)));
    if (step.what == "event") {
      return Tell(kDevice0, step.Number("from", 0), StreamOf(device, step.Number("to", 1)));
    }
    const Stream stream = StreamOf(device, step.Number("stream", 0));
    if (step.what == "sync") return executor().SynchronizeStream(stream);
    if (step.what == "fill") return executor().Fill(stream, memory_, {0, Bytes(1)}, 256);
    if (step.what == "copy")
      return executor().CopyDeviceToDevice(stream, memory_, memory_ + Bytes(256), Bytes(256));
    MemoryOperation operation;
    operation.kind = step.what == "write" ? MemoryOperation::kWrite : MemoryOperation::kWait;
    operation.address = memory_ + Bytes(512);
    operation.width = Bytes(4);
    operation.value = 1;
    const char* const call = step.what == "write" ? "cuStreamWriteValue32" : "cuStreamWaitValue32";
    return simulator_->memory_operations().Submit(call, stream, {&operation, 1});
  }

  // What the test calls the accesses that a diagnostic names.
  std::string InWords(const Diagnostic& diagnostic) const {
    static const std::regex kAccess(
        "PTX line ([0-9]+)|(cuMemset|cuMemcpy|cuStreamWrite|cuStreamWait)");
    const std::string told = diagnostic.message.substr(0, diagnostic.message.find(';'));
    std::vector<std::string> named;
    for (std::sregex_iterator at(told.begin(), told.end(), kAccess), end; at != end; ++at) {
      const std::string call = (*at)[2];
      const auto known = names_.find((*at)[1]);
      named.push_back(!call.empty()           ? CallName(call)
                      : known != names_.end() ? known->second
                                              : absl::StrCat("line ", (*at)[1].str()));
    }
    if (named.size() != 2) return absl::StrCat(KindInWords(diagnostic.kind), ": ", told);
    return RaceInWords(KindInWords(diagnostic.kind), named[0], named[1]);
  }
  static std::string CallName(const std::string& call) {
    if (call == "cuMemset") return "F";
    if (call == "cuMemcpy") return "C";
    return call == "cuStreamWrite" ? "W" : "V";
  }

  DeviceAddress memory_;
  DeviceAddress other_;
  DeviceAddress multicast_;
  std::vector<DeviceAddress> replicas_;
  std::vector<AllocationHandle> handles_;
  std::map<uint64_t, Stream> streams_;
  std::map<std::string, std::string> names_;  // by the number of the line
  size_t kernels_ = 0;
};

TEST_P(RaceLitmusTest, RacesExactlyWhereItSays) {
  for (const RaceStep& step : GetParam().steps) {
    const absl::Status done = Do(step);
    if (absl::IsUnimplemented(done)) GTEST_SKIP() << done.message();
    ASSERT_THAT(done, IsOk());
  }
  for (int device = 0; device < 2; ++device)
    ASSERT_THAT(executor().SynchronizeDevice(DeviceOrdinal(device)), IsOk());
  std::set<std::string> found;
  std::string words;
  for (const Diagnostic& diagnostic : simulator_->diagnostics()) {
    found.insert(InWords(diagnostic));
    absl::StrAppend(&words, diagnostic.message, "\n");
  }
  EXPECT_EQ(found, GetParam().expected) << words;
}

std::string NameOfForm(const testing::TestParamInfo<RaceLitmus>& form) {
  return absl::StrCat(form.param.name, form.param.races ? "_racing" : "_ordered");
}

std::vector<RaceLitmus> In(const char* name) {
  return ReadRaceLitmus(absl::StrCat("sim/tests/race_litmus/", name, ".races"));
}

INSTANTIATE_TEST_SUITE_P(TwoDevices, RaceLitmusTest, testing::ValuesIn(In("two_devices")),
                         NameOfForm);
INSTANTIATE_TEST_SUITE_P(Multicast, RaceLitmusTest, testing::ValuesIn(In("multicast")), NameOfForm);
INSTANTIATE_TEST_SUITE_P(Blocks, RaceLitmusTest, testing::ValuesIn(In("blocks")), NameOfForm);
INSTANTIATE_TEST_SUITE_P(Copies, RaceLitmusTest, testing::ValuesIn(In("copies")), NameOfForm);
INSTANTIATE_TEST_SUITE_P(BulkCopies, RaceLitmusTest, testing::ValuesIn(In("bulk_copies")),
                         NameOfForm);

}  // namespace
}  // namespace twinmmu
