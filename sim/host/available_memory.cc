#include "sim/host/available_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <fstream>
#include <limits>
#include <string>

namespace twinmmu {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kAll = std::numeric_limits<uint64_t>::max();

// The number behind a word of a file of the kernel, or `otherwise`.
uint64_t NumberBehind(const std::string& path, const char* word, uint64_t otherwise) {
  std::ifstream file(path);
  std::string found;
  uint64_t number = 0;
  while (file >> found) {
    if (found == word) return file >> number ? number : otherwise;
  }
  return otherwise;
}

// The number that is all that the file has: "max" is none.
uint64_t NumberIn(const std::string& path, uint64_t otherwise) {
  std::ifstream file(path);
  uint64_t number = 0;
  return file >> number ? number : otherwise;
}

uint64_t OfMachine() {
  const uint64_t kib = NumberBehind("/proc/meminfo", "MemAvailable:", kAll);
  return kib == kAll ? kAll : kib * 1024;
}

// As a container sees its own. What files keep in memory goes where room is needed.
uint64_t OfControlGroup(const std::string& folder) {
  const uint64_t limit = NumberIn(folder + "/memory.max", kAll);
  const uint64_t taken = NumberIn(folder + "/memory.current", kAll);
  if (limit == kAll || taken == kAll) return kAll;
  const std::string statistics = folder + "/memory.stat";
  const uint64_t files =
      NumberBehind(statistics, "inactive_file", 0) + NumberBehind(statistics, "active_file", 0);
  return limit - std::min(limit, taken - std::min(taken, files));
}

}  // namespace

Bytes AvailableMemory(const std::string& control_group) {
  return Bytes(std::min(OfMachine(), OfControlGroup(control_group)));
}

Bytes UntouchedBytes(const char* memory, uint64_t size) {
  std::array<unsigned char, 16384> resident;
  const auto begin = reinterpret_cast<uint64_t>(memory) / kPage * kPage;
  const uint64_t end = reinterpret_cast<uint64_t>(memory) + size;
  uint64_t untouched = 0;
  for (uint64_t at = begin; at < end; at += resident.size() * kPage) {
    const uint64_t length = std::min(end - at, resident.size() * kPage);
    const uint64_t pages = (length + kPage - 1) / kPage;
    // What is not there takes nothing.
    if (mincore(reinterpret_cast<void*>(at), length, resident.data()) != 0) continue;
    for (uint64_t page = 0; page < pages; ++page) untouched += (resident[page] & 1) == 0;
  }
  return Bytes(untouched * kPage);
}

}  // namespace twinmmu
