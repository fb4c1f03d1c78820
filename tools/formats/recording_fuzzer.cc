// Any bytes as a recording: packed, they are read; as text, they are played on the simulator too.

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "api/testing/recording/replay.h"
#include "conformance/instances/replay/replay_sim.h"

namespace {

using twinmmu::LineReader;
using twinmmu::RecordingReader;

void ReadPacked(const std::string& content) {
  const auto reader = RecordingReader::Of(LineReader::Of("recording.jsonl.zst", content));
  while (reader.ok()) {
    const auto section = (*reader)->Next();
    if (!section.ok() || !section->has_value()) return;
  }
}

void Play(const std::string& content) {
  const int file = memfd_create("recording", MFD_CLOEXEC);
  if (file < 0 || write(file, content.data(), content.size()) < 0) std::abort();
  const auto report = twinmmu::Replay(absl::StrCat("/proc/self/fd/", file),
                                      twinmmu::conformance::SimReplayOptions());
  close(file);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string content(reinterpret_cast<const char*>(data), size);
  ReadPacked(content);
  Play(content);
  return 0;
}
