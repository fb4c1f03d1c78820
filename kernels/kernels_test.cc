// The launchers: what they ask of an Executor. The Executor is a mock that reads each launch's
// arguments by the parameter list that the kernel has in the PTX text, so that an argument of a
// wrong type or a missing one shows without a GPU.

#include "kernels/kernels.h"

#include <cstring>
#include <map>
#include <regex>  // NOLINT: the texts are small
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "api/testing/mock_call.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu {
namespace {

using ::testing::_;
using ::testing::AllOf;
using ::testing::AnyNumber;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::NiceMock;
using ::testing::Not;
using ::testing::Return;
using ::testing::SizeIs;

// What nobody expects succeeds.
class MockExecutor : public Executor {
 public:
  // GoogleMock tells methods of one name apart by their lines.
  TWINMMU_EXECUTOR_COPY_CALLS(TWINMMU_MOCK, )
  TWINMMU_EXECUTOR_ASYNC_COPY_CALLS(TWINMMU_MOCK, )
  TWINMMU_EXECUTOR_STREAM_CALLS(TWINMMU_MOCK, )
  TWINMMU_EXECUTOR_MODULE_CALLS(TWINMMU_MOCK, )
};

constexpr DeviceOrdinal kDevice(3);
constexpr Stream kStream(kDevice, 0x51);

// The parameter types (".u64") of the kernel `name` in `ptx`; empty if it is not there.
std::vector<std::string> ParameterTypes(absl::string_view ptx, const std::string& name) {
  const std::string text(ptx);
  std::smatch entry;
  if (!std::regex_search(text, entry,
                         std::regex("\\.visible \\.entry " + name + "\\(([^)]*)\\)"))) {
    return {};
  }
  const std::string list = entry[1];
  const std::regex parameter("\\.param (\\.\\w+)");
  std::vector<std::string> types;
  for (std::sregex_iterator it(list.begin(), list.end(), parameter), end; it != end; ++it) {
    types.push_back((*it)[1]);
  }
  return types;
}

// One launch, as the mock saw it.
struct Launched {
  std::string name;
  Stream stream;
  LaunchConfig config;
  std::vector<uint64_t> arguments;
};

// Plays an implementation that runs kernels: its modules are the texts in the order of loading, its
// kernels are numbered as they are asked for.
class KernelsTest : public ::testing::Test {
 protected:
  KernelsTest() {
    ON_CALL(executor_, LoadModule)
        .WillByDefault([this](DeviceOrdinal device, absl::string_view ptx) {
          texts_.push_back(std::string(ptx));
          return Module(device, texts_.size());
        });
    ON_CALL(executor_, UnloadModule).WillByDefault([this](Module module) {
      unloaded_.push_back(module.value());
      return absl::OkStatus();
    });
    ON_CALL(executor_, GetKernel)
        .WillByDefault([this](Module module, absl::string_view name) -> absl::StatusOr<Kernel> {
          std::vector<std::string> types =
              ParameterTypes(texts_[module.value() - 1], std::string(name));
          if (types.empty()) return absl::NotFoundError(name);
          entries_.push_back({std::string(name), std::move(types)});
          return Kernel(module.device(), entries_.size());
        });
    ON_CALL(executor_, Launch)
        .WillByDefault([this](Stream stream, Kernel kernel, const LaunchConfig& config,
                              absl::Span<const void* const> arguments) {
          Record(stream, kernel, config, arguments);
          return absl::OkStatus();
        });
  }

  void Record(Stream stream, Kernel kernel, const LaunchConfig& config,
              absl::Span<const void* const> arguments) {
    const auto& [name, types] = entries_[kernel.value() - 1];
    Launched launched{name, stream, config, {}};
    ASSERT_EQ(arguments.size(), types.size()) << name;
    for (size_t i = 0; i < types.size(); ++i) {
      uint64_t value = 0;  // x86-64 is little-endian: the low bytes come first
      std::memcpy(&value, arguments[i], types[i] == ".u64" ? 8 : 4);
      launched.arguments.push_back(value);
    }
    launched_.push_back(launched);
  }

  Kernels LoadOrDie() {
    absl::StatusOr<Kernels> kernels = Kernels::Load(&executor_, kDevice);
    EXPECT_TRUE(kernels.ok()) << kernels.status();
    return *std::move(kernels);
  }

