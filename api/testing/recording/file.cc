#include "api/testing/recording/file.h"

#include <zstd.h>

#include <fstream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "api/files/json_text.h"
#include "api/files/limits.h"
#include "api/files/replaced_file.h"

namespace twinmmu {
namespace {

// The format's version; a reader refuses those that it does not know.
constexpr int kFormat = 1;
// The files are written once, and read often.
constexpr int kLevel = 19;
// Calls repeat what was called far before.
constexpr int kWindowLog = 27;

absl::Status Append(ReplacedFile& file, absl::string_view text) {
  file.stream().write(text.data(), static_cast<std::streamsize>(text.size()));
  return file.Check();
}

class PlainWriter : public RecordingWriter {
 public:
  explicit PlainWriter(std::unique_ptr<ReplacedFile> file) : file_(std::move(file)) {}

  using RecordingWriter::Write;
  absl::Status Write(const Json& line) override { return Append(*file_, line.dump() + '\n'); }
  absl::Status Close() override { return file_->Finish(); }

 private:
  const std::unique_ptr<ReplacedFile> file_;
};

class PackedWriter : public RecordingWriter {
 public:
  explicit PackedWriter(std::unique_ptr<ReplacedFile> file)
      : file_(std::move(file)), context_(ZSTD_createCCtx()) {
    ZSTD_CCtx_setParameter(context_, ZSTD_c_compressionLevel, kLevel);
    ZSTD_CCtx_setParameter(context_, ZSTD_c_windowLog, kWindowLog);
    ZSTD_CCtx_setParameter(context_, ZSTD_c_checksumFlag, 1);
  }
  ~PackedWriter() override { ZSTD_freeCCtx(context_); }

  using RecordingWriter::Write;
  absl::Status Write(const Json& line) override {
    return Pack(line.dump() + '\n', ZSTD_e_continue);
  }
  absl::Status Close() override {
    const absl::Status packed = Pack("", ZSTD_e_end);
    return packed.ok() ? file_->Finish() : packed;
  }

 private:
  absl::Status Pack(const std::string& text, ZSTD_EndDirective directive) {
    ZSTD_inBuffer in = {text.data(), text.size(), 0};
    std::string packed(ZSTD_CStreamOutSize(), '\0');
    absl::Status written = file_->Check();
    size_t left = 1;
    while (written.ok() && (in.pos != in.size || (directive == ZSTD_e_end && left != 0))) {
      ZSTD_outBuffer out = {packed.data(), packed.size(), 0};
      left = ZSTD_compressStream2(context_, &out, &in, directive);
      if (ZSTD_isError(left)) {
        return absl::InternalError(
            absl::StrCat("cannot pack what is recorded: ", ZSTD_getErrorName(left)));
      }
      written = Append(*file_, absl::string_view(packed.data(), out.pos));
    }
    return written;
  }

  const std::unique_ptr<ReplacedFile> file_;
  ZSTD_CCtx* const context_;
};

// /proc/driver/nvidia/version: "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  ...".
std::string DriverRelease() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string word;
  while (file >> word) {
    if (word.find_first_not_of("0123456789.") == std::string::npos &&
        word.find('.') != std::string::npos) {
      return word;
    }
  }
  return "";
}

Json DescribeDevice(Vmm& vmm, DeviceOrdinal device) {
  Json json = Json::object();
  const auto name = vmm.GetDeviceName(device);
  if (name.ok()) json["name"] = *name;
  const auto major = vmm.GetDeviceAttribute(DeviceAttribute::kComputeCapabilityMajor, device);
  const auto minor = vmm.GetDeviceAttribute(DeviceAttribute::kComputeCapabilityMinor, device);
  if (major.ok() && minor.ok()) json["compute_capability"] = absl::StrCat(*major, ".", *minor);
  const auto memory = vmm.GetMemoryInfo(device);
  if (memory.ok()) {
    json["memory"] = memory->total.value();
    json["free"] = memory->free.value();
  }
  return json;
}

}  // namespace

Json DescribeOrigin(Driver& driver, const std::string& backend, const std::string& date) {
  Json json = {{"recording", kFormat}, {"backend", backend}, {"date", date}};
  const absl::StatusOr<Vmm*> vmm = driver.vmm();
  if (!vmm.ok()) return json;
  const absl::StatusOr<int> version = (*vmm)->GetDriverVersion();
  if (version.ok()) json["driver_version"] = *version;
  const std::string release = backend == "cuda" ? DriverRelease() : "";
  if (!release.empty()) json["driver_release"] = release;
  const absl::StatusOr<int> count = (*vmm)->GetDeviceCount();
  json["devices"] = Json::array();
  for (int i = 0; count.ok() && i < *count; ++i) {
    json["devices"].push_back(DescribeDevice(**vmm, DeviceOrdinal(i)));
  }
  json["peers"] = Json::array();
  for (int i = 0; count.ok() && i < *count; ++i) {
    Json row = Json::array();
    for (int k = 0; k < *count; ++k) {
      const auto reaches = (*vmm)->CanAccessPeer(DeviceOrdinal(i), DeviceOrdinal(k));
      row.push_back(reaches.ok() && *reaches);
    }
    json["peers"].push_back(row);
  }
  return json;
}

