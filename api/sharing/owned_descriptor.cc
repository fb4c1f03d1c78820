#include "api/sharing/owned_descriptor.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace twinmmu {

OwnedDescriptor& OwnedDescriptor::operator=(OwnedDescriptor&& other) noexcept {
  if (this == &other) return *this;
  Close();
  descriptor_ = other.Release();
  return *this;
}

int OwnedDescriptor::Release() { return std::exchange(descriptor_, kNone); }

void OwnedDescriptor::Close() {
  if (!is_open()) return;
  const int error = errno;
  close(Release());  // Linux has let go of the number even where close() fails
  errno = error;
}

}  // namespace twinmmu
