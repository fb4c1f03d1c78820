#include "conformance/litmus/litmus_stage.h"

#include <set>

#include "conformance/litmus/litmus_control.h"
#include "conformance/litmus/litmus_placement.h"

namespace twinmmu {

LitmusStage::~LitmusStage() {
  // Nothing may run when its memory goes.
  SynchronizeAll().IgnoreError();
  for (const Module module : modules_) executor_.UnloadModule(module).IgnoreError();
}

absl::Status LitmusStage::SynchronizeAll() {
  absl::Status status;
  for (const DeviceOrdinal device : devices_) status.Update(executor_.SynchronizeDevice(device));
  return status;
}

std::vector<size_t> LitmusStage::AddressesOf(const std::vector<int>& locations,
                                             bool multicast) const {
  std::vector<size_t> addresses;
  for (size_t i = 0; i < program().addresses.size(); ++i) {
    const coherence::Address& address = program().addresses[i];
    if (address.multicast == multicast && address.locations == locations) addresses.push_back(i);
  }
  return addresses;
}

void LitmusStage::SetBases(const std::vector<size_t>& addresses,
                           const std::vector<DeviceAddress>& bases) {
  for (size_t i = 0; i < addresses.size(); ++i) bases_[addresses[i]] = bases[i];
}

absl::Status LitmusStage::MapAll(Bytes size) {
  const absl::StatusOr<std::vector<DeviceAddress>> control =
      memory_.New(Bytes(LitmusControl::kBytes), 1);
  if (!control.ok()) return control.status();
  control_ = control->front();
  bases_.resize(program().addresses.size());
  std::set<int> mapped;
  for (const coherence::Address& address : program().addresses) {
    if (!address.multicast || mapped.count(address.locations[0]) != 0) continue;
    const absl::Status status = MapReplicas(size, address.locations);
    if (!status.ok()) return status;
    mapped.insert(address.locations.begin(), address.locations.end());
  }
  for (int location = 0; location < static_cast<int>(program().locations.size()); ++location) {
    if (mapped.count(location) != 0) continue;
    const std::vector<size_t> addresses = AddressesOf({location}, /*multicast=*/false);
    const absl::StatusOr<std::vector<DeviceAddress>> bases = memory_.New(size, addresses.size());
    if (!bases.ok()) return bases.status();
    SetBases(addresses, *bases);
  }
  return absl::OkStatus();
}

absl::Status LitmusStage::MapReplicas(Bytes size, const std::vector<int>& locations) {
  std::vector<size_t> counts;
  for (const int location : locations) counts.push_back(AddressesOf({location}, false).size());
  const std::vector<size_t> multicast = AddressesOf(locations, /*multicast=*/true);
  const absl::StatusOr<LitmusReplicas> made =
      memory_.NewReplicas(*multicast_, size, counts, multicast.size());
  if (!made.ok()) return made.status();
  for (size_t i = 0; i < locations.size(); ++i) {
    SetBases(AddressesOf({locations[i]}, false), made->unicast[i]);
  }
  SetBases(multicast, made->multicast);
  return absl::OkStatus();
}

absl::Status LitmusStage::Prepare(uint32_t instances, const std::string& ptx) {
  absl::Status status = MapAll(Bytes(instances * kLitmusStride));
  if (status.ok()) {
    status = executor_.Fill(home(), control_, FillPattern{0, Bytes(4)}, LitmusControl::kBytes / 4);
  }
  // Another device would not wait for the fill.
  if (status.ok()) status = executor_.SynchronizeDevice(home());
  if (!status.ok()) return status;
  for (const DeviceOrdinal device : devices_) {
    const absl::StatusOr<Module> module = executor_.LoadModule(device, ptx);
    if (!module.ok()) return module.status();
    modules_.push_back(*module);
  }
  return absl::OkStatus();
}

absl::StatusOr<Kernel> LitmusStage::GetKernel(size_t device, absl::string_view name) {
  return executor_.GetKernel(modules_[device], name);
}

DeviceAddress LitmusStage::FirstAddressOf(int location) const {
  return bases_[UnicastAddressOf(program(), location)];
}

absl::StatusOr<std::vector<uint32_t>> LitmusStage::ReadWords(DeviceAddress from, size_t count) {
  std::vector<uint32_t> words(count);
  const absl::Status status =
      executor_.CopyDeviceToHost(home(), words.data(), from, Bytes(count * sizeof(uint32_t)));
  if (!status.ok()) return status;
  return words;
}

absl::StatusOr<uint64_t> LitmusStage::CountLate() {
  const absl::StatusOr<std::vector<uint32_t>> word = ReadWords(Control(LitmusControl::kErrors), 1);
  if (!word.ok()) return word.status();
  return uint64_t{word->front()};
}

}  // namespace twinmmu
