// Any bytes as a program of which a report names places. The last 8 are a place in it.

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "tools/run/symbolize.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const int file = memfd_create("program", MFD_CLOEXEC);
  if (file < 0 || write(file, data, size) != static_cast<ssize_t>(size)) std::abort();
  uint64_t offset = 0;
  if (size >= sizeof(offset)) std::memcpy(&offset, data + size - sizeof(offset), sizeof(offset));
  const std::string path = absl::StrCat("/proc/self/fd/", file);
  twinmmu::FunctionAt(path, offset);
  twinmmu::FunctionAt(path, offset % (size + 1));
  close(file);
  return 0;
}
