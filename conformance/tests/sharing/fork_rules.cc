// What a child made by fork can do with its parent's driver: nothing, and to no harm.

#include <sys/wait.h>
#include <unistd.h>

#include "conformance/fixtures/child_checks.h"
#include "conformance/fixtures/fixtures.h"
#include "conformance/framework/registry.h"

namespace twinmmu::conformance {
namespace {

class ForkTest : public MappedTest {
 protected:
  // Runs in the child, which has no other thread.
  [[noreturn]] void ExpectNotInitialized() {
    alarm(30);  // A lock that another thread of the parent held would never be given back.
    ChildChecks checks;
    const auto expect = [&](const char* call, const absl::Status& status) {
      checks.Expect(call, status, DriverCode::kNotInitialized);
    };
    const AddressRange rest = Granules(4, 4);
    expect("device count", vmm().GetDeviceCount().status());
    expect("memory info", vmm().GetMemoryInfo(device()).status());
    expect("granularity",
           vmm().GetAllocationGranularity(properties(), Granularity::kMinimum).status());
    expect("reserve", vmm().AddressReserve(granule()).status());
    expect("reserve nothing", vmm().AddressReserve(Bytes(0)).status());
    expect("create", vmm().Create(granule(), properties()).status());
    expect("map", vmm().Map(rest, handle()));
    expect("set access", Grant(mapping(), Access::kNone));
    expect("get access", vmm().GetAccess(here(), mapping().base).status());
    expect("retain", vmm().RetainAllocationHandle(mapping().base).status());
    expect("properties", vmm().GetAllocationProperties(handle()).status());
    expect("address range", vmm().GetAddressRange(device(), mapping().base).status());
    expect("write", Write(mapping(), 2));
    expect("fill", executor().Fill(device(), mapping().base, {}, 16));
    expect("create stream", executor().CreateStream(device()).status());
    expect("synchronise", executor().SynchronizeDevice(device()));
    expect("unmap", vmm().Unmap(mapping()));
    expect("release", vmm().Release(handle()));
    expect("free", vmm().AddressFree(reservation()));
    checks.Exit();
  }
};

}  // namespace

CONFORMANCE_TEST(ForkTest, FORK_1, AForkedChildIsNotInitialized) {
  ASSERT_THAT(Write(mapping(), 1), IsOk());
  const std::vector<std::string> before = StateOf(reservation());
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) ExpectNotInitialized();
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(ChildChecks::Passed()(status)) << "what the child saw stands on stderr";
  EXPECT_EQ(StateOf(reservation()), before);
  ExpectHolds(mapping(), 1);
}

}  // namespace twinmmu::conformance