std::string OriginOf(const Json& header) {
  const auto devices = header.find("devices");
  const bool has_devices = devices != header.end() && devices->is_array() && !devices->empty();
  std::string text = has_devices ? TextOr(devices->front(), "name", "a device") : "no device";
  if (has_devices && devices->size() > 1) text = absl::StrCat(devices->size(), " x ", text);
  const auto found = header.find("driver_version");
  const bool has_version = found != header.end() && found->is_number_integer();
  const int version = has_version ? found->get<int>() : 0;
  return absl::StrCat(text, ", driver ", TextOr(header, "driver_release", "?"), " (CUDA ",
                      version / 1000, ".", version % 1000 / 10, ")");
}

absl::StatusOr<std::unique_ptr<RecordingWriter>> RecordingWriter::Create(const std::string& path) {
  auto file = std::make_unique<ReplacedFile>(path);
  const absl::Status opened = file->Check();
  if (!opened.ok()) return opened;
  if (absl::EndsWith(path, ".zst")) return std::make_unique<PackedWriter>(std::move(file));
  return std::make_unique<PlainWriter>(std::move(file));
}

absl::Status RecordingWriter::Write(const Section& section) {
  absl::Status status = Write(section.begin);
  for (const Json& line : section.lines) {
    if (status.ok()) status = Write(line);
  }
  if (status.ok() && !section.end.is_null()) status = Write(section.end);
  return status;
}

absl::StatusOr<std::unique_ptr<RecordingReader>> RecordingReader::Open(const std::string& path) {
  absl::StatusOr<std::unique_ptr<LineReader>> lines = LineReader::Open(path);
  if (!lines.ok()) return lines.status();
  return Of(*std::move(lines));
}

absl::StatusOr<std::unique_ptr<RecordingReader>> RecordingReader::Of(
    std::unique_ptr<LineReader> lines) {
  auto reader = std::unique_ptr<RecordingReader>(new RecordingReader(std::move(lines)));
  const absl::StatusOr<std::optional<Json>> header = reader->NextLine();
  if (!header.ok()) return header.status();
  const bool known = header->has_value() && (*header)->is_object() &&
                     (*header)->value("recording", Json()) == Json(kFormat);
  if (!known) {
    return absl::InvalidArgumentError(absl::StrCat(reader->lines_->name(),
                                                   ": line 1 is not {\"recording\": ", kFormat,
                                                   ", ...}: no recording, or a newer one"));
  }
  reader->header_ = **header;
  return reader;
}

absl::Status RecordingReader::WrongLine(absl::string_view what) const {
  return absl::InvalidArgumentError(
      absl::StrCat(lines_->name(), ": line ", lines_->number(), what));
}

absl::StatusOr<std::optional<Json>> RecordingReader::NextLine() {
  const absl::StatusOr<std::optional<std::string>> line = lines_->Next();
  if (!line.ok()) return line.status();
  if (!line->has_value()) return std::nullopt;
  section_size_ = section_size_ + Bytes((*line)->size());
  if (section_size_ > kMaxSection) {
    return WrongLine(absl::StrCat(": the section has more than ", ToString(kMaxSection)));
  }
  absl::StatusOr<Json> json = ParseJson<Json>(**line);
  if (json.ok() && json->is_object()) return *std::move(json);
  const std::string why = json.ok() ? "" : absl::StrCat(" (", json.status().message(), ")");
  return WrongLine(absl::StrCat(" is not a JSON object: ", (*line)->substr(0, 80), why));
}

absl::StatusOr<std::optional<Section>> RecordingReader::Next() {
  std::optional<Section> section;
  section_size_ = Bytes(0);
  for (;;) {
    absl::StatusOr<std::optional<Json>> line = NextLine();
    if (!line.ok()) return line.status();
    if (!line->has_value()) return section;
    Json& json = **line;
    if (json.contains("section") == section.has_value()) {
      return WrongLine(section.has_value() ? ": a section begins in another"
                                           : ": a call before the first section, or after its end");
    }
    if (!section.has_value()) {
      section.emplace();
      section->begin = std::move(json);
    } else if (json.contains("end")) {
      section->end = std::move(json);
      return section;
    } else {
      section->lines.push_back(std::move(json));
    }
  }
}

}  // namespace twinmmu
