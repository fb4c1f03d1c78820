#include "api/files/read_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "api/files/limits.h"

namespace twinmmu {
namespace {

constexpr size_t kBlock = size_t{1} << 16;
// The most memory that unpacking takes: 128 MiB. RecordingWriter packs with as much.
constexpr int kMaxWindowLog = 27;

absl::Status CannotRead(const std::string& path, absl::string_view why) {
  return absl::NotFoundError(absl::StrCat("cannot read ", path, ": ", why));
}

// What is read next, at most kBlock; empty at the end. False and errno: it cannot be read.
bool ReadBlock(int file, std::string* block) {
  block->resize(kBlock);
  ssize_t got = 0;
  do {
    got = read(file, block->data(), block->size());
  } while (got < 0 && errno == EINTR);
  block->resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
  return got >= 0;
}

}  // namespace

absl::StatusOr<int> OpenToRead(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (file < 0) return CannotRead(path, std::strerror(errno));
  struct stat info = {};
  const bool known = fstat(file, &info) == 0;
  if (known && (S_ISREG(info.st_mode) || S_ISFIFO(info.st_mode) || S_ISCHR(info.st_mode))) {
    fcntl(file, F_SETFL, fcntl(file, F_GETFL) & ~O_NONBLOCK);
    return file;
  }
  close(file);
  return CannotRead(path, known && S_ISDIR(info.st_mode) ? "it is a folder" : "it is no file");
}

absl::StatusOr<std::string> ReadFile(const std::string& path, Bytes most) {
  const absl::StatusOr<int> file = OpenToRead(path);
  if (!file.ok()) return file.status();
  std::string content;
  std::string block;
  absl::Status status;
  do {
    if (!ReadBlock(*file, &block)) status = CannotRead(path, std::strerror(errno));
    content += block;
    if (Bytes(content.size()) > most) {
      status = absl::InvalidArgumentError(
          absl::StrCat(path, ": it is larger than ", ToString(most), ", the most that is read"));
    }
  } while (status.ok() && !block.empty());
  close(*file);
  if (!status.ok()) return status;
  return content;
}

// Zstandard, in pieces of a bounded size.
class LineReader::Unpacker {
 public:
  Unpacker() : context_(ZSTD_createDCtx()) {
    ZSTD_DCtx_setParameter(context_, ZSTD_d_windowLogMax, kMaxWindowLog);
  }
  ~Unpacker() { ZSTD_freeDCtx(context_); }
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;

  // All that it was given is unpacked.
  bool is_empty() const { return !has_more_; }
  // It was not given the end.
  bool is_cut() const { return left_ != 0; }
  // Appends what comes next, and takes what it used from `block`. Null, or what is wrong.
  const char* Unpack(std::string* block, std::string* text) {
    std::string piece(ZSTD_DStreamOutSize(), '\0');
    ZSTD_inBuffer in = {block->data(), block->size(), 0};
    ZSTD_outBuffer out = {piece.data(), piece.size(), 0};
    left_ = ZSTD_decompressStream(context_, &out, &in);
    if (ZSTD_isError(left_) != 0) return ZSTD_getErrorName(left_);
    block->erase(0, in.pos);
    text->append(piece, 0, out.pos);
    has_more_ = left_ != 0 && out.pos == out.size;
    return nullptr;
  }

 private:
  ZSTD_DCtx* const context_;
  size_t left_ = 0;
  bool has_more_ = false;
};

LineReader::LineReader(std::string name, int file) : name_(std::move(name)), file_(file) {
  if (absl::EndsWith(name_, ".zst")) unpacker_ = std::make_unique<Unpacker>();
}

LineReader::~LineReader() {
  if (file_ >= 0) close(file_);
}

absl::StatusOr<std::unique_ptr<LineReader>> LineReader::Open(const std::string& path) {
  const absl::StatusOr<int> file = OpenToRead(path);
  if (!file.ok()) return file.status();
  return std::unique_ptr<LineReader>(new LineReader(path, *file));
}

std::unique_ptr<LineReader> LineReader::Of(std::string name, std::string content) {
  std::unique_ptr<LineReader> reader(new LineReader(std::move(name), -1));
  reader->block_ = std::move(content);
  return reader;
}

absl::Status LineReader::Wrong(absl::string_view what) const {
  return absl::InvalidArgumentError(absl::StrCat(name_, ": ", what));
}

// Some more text. False: there is none.
absl::StatusOr<bool> LineReader::Fill() {
  if (block_.empty() && file_ >= 0 && (unpacker_ == nullptr || unpacker_->is_empty()) &&
      !ReadBlock(file_, &block_)) {
    return Wrong(std::strerror(errno));
  }
  const size_t before = text_.size();
  if (block_.empty() && (unpacker_ == nullptr || unpacker_->is_empty())) {
    if (unpacker_ != nullptr && unpacker_->is_cut()) return Wrong("the file ends too early");
    return false;
  }
  if (unpacker_ == nullptr) {
    text_ += std::exchange(block_, "");
  } else {
    const char* const wrong = unpacker_->Unpack(&block_, &text_);
    if (wrong != nullptr) return Wrong(wrong);
  }
  total_ = total_ + Bytes(text_.size() - before);
  if (total_ > kMaxFile) return Wrong(absl::StrCat("it has more than ", ToString(kMaxFile)));
  return true;
}

absl::StatusOr<std::optional<std::string>> LineReader::Next() {
  for (;;) {
    size_t end = text_.find('\n', searched_);
    searched_ = text_.size();
    const size_t length = std::min(end, text_.size()) - at_;
    if (Bytes(length) > kMaxLine) {
      return Wrong(absl::StrCat("line ", number_ + 1, " is longer than ", ToString(kMaxLine)));
    }
    if (end == std::string::npos) {
      text_.erase(0, std::exchange(at_, 0));
      searched_ = text_.size();
      const absl::StatusOr<bool> more = Fill();
      if (!more.ok()) return more.status();
      if (*more) continue;
      if (text_.empty()) return std::nullopt;
      end = text_.size();
    }
    std::string line = text_.substr(at_, length);
    at_ = std::min(end + 1, text_.size());
    searched_ = at_;
    ++number_;
    return line;
  }
}

}  // namespace twinmmu
