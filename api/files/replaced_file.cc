#include "api/files/replaced_file.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <streambuf>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace twinmmu {
namespace {

constexpr size_t kBufferSize = size_t{1} << 16;

// What a name leads to that may stand for a descriptor of this process.
bool IsDescriptor(const std::string& path) {
  return absl::StartsWith(path, "/dev/fd/") || absl::StartsWith(path, "/dev/std") ||
         absl::StartsWith(path, "/proc/");
}

std::string NewPartOf(const std::string& path) {
  static std::atomic<uint64_t> count{0};
  return absl::StrCat(path, ".", getpid(), ".", ++count, ".part");
}

}  // namespace

// Keeps why the first write failed. What is in the file when it is opened goes with the first one.
class ReplacedFile::Buffer : public std::streambuf {
 public:
  Buffer() : bytes_(kBufferSize) { setp(bytes_.data(), bytes_.data() + bytes_.size()); }
  ~Buffer() override {
    if (file_ >= 0) close(file_);
  }

  void Open(const std::string& path, int flags) {
    file_ = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0666);
    why_ = file_ < 0 ? errno : 0;
  }
  void Refuse(int why) { why_ = why; }
  int file() const { return file_; }
  // Of errno; 0: all is well.
  int why() const { return why_; }
  void Close() {
    if (file_ < 0) return;
    Write();
    if (close(file_) != 0 && why_ == 0) why_ = errno;
    file_ = -1;
  }

 protected:
  int_type overflow(int_type next) override {
    if (!Write()) return traits_type::eof();
    if (!traits_type::eq_int_type(next, traits_type::eof())) sputc(traits_type::to_char_type(next));
    return traits_type::not_eof(next);
  }
  int sync() override { return Write() ? 0 : -1; }

 private:
  bool Write() {
    const char* next = pbase();
    if (!std::exchange(begun_, true)) static_cast<void>(!ftruncate(file_, 0));  // of no pipe
    if (why_ == 0 && !MayGrowBy(pptr() - pbase())) why_ = EFBIG;
    while (why_ == 0 && next != pptr()) {
      const ssize_t written = write(file_, next, static_cast<size_t>(pptr() - next));
      if (written >= 0) {
        next += written;
      } else if (errno != EINTR) {
        why_ = errno;
      }
    }
    setp(bytes_.data(), bytes_.data() + bytes_.size());
    return why_ == 0;
  }

  // Beyond the limit of the process, making a file larger is a signal.
  bool MayGrowBy(off_t bytes) const {
    const off_t at = lseek(file_, 0, SEEK_CUR);
    rlimit limit = {};
    return at < 0 || getrlimit(RLIMIT_FSIZE, &limit) != 0 ||
           limit.rlim_cur >= static_cast<rlim_t>(at + bytes);
  }

  int file_ = -1;
  int why_ = 0;
  bool begun_ = false;
  std::vector<char> bytes_;
};

ReplacedFile::ReplacedFile(const std::string& path)
    : path_(path), target_(path), buffer_(std::make_unique<Buffer>()), stream_(buffer_.get()) {
  Open();
}

void ReplacedFile::Open() {
  struct stat info = {};
  const bool is_there = stat(path_.c_str(), &info) == 0;
  if (is_there && access(path_.c_str(), W_OK) != 0) return buffer_->Refuse(errno);
  if (is_there && (!S_ISREG(info.st_mode) || IsDescriptor(path_))) return buffer_->Open(target_, 0);
  std::error_code unknown;
  if (is_there) target_ = std::filesystem::canonical(path_, unknown).string();
  if (unknown) target_ = path_;
  part_ = NewPartOf(target_);
  buffer_->Open(part_, O_EXCL);
  if (buffer_->why() == 0) {
    if (is_there) fchmod(buffer_->file(), info.st_mode & 07777);
    return;
  }
  part_.clear();
  const int why = buffer_->why();
  if (is_there && (why == EACCES || why == EPERM || why == EROFS || why == ENAMETOOLONG))
    buffer_->Open(target_, 0);
}

ReplacedFile::~ReplacedFile() {
  if (!part_.empty()) unlink(part_.c_str());
}

absl::Status ReplacedFile::Check() const {
  if (buffer_->why() == 0) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("cannot write ", path_, ": ", std::strerror(buffer_->why())));
}

absl::Status ReplacedFile::Finish() {
  buffer_->Close();
  if (buffer_->why() == 0 && !part_.empty()) {
    if (std::rename(part_.c_str(), target_.c_str()) != 0) buffer_->Refuse(errno);
    if (buffer_->why() == 0) part_.clear();
  }
  return Check();
}

}  // namespace twinmmu
