// An all-reduce by eight processes, as collective libraries do it: each has a simulator and one
// device, and none but the first has made the object.

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/substitute.h"
#include "sim/testing/team_machine.h"

namespace twinmmu {
namespace {

constexpr int kDevices = 8;
constexpr uint32_t kWords = 256;
constexpr uint32_t kWordsEach = kWords / kDevices;
constexpr uint32_t kCounter = kWords;  // the word where a device counts who has come

// All devices add to the counters of all, and each waits for its own. There are fences between what
// a thread does by the address of all and by its own.
std::string Barrier(int number) {
  return absl::Substitute(
      "fence.proxy.alias;\n"
      "multimem.red.release.sys.global.add.u32 [%rd1+$0], 1;\n"
      "fence.proxy.alias;\n"
      "look$1:\n"
      "ld.acquire.sys.global.u32 %r1, [%rd2+$0];\n"
      "setp.lt.u32 %p1, %r1, $2;\n"
      "@%p1 bra look$1;\n"
      "fence.proxy.alias;\n",
      4 * kCounter, number, number * kDevices);
}

// Sums up the part of the vector that is this device's, for all.
std::string SumOfPart(int device) {
  return absl::Substitute(
      "add.u64 %rd3, %rd1, $0;\n"
      "mov.u32 %r2, 0;\n"
      "sum:\n"
      "multimem.ld_reduce.relaxed.sys.global.add.u32 %r3, [%rd3];\n"
      "multimem.st.relaxed.sys.global.u32 [%rd3], %r3;\n"
      "add.u64 %rd3, %rd3, 4;\n"
      "add.u32 %r2, %r2, 1;\n"
      "setp.lt.u32 %p1, %r2, $1;\n"
      "@%p1 bra sum;\n",
      4 * kWordsEach * static_cast<uint32_t>(device), kWordsEach);
}

// From the object to the sum. `meet` returns when all processes have called it.
template <typename Meet>
void AllReduce(TeamMachine& machine, int device, const Meet& meet) {
  EXPECT_THAT(machine.AddDevice(), IsOk());
  EXPECT_THAT(machine.Bind(), IsOk());  // waits for the devices of the others
  machine.MapObject();
  for (uint32_t i = 0; i < kWords; ++i) machine.Set(i, (static_cast<uint32_t>(device) + 1) * i);
  machine.Set(kCounter, 0);
  meet();
  EXPECT_THAT(machine.Run(Barrier(1) + SumOfPart(device) + Barrier(2)), IsOk());
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < kWords; ++i) {
    wrong += machine.Get(i) != i * kDevices * (kDevices + 1) / 2;
  }
  EXPECT_EQ(wrong, 0u);
  EXPECT_THAT(machine.simulator().diagnostics(), testing::IsEmpty());
  meet();
}

TEST(MulticastAllReduceTest, EightProcessesHaveTheSum) {
  const auto profile = [] { return TeamMachine::ProfileOf(kDevices, 60'000); };
  std::vector<std::unique_ptr<OtherProcess>> others;
  for (int device = 1; device < kDevices; ++device) {
    others.push_back(std::make_unique<OtherProcess>([&, device](Line& line) {
      TeamMachine machine(device, profile());
      machine.TakeObject(Get(line));
      AllReduce(machine, device, [&] {
        Say(line);
        Await(line);
      });
    }));
  }
  TeamMachine machine(0, profile());
  const int descriptor = machine.CreateObject();
  for (const auto& other : others) Give(other->line(), dup(descriptor));
  close(descriptor);
  AllReduce(machine, 0, [&] {
    for (const auto& other : others) Await(other->line());
    for (const auto& other : others) Say(other->line());
  });
  for (const auto& other : others) EXPECT_TRUE(other->Succeeds());
}

}  // namespace
}  // namespace twinmmu
