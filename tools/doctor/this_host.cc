#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <memory>

#include "absl/strings/str_cat.h"
#include "api/driver.h"
#include "api/sharing/pidfd.h"
#include "backend/cuda_driver.h"
#include "backend/driver_table.h"
#include "backend/loader.h"
#include "sim/profile/profile.h"
#include "sim/simulator.h"
#include "tools/doctor/host.h"
#include "tools/run/driver_library.h"

namespace twinmmu {
namespace {

std::optional<uint64_t> LimitOf(int resource) {
  rlimit limit = {};
  if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return limit.rlim_cur;
}

uint64_t FreeBytes(const std::string& path) {
  struct statvfs info = {};
  return statvfs(path.c_str(), &info) == 0 ? uint64_t{info.f_bavail} * info.f_frsize : 0;
}

bool AllowsCode(const std::string& path) {
  struct statvfs info = {};
  return statvfs(path.c_str(), &info) == 0 && (info.f_flag & ST_NOEXEC) == 0;
}

absl::Status Simulate() { return Simulator::Create(Profile::ReferenceH200()).status(); }

// From a child of this process, which has the same files open.
absl::Status TakeDescriptor() {
  const pid_t child = fork();
  if (child < 0) return absl::ResourceExhaustedError("cannot start a process");
  if (child == 0) {
    pause();
    _exit(0);
  }
  const absl::Status taken = ReceiveByPidfd(child, STDERR_FILENO).status();
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return taken;
}

void AskDriver(Driver& driver, DriverFacts& facts) {
  const absl::StatusOr<Vmm*> vmm = driver.vmm();
  if (!vmm.ok()) return;
  facts.version = (*vmm)->GetDriverVersion().value_or(0);
  const int count = (*vmm)->GetDeviceCount().value_or(0);
  for (int i = 0; i < count; ++i) {
    facts.devices.push_back((*vmm)->GetDeviceName(DeviceOrdinal(i)).value_or("?"));
  }
}

absl::StatusOr<DriverFacts> FindDriver(const std::string& library) {
  const absl::StatusOr<DriverTable> table = LoadDriver(library);
  if (!table.ok()) return table.status();
  DriverFacts facts;
  facts.library = table->library;
  ForEachSymbol([&](auto, Symbol symbol) {
    ++facts.functions;
    facts.functions_found += StateOf(*table, symbol) == SymbolState::kFound ? 1 : 0;
  });
  const absl::StatusOr<std::unique_ptr<Driver>> driver = MakeCudaDriver(*table);
  facts.usable = driver.status();
  if (driver.ok()) AskDriver(**driver, facts);
  return facts;
}

}  // namespace

Host ThisHost(const std::string& driver_library) {
  Host host;
  host.variable = [](const char* name) -> std::string {
    const char* const value = std::getenv(name);
    return value == nullptr ? "" : value;
  };
  host.address_space = LimitOf(RLIMIT_AS);
  host.locked_memory = LimitOf(RLIMIT_MEMLOCK);
  host.free_bytes = FreeBytes;
  host.allows_code = AllowsCode;
  host.simulate = Simulate;
  host.load_library = [] { return LoadableDriverLibrary().status(); };
  host.take_descriptor = TakeDescriptor;
  host.driver = [driver_library] { return FindDriver(driver_library); };
  return host;
}

}  // namespace twinmmu
