#include "sim/host/window.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace twinmmu {
namespace {

constexpr int kNothing = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

void* Pointer(DeviceAddress address) { return reinterpret_cast<void*>(address.value()); }

int ProtectionFor(Access access) {
  return access == Access::kReadWrite ? PROT_READ | PROT_WRITE : PROT_READ;
}

absl::Status HostRefused(const char* what, const AddressRange& range, int error) {
  return absl::ResourceExhaustedError(absl::StrCat("the host refused to ", what, " memory at ",
                                                   ToString(range), ": ", std::strerror(error)));
}

}  // namespace

absl::StatusOr<Window> Window::Make(const WindowProfile& profile, Bytes alignment,
                                    const AddressRange& linear) {
  AddressRange range{profile.base, profile.size, alignment};
  if (!profile.claimed) return Window(range, linear, nullptr, 0);
  // What is claimed beyond the window, to align it, stays claimed: it costs nothing.
  const size_t size = (profile.size + linear.size + alignment).value();
  void* const claim = mmap(nullptr, size, PROT_NONE, kNothing, -1, 0);
  if (claim == MAP_FAILED) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the host has no ", ToString(profile.size),
                     " of address space left for the window: ", std::strerror(errno),
                     ". Where ulimit -v, valgrind or a sanitizer holds it, use a profile without "
                     "such a window, as full-address-space"));
  }
  range.base = DeviceAddress(RoundUp(Bytes(reinterpret_cast<uint64_t>(claim)), alignment).value());
  return Window(range, AddressRange{range.end(), linear.size, Bytes(0)}, static_cast<char*>(claim),
                size);
}

Window::Window(Window&& other) noexcept
    : range_(other.range_),
      linear_(other.linear_),
      claim_(std::exchange(other.claim_, nullptr)),
      claim_size_(other.claim_size_) {}

Window::~Window() {
  if (claimed()) munmap(claim_, claim_size_);
}

absl::Status Window::Show(const AddressRange& range, char* memory, Access access) const {
  // A shared mapping that is remapped from size 0 is mapped a second time.
  void* const shown =
      mremap(memory, 0, range.size.value(), MREMAP_MAYMOVE | MREMAP_FIXED, Pointer(range.base));
  if (shown != MAP_FAILED && mprotect(shown, range.size.value(), ProtectionFor(access)) == 0) {
    return absl::OkStatus();
  }
  return HostRefused("show", range, errno);
}

absl::Status Window::Protect(const AddressRange& range, Access access) const {
  if (mprotect(Pointer(range.base), range.size.value(), ProtectionFor(access)) == 0) {
    return absl::OkStatus();
  }
  return HostRefused("protect", range, errno);
}

absl::Status Window::Hide(const AddressRange& range) const {
  void* const hidden =
      mmap(Pointer(range.base), range.size.value(), PROT_NONE, kNothing | MAP_FIXED, -1, 0);
  return hidden != MAP_FAILED ? absl::OkStatus() : HostRefused("hide", range, errno);
}

}  // namespace twinmmu
