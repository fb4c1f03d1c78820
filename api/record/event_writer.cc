#include "api/record/event_writer.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <new>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "api/record/call_stack.h"
#include "api/record/event_format.h"

namespace twinmmu::record {
namespace {

constexpr uint64_t kFirstWindow = 64 << 10;
constexpr uint64_t kEndSize = 2 * sizeof(uint64_t);  // of the entry that ends a file
constexpr uint64_t kMaxWindow = 4 << 20;
constexpr size_t kStackSlots = 1 << 14;
constexpr size_t kPlaceSlots = 1 << 15;
constexpr size_t kProbes = 64;
constexpr size_t kOwnFrames = 24;
constexpr int kMaxFilesOfProcess = 1000;

// Counts the forks that led to this process, from 1.
std::atomic<uint64_t> process_generation{1};

void CountForks() {
  static const int registered = pthread_atfork(
      nullptr, nullptr, [] { process_generation.fetch_add(1, std::memory_order_relaxed); });
  static_cast<void>(registered);
}

// The id of the thread, asked for once.
struct ThreadId {
  uint64_t generation;
  uint32_t id;
};
}  // namespace

// Not of internal linkage: a linker can lose the name of such a one in a shared library.
extern thread_local ThreadId event_thread_id __attribute__((tls_model("initial-exec")));
thread_local ThreadId event_thread_id;

namespace {

uint32_t ThisThread() {
  const uint64_t generation = process_generation.load(std::memory_order_relaxed);
  if (event_thread_id.generation != generation) {
    event_thread_id = {generation, static_cast<uint32_t>(syscall(SYS_gettid))};
  }
  return event_thread_id.id;
}

uint64_t HashOf(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e37'79b9'7f4a'7c15;
  return hash ^ hash >> 32;
}

// Beyond the limit of the process, making a file larger is a signal.
bool MayBeAsLargeAs(uint64_t size) {
  rlimit limit = {};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur >= size;
}

std::string ThisProgram() {
  char path[kMaxText] = {};
  const ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 1);
  return std::string(path, size > 0 ? static_cast<size_t>(size) : 0);
}

absl::Status Refused(const std::string& path) {
  return absl::ResourceExhaustedError(
      absl::StrCat("cannot write events to ", path, ": ", std::strerror(errno)));
}

class KeptErrno {
 public:
  KeptErrno() = default;
  ~KeptErrno() { errno = before_; }
  KeptErrno(const KeptErrno&) = delete;
  KeptErrno& operator=(const KeptErrno&) = delete;

 private:
  const int before_ = errno;
};

}  // namespace

absl::StatusOr<std::unique_ptr<EventWriter>> EventWriter::Create(const std::string& path,
                                                                 EventWriterOptions options) {
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return Refused(path);
  close(file);
  CountForks();
  // Not make_unique: the constructor is private.
  std::unique_ptr<EventWriter> made(new EventWriter(path, options, process_generation.load()));
  if (!made->Start()) return Refused(path);
  return made;
}

absl::StatusOr<std::unique_ptr<EventWriter>> EventWriter::CreateIn(const std::string& folder,
                                                                   EventWriterOptions options) {
  std::string path;
  for (int number = 1; number <= kMaxFilesOfProcess; ++number) {
    path = absl::StrCat(folder, "/", kEventsPrefix, getpid(), ".", number);
    const int file = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0 && errno == EEXIST) continue;
    if (file < 0) break;
    close(file);
    return Create(path, options);
  }
  return Refused(path);
}

EventWriter::EventWriter(std::string path, EventWriterOptions options, uint64_t generation)
    : path_(std::move(path)),
      options_(options),
      generation_(generation),
      stacks_(kStackSlots),
      places_(kPlaceSlots) {}

EventWriter::~EventWriter() {
  if (IsForked()) return;
  Finish();
  const std::lock_guard lock(mutex_);
  const uint64_t size = window_begin_ + used_;
  CloseWindow();
  // What was taken in advance; without this, the file merely ends in zeros.
  static_cast<void>(!truncate(path_.c_str(), static_cast<off_t>(size)));
}

bool EventWriter::Start() {
  if (options_.stack_depth > 1 ||
      options_.caller == nullptr) {  // the first unwinding loads what it needs
    uint64_t address = 0;
    TakeStack(nullptr, &address, 1);
  }
  if (!NextWindow()) return false;
  FileHeader header = {};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.version = kFormatVersion;
  header.size = sizeof(header);
  header.start_ns = Now();
  header.process = static_cast<uint32_t>(getpid());
  header.parent = static_cast<uint32_t>(getppid());
  std::memcpy(window_, &header, sizeof(header));
  used_ = sizeof(header);
  DescribeProcess();
  return true;
}

void EventWriter::DescribeProcess() {
  const uint64_t who =
      uint64_t{static_cast<uint32_t>(getpid())} << 32 | static_cast<uint32_t>(getppid());
  EncodeEntry(EntryType::kProcess, &who, 1, ThisProgram(), &entry_);
  Write(entry_);
}

