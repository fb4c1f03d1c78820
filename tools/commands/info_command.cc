#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "api/driver.h"
#include "backend/cuda_driver.h"
#include "backend/driver_table.h"
#include "backend/loader.h"
#include "sim/simulator.h"
#include "tools/commands/commands.h"
#include "tools/commands/each_backend.h"
#include "tools/commands/failure.h"
#include "tools/commands/machines.h"

namespace twinmmu {
namespace {

// A value, or in its place what the driver said instead.
template <typename T>
std::string Show(const absl::StatusOr<T>& value) {
  if (!value.ok()) return std::string(value.status().message());
  return absl::StrCat(*value);
}

std::string Show(const absl::StatusOr<Bytes>& bytes) {
  return bytes.ok() ? ToString(*bytes) : std::string(bytes.status().message());
}

template <typename T>
OrderedJson ToJson(const absl::StatusOr<T>& value) {
  if (!value.ok()) return {{"error", value.status().message()}};
  return *value;
}

OrderedJson ToJson(const absl::StatusOr<Bytes>& bytes) {
  if (!bytes.ok()) return {{"error", bytes.status().message()}};
  return bytes->value();
}

std::string Version(int version) {
  return absl::StrCat(version / 1000, ".", version % 1000 / 10, " (", version, ")");
}

// Prints what a driver and its devices can do, and notes the same as JSON.
class Describer {
 public:
  Describer(Vmm& vmm, std::ostream& out) : vmm_(vmm), out_(out) {}

  OrderedJson Describe() {
    OrderedJson json;
    const absl::StatusOr<int> version = vmm_.GetDriverVersion();
    out_ << "driver: CUDA " << (version.ok() ? Version(*version) : Show(version)) << "\n";
    json["driver_version"] = ToJson(version);
    const absl::StatusOr<int> count = vmm_.GetDeviceCount();
    out_ << "devices: " << Show(count) << "\n";
    if (!count.ok()) {
      json["devices"] = ToJson(count);
      return json;
    }
    out_ << "host:\n";
    json["host"]["granularity"] = Granularities(Location::HostNuma(0));
    json["devices"] = OrderedJson::array();
    for (int i = 0; i < *count; ++i) json["devices"].push_back(Device(DeviceOrdinal(i), *count));
    return json;
  }

 private:
  OrderedJson Granularities(const Location& location) {
    AllocationProperties properties;
    properties.location = location;
    const auto minimum = vmm_.GetAllocationGranularity(properties, Granularity::kMinimum);
    const auto recommended = vmm_.GetAllocationGranularity(properties, Granularity::kRecommended);
    out_ << absl::StreamFormat("  granularity of %s: minimum %s, recommended %s\n",
                               ToString(location), Show(minimum), Show(recommended));
    return {{"minimum", ToJson(minimum)}, {"recommended", ToJson(recommended)}};
  }

  OrderedJson Memory(DeviceOrdinal device) {
    const absl::StatusOr<MemoryInfo> memory = vmm_.GetMemoryInfo(device);
    if (!memory.ok()) {
      out_ << "  memory: " << memory.status().message() << "\n";
      return {{"error", memory.status().message()}};
    }
    out_ << absl::StreamFormat("  memory: %.1f GiB, %.1f GiB of it free\n",
                               memory->total.value() / double{1 << 30},
                               memory->free.value() / double{1 << 30});
    return {{"total", memory->total.value()}, {"free", memory->free.value()}};
  }

