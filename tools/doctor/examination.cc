#include "tools/doctor/examination.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/address.h"

namespace twinmmu {
namespace {

constexpr char kSimulator[] = "simulator";
constexpr char kLibrary[] = "simulated driver";
constexpr char kFolder[] = "temporary folder";
constexpr char kSharedMemory[] = "/dev/shm";
constexpr char kAddressSpace[] = "address space";
constexpr char kPidfd[] = "pidfd_getfd";
constexpr char kDriver[] = "driver";
constexpr char kDevices[] = "device files";
constexpr char kImex[] = "IMEX channels";
constexpr char kLockedMemory[] = "locked memory";
constexpr char kToolkit[] = "CUDA toolkit";
constexpr char kAddr2line[] = "addr2line";

// A report of a run that finds less room is kept elsewhere.
constexpr uint64_t kRoomForReports = uint64_t{32} << 20;

Finding Good(const char* what, std::string detail) {
  return {what, Health::kGood, std::move(detail), ""};
}

std::string Size(uint64_t bytes) { return ToString(Bytes(bytes >> 20 << 20)); }

Finding SimulatorOf(const Host& host) {
  const absl::Status made = host.simulate();
  if (made.ok()) return Good(kSimulator, "a machine of the profile reference can be made");
  return {kSimulator, Health::kMissing, std::string(made.message()),
          "Raise the limits of this process (ulimit -v unlimited; of a container, its memory). "
          "--profile=full-address-space needs no window of addresses."};
}

Finding LibraryOf(const Host& host) {
  const absl::Status loaded = host.load_library();
  if (loaded.ok()) return Good(kLibrary, "its library can be loaded");
  return {kLibrary, Health::kMissing, std::string(loaded.message()),
          "Free memory, and allow memfd_create."};
}

Finding FolderOf(const Host& host) {
  const std::string set = host.variable("TMPDIR");
  std::vector<std::string> places = {"/tmp", "/var/tmp", "/dev/shm"};
  if (absl::StartsWith(set, "/")) places.insert(places.begin(), set);
  for (const std::string& place : places) {
    if (host.CanReadAndWrite(place) && host.allows_code(host.Path(place))) {
      return Good(kFolder, absl::StrCat(place, " can be written, and allows running code"));
    }
  }
  return {kFolder, Health::kMissing,
          absl::StrCat("none of ", absl::StrJoin(places, ", "),
                       " can be written and allows running code"),
          "Set TMPDIR to a folder that can be written, on a file system without noexec."};
}

Finding SharedMemoryOf(const Host& host) {
  const std::string path = "/dev/shm";
  if (!host.CanReadAndWrite(path)) {
    return {kSharedMemory, Health::kLimited,
            host.Exists(path) ? "cannot be written" : "there is none",
            "Give the container a writable /dev/shm. Without it, the reports of run are kept in "
            "the temporary folder, and fabric handles do not work between simulated processes."};
  }
  const uint64_t room = host.free_bytes(host.Path(path));
  if (room >= kRoomForReports) return Good(kSharedMemory, Size(room) + " are free");
  return {kSharedMemory, Health::kLimited, absl::StrCat("only ", Size(room), " are free"),
          "Free some of it, or give the container more (--shm-size=1g). Reports of run are kept "
          "in the temporary folder meanwhile."};
}

Finding AddressSpaceOf(const Host& host) {
  if (!host.address_space.has_value()) return Good(kAddressSpace, "not limited");
  return {kAddressSpace, Health::kLimited, absl::StrCat("limited to ", Size(*host.address_space)),
          "ulimit -v unlimited: each simulated machine claims a window of addresses."};
}

Finding PidfdOf(const Host& host) {
  const absl::Status taken = host.take_descriptor();
  if (!taken.ok()) {
    return {kPidfd, Health::kLimited, std::string(taken.message()),
            "Share by SendShareableHandle, which needs no permission, or run the container with "
            "the capability SYS_PTRACE."};
  }
  const std::string scope = host.FirstLine("/proc/sys/kernel/yama/ptrace_scope");
  if (scope.empty() || scope == "0") return Good(kPidfd, "allowed between processes of one user");
  if (scope == "1") {
    return Good(kPidfd,
                "allowed from children; others call prctl(PR_SET_PTRACER) first "
                "(kernel.yama.ptrace_scope is 1)");
  }
  return {kPidfd, Health::kLimited,
          absl::StrCat("only with a capability: kernel.yama.ptrace_scope is ", scope),
          "Share by SendShareableHandle, which needs no permission."};
}

Finding DriverOf(const Host& host) {
  const absl::StatusOr<DriverFacts> driver = host.driver();
  if (!driver.ok()) {
    return {kDriver, Health::kMissing, std::string(driver.status().message()),
            "Install the NVIDIA driver, start the container with its libraries "
            "(--gpus=all), or name the library by --driver. The simulator does not need it."};
  }
  const std::string functions = absl::StrCat(driver->functions_found, " of ", driver->functions,
                                             " functions found in ", driver->library);
  if (!driver->usable.ok()) {
    return {kDriver, Health::kMissing, absl::StrCat(driver->usable.message(), "; ", functions),
            "`twinmmu info` says more. See also the device files."};
  }
  std::string detail =
      absl::StrCat("CUDA ", driver->version / 1000, ".", driver->version % 1000 / 10, ", ",
                   driver->devices.size(), driver->devices.size() == 1 ? " device (" : " devices (",
                   absl::StrJoin(driver->devices, ", "), "), ", functions);
  if (driver->functions_found == driver->functions) return Good(kDriver, std::move(detail));
  return {kDriver, Health::kLimited, std::move(detail),
          "The driver is older than some functions: `twinmmu info` lists them. Calls that need "
          "them are refused, all others work."};
}

bool IsDeviceFile(const std::string& name) {
  return absl::StartsWith(name, "nvidia") && name.size() > 6 && name[6] >= '0' && name[6] <= '9';
}

Finding DevicesOf(const Host& host) {
  std::vector<std::string> found, refused;
  for (const std::string& name : host.List("/dev")) {
    if (!IsDeviceFile(name) && name != "nvidiactl" && name != "nvidia-uvm") continue;
    const std::string path = "/dev/" + name;
    (host.CanReadAndWrite(path) ? found : refused).push_back(path);
  }
  if (!refused.empty()) {
    return {kDevices, Health::kLimited,
            absl::StrCat("may not be opened: ", absl::StrJoin(refused, ", ")),
            "Join the group that owns them (ls -l shows it), or run as a user who may."};
  }
  if (!found.empty()) return Good(kDevices, absl::StrJoin(found, ", "));
  return {kDevices, Health::kMissing, "there is no /dev/nvidia0",
          "With a GPU, load the kernel module (nvidia-modprobe), or pass the devices to the "
          "container. The simulator does not need them."};
}

Finding ImexOf(const Host& host) {
  const std::string folder = "/dev/nvidia-caps-imex-channels";
  std::vector<std::string> channels;
  for (const std::string& name : host.List(folder)) {
    if (host.CanReadAndWrite(absl::StrCat(folder, "/", name))) channels.push_back(name);
  }
  if (!channels.empty()) return Good(kImex, absl::StrJoin(channels, ", "));
  return {kImex, Health::kMissing,
          host.Exists(folder) ? "none may be opened" : absl::StrCat("there is no ", folder),
          "Only fabric handles on GPUs need them: nvidia-modprobe -c 0 makes channel 0, and its "
          "file must be readable and writable. The simulator has --profile=fabric-domain."};
}

Finding LockedMemoryOf(const Host& host) {
  if (!host.locked_memory.has_value()) return Good(kLockedMemory, "not limited");
  return Good(kLockedMemory,
              absl::StrCat("limited to ", ToString(Bytes(*host.locked_memory)),
                           "; matters only to programs that lock memory themselves, as for RDMA "
                           "(ulimit -l)"));
}

Finding ToolkitOf(const Host& host) {
  std::vector<std::string> folders = {"/usr/local/cuda/bin"};
  for (const char* const name : {"CUDA_HOME", "CUDA_PATH"}) {
    const std::string set = host.variable(name);
    if (!set.empty()) folders.insert(folders.begin(), set + "/bin");
  }
  const std::string nvcc = host.FindProgram("nvcc", folders);
  if (!nvcc.empty()) return Good(kToolkit, nvcc);
  return {kToolkit, Health::kMissing, "there is no nvcc",
          "Nothing here needs it, except to rebuild kernels of your own."};
}

Finding Addr2lineOf(const Host& host) {
  const std::string path = host.FindProgram("addr2line", {});
  if (!path.empty()) return Good(kAddr2line, path);
  return {kAddr2line, Health::kMissing, "it is not in PATH",
          "Install binutils: without it, reports of run name functions, but no lines."};
}

// The worst of the findings that a command rests on.
Ability AbilityOf(const Examination& examination, const char* command,
                  const std::vector<const char*>& needs) {
  Ability ability{command, Health::kGood, ""};
  for (const char* const need : needs) {
    const Finding& finding = examination.Of(need);
    if (finding.health <= ability.health) continue;
    ability.health = finding.health;
    ability.reason = absl::StrCat(finding.what, ": ", ToString(finding.health));
  }
  return ability;
}

}  // namespace

const char* ToString(Health health) {
  switch (health) {
    case Health::kGood:
      return "good";
    case Health::kLimited:
      return "limited";
    case Health::kMissing:
      return "missing";
  }
  return "?";
}

bool Examination::simulator_works() const { return Of(kSimulator).health == Health::kGood; }

const Finding& Examination::Of(const std::string& what) const {
  return *std::find_if(findings.begin(), findings.end(),
                       [&](const Finding& finding) { return finding.what == what; });
}

Examination Examine(const Host& host) {
  Examination examination;
  examination.findings = {SimulatorOf(host),    LibraryOf(host),      FolderOf(host),
                          SharedMemoryOf(host), AddressSpaceOf(host), PidfdOf(host),
                          DriverOf(host),       DevicesOf(host),      ImexOf(host),
                          LockedMemoryOf(host), ToolkitOf(host),      Addr2lineOf(host)};
  const auto add = [&](const char* command, const std::vector<const char*>& needs) {
    examination.abilities.push_back(AbilityOf(examination, command, needs));
  };
  add("conformance, random, soak, deviations, litmus, record, info with --backend=sim",
      {kSimulator});
  add("replay", {kSimulator});
  add("conformance, soak, litmus with --backend=cuda_on_sim", {kSimulator, kLibrary});
  add("run", {kSimulator, kFolder, kSharedMemory});
  add("everything with --backend=cuda", {kDriver, kDevices});
  add("fabric handles with --backend=cuda", {kDriver, kImex});
  add("sharing by pidfd_getfd", {kPidfd});
  add("compare, ptx, new-test, completion, manual", {});
  return examination;
}

}  // namespace twinmmu
