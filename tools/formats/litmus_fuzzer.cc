// Any text as a file of litmus tests.

#include <cstddef>
#include <cstdint>
#include <string>

#include "sim/coherence/litmus/litmus.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto lines =
      twinmmu::LineReader::Of("tests", std::string(reinterpret_cast<const char*>(data), size));
  twinmmu::coherence::AllLitmus(*lines);
  return 0;
}
