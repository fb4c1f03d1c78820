#include "sim/window.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace twinmmu {
namespace {

constexpr int kNothing = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

void* Pointer(DeviceAddress address) { return reinterpret_cast<void*>(address.value()); }

}  // namespace

absl::StatusOr<Window> Window::Make(const WindowProfile& profile, Bytes alignment) {
  if (!profile.claimed) {
    return Window(AddressRange{profile.base, profile.size, alignment}, false);
  }
  const uint64_t size = profile.size.value();
  const uint64_t slack = alignment.value();
  void* const claim = mmap(nullptr, size + slack, PROT_NONE, kNothing, -1, 0);
  if (claim == MAP_FAILED) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the host has no ", ToString(profile.size),
                     " of address space left for the window: ", std::strerror(errno)));
  }
  const auto claim_base = reinterpret_cast<uint64_t>(claim);
  const DeviceAddress base(RoundUp(Bytes(claim_base), alignment).value());
  const uint64_t before = base.value() - claim_base;
  if (before != 0) munmap(claim, before);
  if (before != slack) munmap(Pointer(base + profile.size), slack - before);
  return Window(AddressRange{base, profile.size, alignment}, true);
}

Window::Window(Window&& other) noexcept
    : range_(other.range_), claimed_(std::exchange(other.claimed_, false)) {}

Window::~Window() {
  if (claimed_) munmap(Pointer(range_.base), range_.size.value());
}

absl::Status Window::Show(const AddressRange& range, char* memory, Access access) const {
  // A shared mapping that is remapped from size 0 is mapped a second time.
  void* const shown =
      mremap(memory, 0, range.size.value(), MREMAP_MAYMOVE | MREMAP_FIXED, Pointer(range.base));
  const int protection = access == Access::kReadWrite ? PROT_READ | PROT_WRITE : PROT_READ;
  if (shown != MAP_FAILED && mprotect(shown, range.size.value(), protection) == 0) {
    return absl::OkStatus();
  }
  const absl::Status status = absl::ResourceExhaustedError(absl::StrCat(
      "the host refused to map memory at ", ToString(range), ": ", std::strerror(errno)));
  Hide(range);
  return status;
}

void Window::Hide(const AddressRange& range) const {
  mmap(Pointer(range.base), range.size.value(), PROT_NONE, kNothing | MAP_FIXED, -1, 0);
}

}  // namespace twinmmu
