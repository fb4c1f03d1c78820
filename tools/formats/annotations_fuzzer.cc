// Any text as a report of `twinmmu run --report=FILE`.

#include <cstddef>
#include <cstdint>
#include <string>

#include "tools/annotations/annotations.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto lines =
      twinmmu::LineReader::Of("report", std::string(reinterpret_cast<const char*>(data), size));
  const auto annotations = twinmmu::ReadAnnotations(*lines, "/src");
  if (!annotations.ok()) return 0;
  twinmmu::ForGitHub(*annotations);
  twinmmu::ForGitLab(*annotations);
  twinmmu::ForJUnit(*annotations);
  return 0;
}