uint64_t EventWriter::Now() {
  timespec time = {};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

bool EventWriter::IsForked() const {
  return process_generation.load(std::memory_order_relaxed) != generation_;
}

uint32_t EventWriter::Stack() noexcept {
  if (options_.stack_depth == 0 || IsForked()) return 0;
  const void* const from = options_.caller == nullptr ? nullptr : options_.caller();
  if (options_.caller != nullptr && from == nullptr) return 0;
  const KeptErrno kept;
  uint64_t addresses[kMaxDepth];
  // Who reads it passes over our own frames, where nobody says how many there are.
  const size_t own = from == nullptr ? kOwnFrames : 0;
  const size_t depth = TakeStack(from, addresses, std::min(options_.stack_depth + own, kMaxDepth));
  if (depth == 0) return 0;
  const std::lock_guard lock(mutex_);
  return StackOf(addresses, depth);
}

uint32_t EventWriter::StackOf(const uint64_t* addresses, size_t depth) {
  uint64_t hash = depth;
  for (size_t i = 0; i < depth; ++i) hash = HashOf(hash, addresses[i]);
  if (hash == 0) hash = 1;
  for (size_t probe = 0; probe < kProbes; ++probe) {
    KnownStack& slot = stacks_[(hash + probe) % kStackSlots];
    if (slot.hash == hash) return slot.id;
    if (slot.hash != 0) continue;
    for (size_t i = 0; i < depth; ++i) DescribePlace(addresses[i]);
    uint64_t words[1 + kMaxDepth] = {stack_count_ + 1};
    std::copy(addresses, addresses + depth, words + 1);
    EncodeEntry(EntryType::kStack, words, 1 + depth, "", &entry_);
    if (!Write(entry_)) return 0;
    slot = {hash, ++stack_count_};
    return slot.id;
  }
  return 0;
}

void EventWriter::DescribePlace(uint64_t address) {
  for (size_t probe = 0; probe < kProbes; ++probe) {
    uint64_t& slot = places_[(HashOf(0, address) + probe) % kPlaceSlots];
    if (slot == address) return;
    if (slot != 0) continue;
    std::string words;
    try {
      words = ModuleAndOffset(address);
    } catch (const std::bad_alloc&) {
      return;
    }
    EncodeEntry(EntryType::kPlace, &address, 1, words, &entry_);
    if (Write(entry_)) slot = address;
    return;
  }
}

void EventWriter::Add(const Event& event) noexcept {
  if (IsForked()) return;
  Event added = event;
  if (added.stack == 0) added.stack = Stack();
  if (added.thread == 0) added.thread = ThisThread();
  const std::lock_guard lock(mutex_);
  // Under the lock, so that times only grow.
  if (added.time_ns == 0) added.time_ns = Now();
  EncodeEvent(added, &entry_);
  if (!Write(entry_)) ++lost_;
}

void EventWriter::Finish() noexcept {
  if (IsForked()) return;
  const std::lock_guard lock(mutex_);
  EncodeEntry(EntryType::kEnd, &lost_, 1, "", &entry_);
  Write(entry_);
}

uint64_t EventWriter::lost() const {
  const std::lock_guard lock(mutex_);
  return lost_;
}

// The head comes last: an entry that is begun and not ended is none.
bool EventWriter::Write(const EntryBuffer& entry) {
  const uint64_t size = entry.size * sizeof(uint64_t);
  // A file that cannot grow still says how much is missing.
  EntryHead head;
  std::memcpy(&head, entry.words, sizeof(head));
  const uint64_t kept = head.type == static_cast<uint8_t>(EntryType::kEnd) ? 0 : kEndSize;
  if (size + kept > window_size_ - used_ && (full_ || !NextWindow())) {
    full_ = true;
    return false;
  }
  char* const at = window_ + used_;
  std::memcpy(at + sizeof(uint64_t), entry.words + 1, size - sizeof(uint64_t));
  reinterpret_cast<std::atomic<uint64_t>*>(at)->store(entry.words[0], std::memory_order_release);
  used_ += size;
  return true;
}

// No entry lies in two windows: what is left of one is padding. The file is opened anew: a program
// may close all descriptors that it does not know.
bool EventWriter::NextWindow() {
  const uint64_t begin = window_begin_ + window_size_;
  const uint64_t size = std::clamp(begin, kFirstWindow, kMaxWindow);
  if (begin + size > options_.limit || !MayBeAsLargeAs(begin + size)) return false;
  const KeptErrno kept;
  const int file = open(path_.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return false;
  const bool room = posix_fallocate(file, static_cast<off_t>(begin), static_cast<off_t>(size)) == 0;
  void* const memory = room ? mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                                   file, static_cast<off_t>(begin))
                            : MAP_FAILED;
  close(file);
  if (memory == MAP_FAILED) return false;
  madvise(memory, size, MADV_DONTDUMP);
  for (; used_ < window_size_; used_ += sizeof(uint64_t)) {
    const EntryHead padding{1, static_cast<uint8_t>(EntryType::kPadding), 0, 0};
    std::memcpy(window_ + used_, &padding, sizeof(padding));
  }
  CloseWindow();
  window_ = static_cast<char*>(memory);
  window_begin_ = begin;
  window_size_ = size;
  used_ = 0;
  return true;
}

void EventWriter::CloseWindow() {
  if (window_ != nullptr) munmap(window_, window_size_);
  window_ = nullptr;
}

}  // namespace twinmmu::record
