#include "tools/litmus_stage.h"

#include "tools/litmus_control.h"

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

absl::Status LitmusStage::MapAll(Bytes size) {
  const absl::StatusOr<std::vector<DeviceAddress>> control =
      memory_.New(Bytes(LitmusControl::kBytes), 1);
  if (!control.ok()) return control.status();
  control_ = control->front();
  bases_.resize(program().addresses.size());
  for (size_t location = 0; location < program().locations.size(); ++location) {
    std::vector<size_t> of_location;
    for (size_t i = 0; i < program().addresses.size(); ++i) {
      if (program().addresses[i].locations[0] == static_cast<int>(location)) {
        of_location.push_back(i);
      }
    }
    const absl::StatusOr<std::vector<DeviceAddress>> bases = memory_.New(size, of_location.size());
    if (!bases.ok()) return bases.status();
    for (size_t i = 0; i < of_location.size(); ++i) bases_[of_location[i]] = (*bases)[i];
  }
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
  size_t i = 0;
  while (program().addresses[i].locations[0] != location) ++i;
  return bases_[i];
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