  NiceMock<MockExecutor> executor_;
  std::vector<std::string> texts_;
  std::vector<std::pair<std::string, std::vector<std::string>>> entries_;
  std::vector<uint64_t> unloaded_;
  std::vector<Launched> launched_;
};

AddressRange Range(uint64_t base, uint64_t size) {
  return AddressRange{DeviceAddress(base), Bytes(size), Bytes(0)};
}

bool IsOneThread(const LaunchConfig& config) {
  return config.grid.x == 1 && config.grid.y == 1 && config.grid.z == 1 && config.block.x == 1 &&
         config.block.y == 1 && config.block.z == 1 && config.dynamic_shared_bytes == 0;
}

// --- Loading and unloading -----------------------------------------------------------------------

// Load loads each text once, on the device that was named.
TEST_F(KernelsTest, LoadLoadsEachTextOnceOnTheDevice) {
  EXPECT_CALL(executor_, LoadModule(kDevice, _)).Times(5);
  Kernels kernels = LoadOrDie();
  EXPECT_EQ(std::set<std::string>(texts_.begin(), texts_.end()).size(), 5u);
  EXPECT_EQ(kernels.device(), kDevice);
}

// A launch uses the kernels that Load found and loads nothing.
TEST_F(KernelsTest, LaunchesLoadNothing) {
  Kernels kernels = LoadOrDie();
  EXPECT_CALL(executor_, LoadModule).Times(0);
  EXPECT_CALL(executor_, GetKernel).Times(0);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(kernels.Fill(kStream, Range(4096, 16), 1).ok());
  EXPECT_THAT(launched_, SizeIs(3));
}

// The destructor unloads each module once.
TEST_F(KernelsTest, DestructorUnloadsEachModuleOnce) {
  { Kernels kernels = LoadOrDie(); }
  EXPECT_THAT(unloaded_, ElementsAre(1, 2, 3, 4, 5));
}

// Close unloads each module, and neither a second Close nor the destructor unloads again.
TEST_F(KernelsTest, CloseUnloadsOnce) {
  {
    Kernels kernels = LoadOrDie();
    EXPECT_TRUE(kernels.Close().ok());
    EXPECT_TRUE(kernels.Close().ok());
  }
  EXPECT_THAT(unloaded_, ElementsAre(1, 2, 3, 4, 5));
}

// Close tries every module, and gives the first error.
TEST_F(KernelsTest, CloseGivesFirstErrorAndUnloadsTheRest) {
  Kernels kernels = LoadOrDie();
  EXPECT_CALL(executor_, UnloadModule)
      .WillOnce(Return(absl::OkStatus()))
      .WillOnce(Return(absl::DataLossError("first")))
      .WillRepeatedly(Return(absl::InternalError("second")));
  EXPECT_EQ(kernels.Close(), absl::DataLossError("first"));
}

// After Close every launch is FailedPrecondition and reaches no executor.
TEST_F(KernelsTest, LaunchAfterCloseIsFailedPrecondition) {
  Kernels kernels = LoadOrDie();
  ASSERT_TRUE(kernels.Close().ok());
  EXPECT_EQ(kernels.Store32(kStream, DeviceAddress(4096), 1).code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(launched_, IsEmpty());
}

// A moved-to object launches and unloads; the one moved from does neither.
TEST_F(KernelsTest, MoveHandsOverTheModules) {
  Kernels first = LoadOrDie();
  {
    Kernels second = std::move(first);
    EXPECT_TRUE(second.Store32(kStream, DeviceAddress(4096), 1).ok());
    EXPECT_EQ(first.Store32(kStream, DeviceAddress(4096), 1).code(),  // NOLINT: moved from
              absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(unloaded_, IsEmpty());
  }
  EXPECT_THAT(unloaded_, ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(launched_, SizeIs(1));
}

// Assigning over a loaded object unloads what it had, and keeps what it gets.
TEST_F(KernelsTest, MoveAssignmentClosesTheTarget) {
  Kernels first = LoadOrDie();
  Kernels second = LoadOrDie();
  first = std::move(second);
  EXPECT_THAT(unloaded_, ElementsAre(1, 2, 3, 4, 5));
  EXPECT_TRUE(first.Store32(kStream, DeviceAddress(4096), 1).ok());
}

// Two owners of one module would unload it twice.
TEST_F(KernelsTest, IsMoveOnly) {
  EXPECT_FALSE(std::is_copy_constructible_v<Kernels>);
  EXPECT_FALSE(std::is_copy_assignable_v<Kernels>);
  EXPECT_TRUE(std::is_nothrow_move_constructible_v<Kernels>);
}

// An implementation that runs no kernels says Unimplemented, and Load passes it on with message and
// payload.
TEST_F(KernelsTest, LoadPassesUnimplementedOnUnchanged) {
  absl::Status refusal = absl::UnimplementedError("no kernels here");
  refusal.SetPayload("some/type", absl::Cord("detail"));
  EXPECT_CALL(executor_, LoadModule).WillOnce(Return(refusal));
  EXPECT_CALL(executor_, UnloadModule).Times(0);
  EXPECT_EQ(Kernels::Load(&executor_, kDevice).status(), refusal);
}

// When a later module does not load, Load unloads those before it.
TEST_F(KernelsTest, LoadUnloadsAfterAFailedModule) {
  EXPECT_CALL(executor_, LoadModule)
      .WillOnce(Return(Module(kDevice, 7)))
      .WillOnce(Return(absl::ResourceExhaustedError("full")));
  EXPECT_EQ(Kernels::Load(&executor_, kDevice).status(), absl::ResourceExhaustedError("full"));
  EXPECT_THAT(unloaded_, ElementsAre(7));
}

// When a kernel is not found, Load passes the error on and unloads all modules.
TEST_F(KernelsTest, LoadUnloadsAfterAMissingKernel) {
  EXPECT_CALL(executor_, GetKernel).WillOnce(Return(absl::NotFoundError("no such name")));
  EXPECT_EQ(Kernels::Load(&executor_, kDevice).status(), absl::NotFoundError("no such name"));
  EXPECT_THAT(unloaded_, ElementsAre(1, 2, 3, 4, 5));
}

// A null executor is an error, not a crash.
TEST_F(KernelsTest, LoadRefusesNullExecutor) {
  EXPECT_EQ(Kernels::Load(nullptr, kDevice).status().code(), absl::StatusCode::kInvalidArgument);
}

// --- Arguments -----------------------------------------------------------------------------------

// Fill launches the fill kernel on the stream with (base, words, seed).
TEST_F(KernelsTest, FillPassesBaseWordsSeed) {
  Kernels kernels = LoadOrDie();
  ASSERT_TRUE(kernels.Fill(kStream, Range(0x7f0000001004, 40), 0xfedcba9876543210).ok());
  ASSERT_THAT(launched_, SizeIs(1));
  EXPECT_EQ(launched_[0].name, "twinmmu_fill");
  EXPECT_EQ(launched_[0].stream, kStream);
  EXPECT_THAT(launched_[0].arguments, ElementsAre(0x7f0000001004, 10, 0xfedcba9876543210));
}

// Verify first resets the result, by one thread, and then counts, on the same stream.
TEST_F(KernelsTest, VerifyResetsThenCounts) {
  Kernels kernels = LoadOrDie();
  ASSERT_TRUE(kernels.Verify(kStream, Range(0x1000, 48), 77, DeviceAddress(0x9008)).ok());
  ASSERT_THAT(launched_, SizeIs(2));
  EXPECT_EQ(launched_[0].name, "twinmmu_verify_reset");
  EXPECT_THAT(launched_[0].arguments, ElementsAre(0x9008));
  EXPECT_TRUE(IsOneThread(launched_[0].config));
  EXPECT_EQ(launched_[0].stream, kStream);
  EXPECT_EQ(launched_[1].name, "twinmmu_verify");
  EXPECT_THAT(launched_[1].arguments, ElementsAre(0x1000, 12, 77, 0x9008));
  EXPECT_EQ(launched_[1].stream, kStream);
}

// Load32 runs one thread with (address, out).
TEST_F(KernelsTest, Load32PassesAddressOut) {
  Kernels kernels = LoadOrDie();
  ASSERT_TRUE(kernels.Load32(kStream, DeviceAddress(0x1001), DeviceAddress(0x2000)).ok());
  ASSERT_THAT(launched_, SizeIs(1));
  EXPECT_EQ(launched_[0].name, "twinmmu_load32");
  EXPECT_THAT(launched_[0].arguments, ElementsAre(0x1001, 0x2000));
  EXPECT_TRUE(IsOneThread(launched_[0].config));
}

// Store32 runs one thread with (address, value).
TEST_F(KernelsTest, Store32PassesAddressValue) {
  Kernels kernels = LoadOrDie();
  ASSERT_TRUE(kernels.Store32(kStream, DeviceAddress(0x1000), 0xdeadbeef).ok());
  ASSERT_THAT(launched_, SizeIs(1));
  EXPECT_EQ(launched_[0].name, "twinmmu_store32");
  EXPECT_THAT(launched_[0].arguments, ElementsAre(0x1000, 0xdeadbeef));
  EXPECT_TRUE(IsOneThread(launched_[0].config));
}

// AtomicAdd32 runs one thread with (address, value, out).
TEST_F(KernelsTest, AtomicAdd32PassesAddressValueOut) {
  Kernels kernels = LoadOrDie();
  ASSERT_TRUE(
      kernels.AtomicAdd32(kStream, DeviceAddress(0x1000), 0xffffffff, DeviceAddress(0x2000)).ok());
  ASSERT_THAT(launched_, SizeIs(1));
  EXPECT_EQ(launched_[0].name, "twinmmu_atomic_add32");
  EXPECT_THAT(launched_[0].arguments, ElementsAre(0x1000, 0xffffffff, 0x2000));
  EXPECT_TRUE(IsOneThread(launched_[0].config));
}

// AliasWriteThenRead picks the kernel by `fence` and passes `warm` as 0 or 1.
TEST_F(KernelsTest, AliasPicksKernelByFence) {
  Kernels kernels = LoadOrDie();
  const DeviceAddress a(0x1000), b(0x2000), result(0x3000);
  ASSERT_TRUE(kernels.AliasWriteThenRead(kStream, a, b, 1ull << 40, true, false, result).ok());
  ASSERT_TRUE(kernels.AliasWriteThenRead(kStream, a, b, 9, false, true, result).ok());
  ASSERT_THAT(launched_, SizeIs(2));
  EXPECT_EQ(launched_[0].name, "twinmmu_alias_unfenced");
  EXPECT_THAT(launched_[0].arguments, ElementsAre(0x1000, 0x2000, 1ull << 40, 1, 0x3000));
  EXPECT_TRUE(IsOneThread(launched_[0].config));
  EXPECT_EQ(launched_[1].name, "twinmmu_alias_fenced");
  EXPECT_THAT(launched_[1].arguments, ElementsAre(0x1000, 0x2000, 9, 0, 0x3000));
  EXPECT_TRUE(IsOneThread(launched_[1].config));
}

// The trial in a block is launched as two warps; `warm` and `fence` are passed as 0 or 1.
TEST_F(KernelsTest, AliasInBlockPassesAllToTwoWarps) {
  Kernels kernels = LoadOrDie();
  const DeviceAddress a(0x1000), b(0x2000), result(0x3000);
  ASSERT_TRUE(
      kernels.AliasWriteThenReadInBlock(kStream, a, b, 9, true, AliasFence::kReader, result).ok());
  ASSERT_THAT(launched_, SizeIs(1));
  EXPECT_EQ(launched_[0].name, "twinmmu_alias_block");
  EXPECT_THAT(launched_[0].arguments, ElementsAre(0x1000, 0x2000, 9, 1, 2, 0x3000));
  EXPECT_EQ(launched_[0].config.grid.x, 1u);
  EXPECT_EQ(launched_[0].config.block.x, 64u);
}

// The trial in turns is two blocks for both roles, and one for each.
TEST_F(KernelsTest, AliasInTurnsHasABlockForEachRole) {
  Kernels kernels = LoadOrDie();
  const DeviceAddress a(0x1000), b(0x2000), turn(0x4004), result(0x3000);
  using Role = Kernels::AliasRole;
  for (const Role role : {Role::kBoth, Role::kWriter, Role::kReader}) {
    ASSERT_TRUE(kernels
                    .AliasWriteThenReadInTurns(kStream, role, a, b, turn, 9, false,
                                               AliasFence::kWriter, result)
                    .ok());
  }
  ASSERT_THAT(launched_, SizeIs(3));
  const uint32_t blocks[] = {2, 1, 1};
  for (uint64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(launched_[i].name, "twinmmu_alias_pair");
    EXPECT_THAT(launched_[i].arguments, ElementsAre(0x1000, 0x2000, 0x4004, 9, 0, 1, i, 0x3000));
    EXPECT_EQ(launched_[i].config.grid.x, blocks[i]);
    EXPECT_EQ(launched_[i].config.block.x, 1u);
  }
}

// Count launches blocks of 256 threads with (a, b, rounds).
TEST_F(KernelsTest, CountLaunchesTheBlocksAskedFor) {
  Kernels kernels = LoadOrDie();
  ASSERT_TRUE(kernels.Count(kStream, DeviceAddress(0x1000), DeviceAddress(0x2000), 7, 5).ok());
  ASSERT_THAT(launched_, SizeIs(1));
  EXPECT_EQ(launched_[0].name, "twinmmu_count");
  EXPECT_THAT(launched_[0].arguments, ElementsAre(0x1000, 0x2000, 5));
  EXPECT_EQ(launched_[0].config.grid.x, 7u);
  EXPECT_EQ(launched_[0].config.block.x, Kernels::kThreadsPerBlock);
}

// Obey runs one thread with (word, board, rounds); the word may be any address.
TEST_F(KernelsTest, ObeyPassesWordBoardRounds) {
  Kernels kernels = LoadOrDie();
  ASSERT_TRUE(kernels.Obey(kStream, DeviceAddress(0x1001), DeviceAddress(0x2004), 1ull << 40).ok());
  ASSERT_THAT(launched_, SizeIs(1));
  EXPECT_EQ(launched_[0].name, "twinmmu_obey");
  EXPECT_THAT(launched_[0].arguments, ElementsAre(0x1001, 0x2004, 1ull << 40));
  EXPECT_TRUE(IsOneThread(launched_[0].config));
}

// --- Grids ---------------------------------------------------------------------------------------

// Fill has one thread for each 16 bytes begun, in blocks of 256, up to a largest grid.
TEST_F(KernelsTest, GridGrowsWithTheRangeUpToALimit) {
  Kernels kernels = LoadOrDie();
  const std::map<uint64_t, uint32_t> blocks_by_size = {
      {4, 1},
      {16 * 256, 1},
      {16 * 256 + 4, 2},
      {MiB(2).value(), 512},
      {16ull * 256 * 4224, 4224},
      {GiB(141).value(), 4224},
  };
  for (const auto& [size, blocks] : blocks_by_size) {
    launched_.clear();
    ASSERT_TRUE(kernels.Fill(kStream, Range(0x1000, size), 0).ok());
    ASSERT_THAT(launched_, SizeIs(1));
    const LaunchConfig& config = launched_[0].config;
    EXPECT_EQ(config.grid.x, blocks) << size;
    EXPECT_EQ(config.grid.y * config.grid.z, 1u);
    EXPECT_EQ(config.block.x, 256u);
    EXPECT_EQ(config.block.y * config.block.z, 1u);
    EXPECT_EQ(config.dynamic_shared_bytes, 0u);
  }
}

// Verify covers a range by the same grid as Fill.
TEST_F(KernelsTest, VerifyHasTheGridOfFill) {
  Kernels kernels = LoadOrDie();
  ASSERT_TRUE(kernels.Verify(kStream, Range(0x1000, MiB(2).value()), 0, DeviceAddress(8)).ok());
  ASSERT_THAT(launched_, SizeIs(2));
  EXPECT_EQ(launched_[1].config.grid.x, 512u);
  EXPECT_EQ(launched_[1].config.block.x, 256u);
}

// The number of words of the largest range is passed whole.
TEST_F(KernelsTest, HugeRangeKeepsItsWordCount) {
  Kernels kernels = LoadOrDie();
  ASSERT_TRUE(kernels.Fill(kStream, Range(0, ~uint64_t{3}), 0).ok());
  ASSERT_THAT(launched_, SizeIs(1));
  EXPECT_EQ(launched_[0].arguments[1], ~uint64_t{0} >> 2);
}

// An empty grid is an error of the driver, so filling an empty range launches nothing.
TEST_F(KernelsTest, FillOfEmptyRangeLaunchesNothing) {
  Kernels kernels = LoadOrDie();
  EXPECT_TRUE(kernels.Fill(kStream, Range(0x1000, 0), 0).ok());
  EXPECT_THAT(launched_, IsEmpty());
}

// Verifying an empty range still writes the result: no mismatch.
TEST_F(KernelsTest, VerifyOfEmptyRangeOnlyResets) {
  Kernels kernels = LoadOrDie();
  EXPECT_TRUE(kernels.Verify(kStream, Range(0x1000, 0), 0, DeviceAddress(0x2000)).ok());
  ASSERT_THAT(launched_, SizeIs(1));
  EXPECT_EQ(launched_[0].name, "twinmmu_verify_reset");
}

// --- Errors --------------------------------------------------------------------------------------

MATCHER_P2(IsInvalid, argument, value, "") {
  return arg.code() == absl::StatusCode::kInvalidArgument &&
         absl::StrContains(arg.message(), argument) && absl::StrContains(arg.message(), value);
}

// A range that is not made of whole words is refused by Fill and by Verify, naming argument and
// value, and nothing is launched.
TEST_F(KernelsTest, RangeOfPartWordsIsInvalid) {
  Kernels kernels = LoadOrDie();
  const DeviceAddress result(0x2000);
  EXPECT_THAT(kernels.Fill(kStream, Range(0x1000, 6), 0), IsInvalid("range.size", "6"));
  EXPECT_THAT(kernels.Fill(kStream, Range(0x1002, 8), 0), IsInvalid("range.base", "0x1002"));
  EXPECT_THAT(kernels.Verify(kStream, Range(0x1000, 7), 0, result), IsInvalid("range.size", "7"));
  EXPECT_THAT(kernels.Verify(kStream, Range(0x1001, 8), 0, result),
              IsInvalid("range.base", "0x1001"));
  EXPECT_THAT(launched_, IsEmpty());
}

// A result address that would fault is refused before the launch, as it would end the context.
TEST_F(KernelsTest, MisalignedResultIsInvalid) {
  Kernels kernels = LoadOrDie();
  const DeviceAddress bad(0x2004), word(0x1000);
  EXPECT_THAT(kernels.Verify(kStream, Range(0x1000, 8), 0, bad), IsInvalid("result", "0x2004"));
  EXPECT_THAT(kernels.AliasWriteThenRead(kStream, word, word, 1, true, true, bad),
              IsInvalid("result", "0x2004"));
  EXPECT_THAT(launched_, IsEmpty());
}

// Each of the two addresses of an alias test must be that of a word.
TEST_F(KernelsTest, MisalignedAliasIsInvalid) {
  Kernels kernels = LoadOrDie();
  const DeviceAddress bad(0x1003), word(0x1000), result(0x2000);
  EXPECT_THAT(kernels.AliasWriteThenRead(kStream, bad, word, 1, true, true, result),
              IsInvalid(": a is", "0x1003"));
  EXPECT_THAT(kernels.AliasWriteThenRead(kStream, word, bad, 1, true, true, result),
              IsInvalid(": b is", "0x1003"));
  EXPECT_THAT(launched_, IsEmpty());
}

// The other trials refuse the same, and a turn or a board that is not made of words.
TEST_F(KernelsTest, MisalignedArgumentsOfTrialsAreInvalid) {
  Kernels kernels = LoadOrDie();
  const DeviceAddress bad(0x1003), word(0x1000), result(0x2000);
  const auto in_turns = [&](DeviceAddress a, DeviceAddress turn) {
    return kernels.AliasWriteThenReadInTurns(kStream, Kernels::AliasRole::kBoth, a, word, turn, 1,
                                             true, AliasFence::kNone, result);
  };
  EXPECT_THAT(
      kernels.AliasWriteThenReadInBlock(kStream, word, bad, 1, true, AliasFence::kNone, result),
      IsInvalid(": b is", "0x1003"));
  EXPECT_THAT(in_turns(bad, word), IsInvalid(": a is", "0x1003"));
  EXPECT_THAT(in_turns(word, bad), IsInvalid(": turn is", "0x1003"));
  EXPECT_THAT(kernels.Obey(kStream, word, bad, 1), IsInvalid(": board is", "0x1003"));
  EXPECT_THAT(launched_, IsEmpty());
}

// The executor's error for a launch is passed on unchanged.
TEST_F(KernelsTest, LaunchErrorIsPassedOn) {
  Kernels kernels = LoadOrDie();
  absl::Status fault = absl::DataLossError("context is broken");
  fault.SetPayload("some/type", absl::Cord("detail"));
  EXPECT_CALL(executor_, Launch).WillOnce(Return(fault));
  EXPECT_EQ(kernels.Fill(kStream, Range(0x1000, 8), 0), fault);
}

// When the reset of the result cannot be launched, Verify does not count.
TEST_F(KernelsTest, VerifyStopsWhenResetFails) {
  Kernels kernels = LoadOrDie();
  EXPECT_CALL(executor_, Launch).WillOnce(Return(absl::DataLossError("broken")));
  EXPECT_EQ(kernels.Verify(kStream, Range(0x1000, 8), 0, DeviceAddress(0x2000)),
            absl::DataLossError("broken"));
}

// --- The PTX text --------------------------------------------------------------------------------

// The accesses and fences of inline assembly in the body of kernel `name`, in the order of the
// text.
std::vector<std::string> InlineInstructions(const std::string& name) {
  std::vector<std::string> found;
  for (absl::string_view ptx : Kernels::PtxTexts()) {
    const size_t start = ptx.find(absl::StrCat(".entry ", name, "("));
    if (start == absl::string_view::npos) continue;
    bool inside = false;
    for (absl::string_view line : absl::StrSplit(ptx.substr(start), '\n')) {
      if (line == "}") break;
      if (absl::StrContains(line, "end inline asm")) inside = false;
      if (inside) {
        const std::vector<absl::string_view> words =
            absl::StrSplit(line, absl::ByAnyChar("\t ;"), absl::SkipEmpty());
        found.push_back(std::string(words[0]));
      }
      if (absl::StrContains(line, "begin inline asm")) inside = true;
    }
  }
  return found;
}

// The unfenced kernel has its warming load, its store and its second load, and nothing between the
// store and the second load: nvcc dropped and moved none of them.
TEST(PtxTest, UnfencedAliasKernelKeepsItsAccesses) {
  EXPECT_THAT(InlineInstructions("twinmmu_alias_unfenced"),
              ElementsAre("ld.global.ca.u32",   // the value at the start
                          "fence.proxy.alias",  // between rounds
                          "ld.global.ca.u32", "st.global.u32", "ld.global.ca.u32"));
}

// The fenced kernel differs from the unfenced one by exactly one fence, after the store.
TEST(PtxTest, FencedAliasKernelHasTheFenceAfterTheStore) {
  EXPECT_THAT(InlineInstructions("twinmmu_alias_fenced"),
              ElementsAre("ld.global.ca.u32", "fence.proxy.alias", "ld.global.ca.u32",
                          "st.global.u32", "fence.proxy.alias", "ld.global.ca.u32"));
}

// A thread of a block closes the round, warms, stores and fences, fences and reads: in this order.
TEST(PtxTest, BlockKernelKeepsItsAccesses) {
  const std::vector<std::string> found = InlineInstructions("twinmmu_alias_block");
  const std::vector<std::string> round(found.end() - 6, found.end());
  EXPECT_THAT(round, ElementsAre("fence.proxy.alias", "ld.global.ca.u32", "st.global.u32",
                                 "fence.proxy.alias", "fence.proxy.alias", "ld.global.ca.u32"));
}

// Turns are handed over with the scope of the system; the writer's fence is before its
// release, and the reader's after its acquire.
TEST(PtxTest, PairKernelFencesOutsideTheTurns) {
  EXPECT_THAT(
      InlineInstructions("twinmmu_alias_pair"),
      ElementsAre(  // the reader
          "ld.global.ca.u32", "fence.proxy.alias", "ld.global.ca.u32", "st.release.sys.global.u32",
          "ld.acquire.sys.global.u32", "fence.proxy.alias", "ld.global.ca.u32",
          // the writer
          "ld.global.ca.u32", "ld.acquire.sys.global.u32", "fence.proxy.alias", "st.global.u32",
          "fence.proxy.alias", "st.release.sys.global.u32"));
}

// The order, the word and the board are read and written in memory in each round.
TEST(PtxTest, ObeyKernelKeepsItsAccesses) {
  EXPECT_THAT(InlineInstructions("twinmmu_obey"),
              ElementsAre("ld.relaxed.sys.global.u32", "ld.relaxed.sys.global.u32",
                          "ld.global.ca.u32", "st.relaxed.sys.global.u32",
                          "atom.relaxed.sys.global.add.u32", "st.relaxed.sys.global.u32",
                          "st.relaxed.sys.global.u32", "st.release.sys.global.u32"));
}

// No text uses the read-only path, which the memory model leaves out, or a volatile access.
TEST(PtxTest, AccessesAreOrdinary) {
  for (absl::string_view ptx : Kernels::PtxTexts()) {
    EXPECT_THAT(std::string(ptx), Not(HasSubstr(".nc")));
    EXPECT_THAT(std::string(ptx), Not(HasSubstr(".volatile")));
  }
}

// Fill and verify move 16 bytes at a time: four loads are in flight before verify looks at one.
TEST(PtxTest, BulkAccessesAreVectors) {
  const std::string text(Kernels::PtxTexts()[0]);
  EXPECT_TRUE(std::regex_search(text, std::regex("st\\.global\\.v4\\.u32")));
  EXPECT_TRUE(
      std::regex_search(text, std::regex("(\tld\\.global\\.v4\\.u32[^\n]*\n(\tadd[^\n]*\n)?){4}")));
}

// Each text compiles for every GPU from the oldest one on that the compiler knows.
TEST(PtxTest, TargetIsTheOldest) {
  for (absl::string_view ptx : Kernels::PtxTexts()) {
    EXPECT_THAT(std::string(ptx), AllOf(HasSubstr(".target sm_75"), HasSubstr("V13.0.88")));
  }
}

// No text holds file names, so it is the same wherever it is made.
TEST(PtxTest, HasNoFileNames) {
  for (absl::string_view ptx : Kernels::PtxTexts()) {
    EXPECT_THAT(std::string(ptx), AllOf(Not(HasSubstr(".file")), Not(HasSubstr(".cu"))));
  }
}

// --- The fill word -------------------------------------------------------------------------------

// The words are part of the contract: recordings hold digests of filled memory.
TEST(FillWordTest, ValuesAreFixed) {
  EXPECT_EQ(FillWord(0, 0), 0x64af68c4u);
  EXPECT_EQ(FillWord(0, 1), 0x25d8c873u);
  EXPECT_EQ(FillWord(1, 0), 0x6de7c0b1u);
  EXPECT_EQ(FillWord(0xfedcba9876543210, 0x123456789), 0x5102f427u);
}

// Neighbouring words, and words whose index differs only in the upper half, all differ.
TEST(FillWordTest, WordsOfOneSeedDiffer) {
  std::set<uint32_t> low;
  std::set<uint32_t> high;
  constexpr uint64_t kCount = 1 << 16;
  for (uint64_t i = 0; i < kCount; ++i) {
    low.insert(FillWord(5, i));
    high.insert(FillWord(5, i << 32));
  }
  EXPECT_EQ(low.size(), kCount);
  EXPECT_EQ(high.size(), kCount);
}

// Two seeds, even neighbours, agree on no more words than chance.
TEST(FillWordTest, SeedsDiffer) {
  int equal = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    for (uint64_t i = 0; i < 100; ++i) equal += FillWord(seed, i) == FillWord(seed + 1, i) ? 1 : 0;
  }
  EXPECT_LE(equal, 1);  // 100,000 pairs of 32-bit words: 0.00002 expected
}

// Each bit of the words is set about half the time, so that a stuck bit or a zeroed page shows.
TEST(FillWordTest, BitsAreBalanced) {
  constexpr int kCount = 1 << 16;
  for (int bit = 0; bit < 32; ++bit) {
    int set = 0;
    for (uint64_t i = 0; i < kCount; ++i) set += (FillWord(1, i) >> bit) & 1;
    EXPECT_NEAR(set, kCount / 2, kCount / 50) << bit;
  }
}

}  // namespace
}  // namespace twinmmu