  OrderedJson Device(DeviceOrdinal device, int device_count) {
    const absl::StatusOr<std::string> name = vmm_.GetDeviceName(device);
    out_ << "\n" << device << ": " << Show(name) << "\n";
    OrderedJson json = {{"ordinal", device.value()}, {"name", ToJson(name)}};
    json["memory"] = Memory(device);
    json["granularity"] = Granularities(Location::Device(device));
    json["peers"] = OrderedJson::object();
    for (int peer = 0; peer < device_count; ++peer) {
      if (peer == device.value()) continue;
      const absl::StatusOr<bool> reaches = vmm_.CanAccessPeer(device, DeviceOrdinal(peer));
      out_ << "  can access the memory of device " << peer << ": "
           << (reaches.ok() ? (*reaches ? "yes" : "no") : Show(reaches)) << "\n";
      json["peers"][absl::StrCat(peer)] = ToJson(reaches);
    }
    for (const DeviceAttribute attribute : AllDeviceAttributes()) {
      const absl::StatusOr<int> value = vmm_.GetDeviceAttribute(attribute, device);
      out_ << absl::StreamFormat("  %-46s %s\n", ToString(attribute), Show(value));
      json["attributes"][ToString(attribute)] = ToJson(value);
    }
    return json;
  }

  Vmm& vmm_;
  std::ostream& out_;
};

OrderedJson DescribeDriver(Driver& driver, std::ostream& out) {
  const absl::StatusOr<Vmm*> vmm = driver.vmm();
  if (vmm.ok()) return Describer(**vmm, out).Describe();
  out << vmm.status().message() << "\n";
  return {{"error", vmm.status().message()}};
}

const char* Describe(SymbolState state) {
  switch (state) {
    case SymbolState::kFound:
      return "found";
    case SymbolState::kTooOld:
      return "too old";
    case SymbolState::kMissing:
      return "missing";
  }
  return "?";
}

// Each function of the driver that the backend uses.
OrderedJson DescribeFunctions(const DriverTable& table, std::ostream& out) {
  out << "\nfunctions of " << table.library << ":\n";
  OrderedJson functions;
  ForEachSymbol([&](auto, Symbol symbol) {
    const SymbolInfo& info = Info(symbol);
    const char* const state = Describe(StateOf(table, symbol));
    out << absl::StreamFormat("  %-40s since CUDA %-14s %s\n", info.name, Version(info.version),
                              state);
    functions[info.name] = {{"since", info.version}, {"state", state}};
  });
  return functions;
}

// Each returns the exit code, and describes the backend in `json`.
int DescribeSimulator(const Profile& profile, std::ostream& out, OrderedJson& json) {
  absl::StatusOr<std::unique_ptr<Simulator>> simulator = Simulator::Create(profile);
  if (!simulator.ok()) return Fail(simulator.status());
  out << "backend: sim\n";
  json.update(DescribeDriver(**simulator, out));
  return 0;
}

int DescribeCuda(const std::string& library, std::ostream& out, OrderedJson& json) {
  // The library by itself first: where it cannot be initialised, what it holds is still of use.
  const absl::StatusOr<DriverTable> table = LoadDriver(library);
  if (!table.ok()) {
    json["error"] = table.status().message();
    return Fail(table.status());
  }
  out << "backend: cuda, " << table->library << "\n";
  json["library"] = table->library;
  absl::StatusOr<std::unique_ptr<Driver>> driver = MakeCudaDriver(*table);
  if (driver.ok()) {
    json.update(DescribeDriver(**driver, out));
  } else {
    json["error"] = driver.status().message();
    Fail(driver.status());
  }
  json["functions"] = DescribeFunctions(*table, out);
  return driver.ok() ? 0 : 1;
}

}  // namespace

int InfoCommand(const Options& options, Screen& screen) {
  const auto describe = [&](const std::string& backend, OrderedJson& json) -> absl::StatusOr<int> {
    if (backend == "cuda") return DescribeCuda(options.machine.driver, screen.text(), json);
    const absl::StatusOr<Profile> profile = ChosenProfile(options.machine);
    if (!profile.ok()) return profile.status();
    return DescribeSimulator(*profile, screen.text(), json);
  };
  return OnEachBackend(options, "cuda", {"sim", "cuda"}, screen, describe);
}

}  // namespace twinmmu
