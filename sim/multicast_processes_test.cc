// Multicast objects in several processes, each with a simulator and a device of its own.

#include <memory>
#include <string>
#include <vector>

#include "sim/team_machine.h"

namespace twinmmu {
namespace {

using ::testing::HasSubstr;

// What a kernel of one process stores is in the memory that the other one bound, and what each has
// is in the sum.
TEST(MulticastProcessesTest, ReachTheMemoryThatOthersBound) {
  OtherProcess importer([](Line& line) {
    TeamMachine machine(1);
    machine.TakeObject(Get(line));
    EXPECT_THAT(machine.AddDevice(), IsOk());
    Say(line);
    Await(line);
    EXPECT_THAT(machine.Bind(), IsOk());
    machine.MapObject();
    machine.Set(1, 20);
    Say(line);
    Await(line);
    EXPECT_THAT(machine.StoreToAll(0, 7), IsOk());
    Say(line);
    Await(line);
  });
  TeamMachine machine(0);
  Give(importer.line(), machine.CreateObject());
  EXPECT_THAT(machine.AddDevice(), IsOk());
  Await(importer.line());
  Say(importer.line());
  EXPECT_THAT(machine.Bind(), IsOk());
  machine.MapObject();
  machine.Set(1, 10);
  Await(importer.line());
  Say(importer.line());
  Await(importer.line());
  EXPECT_EQ(machine.Get(0), 7u);
  EXPECT_THAT(machine.SumOfAll(1), IsOkAndHolds(30u));
  Say(importer.line());
  EXPECT_TRUE(importer.Succeeds());
}

}  // namespace
}  // namespace twinmmu
