#include "conformance/ptx/arithmetic_recording.h"

#include <zstd.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace twinmmu::conformance {
namespace {

// The content before compression: lines of text, and behind each line "case ..." its results, byte
// by byte from the lowest, the lowest of all trials first.
constexpr absl::string_view kFirstLine = "twinmmu arithmetic 1";
constexpr int kLevel = 19;
constexpr uint64_t kLargest = uint64_t{1} << 30;  // of the content

// How many bytes its values need.
int WidthOf(const std::vector<uint64_t>& values) {
  uint64_t all = 0;
  for (const uint64_t value : values) all |= value;
  int width = 1;
  while (width < 8 && all >> (8 * width) != 0) ++width;
  return width;
}

// "case <name> <hash> <trials> <width>,<width>,...": a width of 0 for what is not written.
void AppendCase(const RecordedCase& recorded, std::string& text) {
  size_t trials = 0;
  std::vector<int> widths;
  for (const std::vector<uint64_t>& values : recorded.results) {
    trials = std::max(trials, values.size());
    widths.push_back(values.empty() ? 0 : WidthOf(values));
  }
  absl::StrAppend(&text, "case ", recorded.name, " ", absl::Hex(recorded.inputs_hash), " ", trials,
                  " ", absl::StrJoin(widths, ","), "\n");
  for (size_t i = 0; i < widths.size(); ++i) {
    for (int byte = 0; byte < widths[i]; ++byte) {
      for (const uint64_t value : recorded.results[i]) {
        text.push_back(static_cast<char>(value >> (8 * byte) & 0xff));
      }
    }
  }
}

absl::Status Damaged(const std::string& path, absl::string_view what) {
  return absl::DataLossError(absl::StrCat(path, " is not a recording of arithmetic: ", what));
}

// Reads from the front of `rest`, and shortens it.
bool TakeLine(absl::string_view& rest, absl::string_view& line) {
  const size_t end = rest.find('\n');
  if (end == absl::string_view::npos) return false;
  line = rest.substr(0, end);
  rest.remove_prefix(end + 1);
  return true;
}
bool TakeCase(absl::string_view line, absl::string_view& rest, RecordedCase& recorded) {
  const std::vector<std::string> words = absl::StrSplit(line, ' ');
  uint64_t trials = 0;
  if (words.size() != 4 || !absl::SimpleHexAtoi(words[1], &recorded.inputs_hash) ||
      !absl::SimpleAtoi(words[2], &trials)) {
    return false;
  }
  recorded.name = words[0];
  for (const absl::string_view width_word : absl::StrSplit(words[3], ',')) {
    int width = 0;
    if (!absl::SimpleAtoi(width_word, &width) || width < 0 || width > 8) return false;
    if (trials > kLargest || rest.size() < trials * static_cast<uint64_t>(width)) return false;
    std::vector<uint64_t>& values = recorded.results.emplace_back(width == 0 ? 0 : trials);
    for (int byte = 0; byte < width; ++byte) {
      for (uint64_t i = 0; i < trials; ++i) {
        values[i] |= uint64_t{static_cast<unsigned char>(rest[i])} << (8 * byte);
      }
      rest.remove_prefix(trials);
    }
  }
  return true;
}

absl::StatusOr<std::string> Decompressed(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError(absl::StrCat("there is no file ", path));
  const std::string packed{std::istreambuf_iterator<char>(file), {}};
  const unsigned long long size = ZSTD_getFrameContentSize(packed.data(), packed.size());
  if (size > kLargest) return Damaged(path, "its length is not known");
  std::string text(size, '\0');
  const size_t got = ZSTD_decompress(text.data(), text.size(), packed.data(), packed.size());
  if (ZSTD_isError(got) != 0 || got != size) return Damaged(path, "it cannot be decompressed");
  return text;
}

}  // namespace

absl::Status WriteArithmetic(const std::string& path, const ArithmeticRecording& recording) {
  std::string text = absl::StrCat(kFirstLine, "\ndevice ", recording.device, "\ndriver ",
                                  recording.driver_version, "\ndate ", recording.date, "\n");
  for (const std::string& name : recording.refused) absl::StrAppend(&text, "refused ", name, "\n");
  for (const RecordedCase& recorded : recording.cases) AppendCase(recorded, text);
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  const size_t size = ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), kLevel);
  if (ZSTD_isError(size) != 0) return absl::InternalError(ZSTD_getErrorName(size));
  std::ofstream file(path, std::ios::binary);
  file.write(packed.data(), static_cast<std::streamsize>(size));
  file.close();
  if (!file) return absl::InternalError(absl::StrCat("cannot write ", path));
  return absl::OkStatus();
}

absl::StatusOr<ArithmeticRecording> ReadArithmetic(const std::string& path) {
  absl::StatusOr<std::string> text = Decompressed(path);
  if (!text.ok()) return text.status();
  ArithmeticRecording recording;
  absl::string_view rest = *text, line;
  if (!TakeLine(rest, line) || line != kFirstLine) return Damaged(path, "its first line");
  while (!rest.empty()) {
    if (!TakeLine(rest, line)) return Damaged(path, "it ends within a line");
    if (absl::ConsumePrefix(&line, "case ")) {
      if (!TakeCase(line, rest, recording.cases.emplace_back())) return Damaged(path, line);
    } else if (absl::ConsumePrefix(&line, "refused ")) {
      recording.refused.emplace_back(line);
    } else if (absl::ConsumePrefix(&line, "device ")) {
      recording.device = std::string(line);
    } else if (absl::ConsumePrefix(&line, "date ")) {
      recording.date = std::string(line);
    } else if (!absl::ConsumePrefix(&line, "driver ") ||
               !absl::SimpleAtoi(line, &recording.driver_version)) {
      return Damaged(path, line);
    }
  }
  return recording;
}

}  // namespace twinmmu::conformance
