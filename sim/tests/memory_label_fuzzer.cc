// Any label of a memory file: it is refused, or the memory can be used. The first byte says how
// long the file is, the second how the rest is changed first.

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "absl/types/span.h"
#include "sim/host/memory_label.h"
#include "sim/profile/profile.h"
#include "sim/simulator.h"

namespace {

using twinmmu::AddressRange;
using twinmmu::AllocationHandle;
using twinmmu::Bytes;
using twinmmu::FingerprintOf;
using twinmmu::MemoryLabel;
using twinmmu::MiB;
using twinmmu::Profile;
using twinmmu::ReadLabel;
using twinmmu::ShareableHandle;
using twinmmu::Simulator;
using twinmmu::Vmm;

using Words = std::array<uint64_t, 20>;

Simulator& Machine() {
  static Simulator* const machine = Simulator::Create(Profile::ReferenceH200(2))->release();
  return *machine;
}

int Forge(uint64_t length, const Words& words) {
  const int file = memfd_create("forged", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  const uint64_t room = twinmmu::kLabelRoom.value();
  if (file < 0 || ftruncate(file, static_cast<off_t>(length + room)) != 0 ||
      pwrite(file, words.data(), sizeof(words), static_cast<off_t>(length)) != sizeof(words) ||
      fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    std::abort();
  }
  return file;
}

// What is read of a label is all that is in it.
void CheckReading(int file) {
  const auto label = ReadLabel(file);
  if (!label.ok()) return;
  Words before = {}, after = {};
  const auto at = static_cast<off_t>(label->size.value());
  if (pread(file, before.data(), sizeof(before), at) != sizeof(before) ||
      !WriteLabel(file, *label).ok() ||
      pread(file, after.data(), sizeof(after), at) != sizeof(after) || before != after) {
    std::abort();
  }
}

void Use(Vmm& vmm, AllocationHandle handle, Bytes size) {
  const auto range = vmm.AddressReserve(size);
  if (!range.ok()) return;
  if (vmm.Map(*range, handle).ok() && !vmm.Unmap(*range).ok()) std::abort();
  if (!vmm.AddressFree(*range).ok()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const uint64_t length =
      data[0] % 2 == 0 ? MiB(2).value() * (1 + data[0] / 64) : 4096 * uint64_t{data[0]};
  Words words = {};
  std::memcpy(words.data(), data + 2, std::min(size - 2, sizeof(words)));
  // What a random label hardly ever has.
  if ((data[1] & 1) != 0) words[3] = length;
  if ((data[1] & 2) == 0) {
    const auto* const bytes = reinterpret_cast<const uint8_t*>(words.data());
    words.back() = FingerprintOf(absl::MakeSpan(bytes, sizeof(words) - sizeof(uint64_t)));
  }
  const int file = Forge(length, words);
  CheckReading(file);
  Vmm& vmm = **Machine().vmm();
  const auto handle = vmm.ImportShareableHandle(ShareableHandle::FileDescriptor(file));
  if (handle.ok()) {
    Use(vmm, *handle, Bytes(length));
    if (!vmm.Release(*handle).ok()) std::abort();
  }
  close(file);
  return 0;
}
