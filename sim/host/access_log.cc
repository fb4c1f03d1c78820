#include "sim/host/access_log.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace twinmmu {
namespace {

using Word = std::atomic<uint64_t>;
static_assert(Word::is_always_lock_free);

constexpr size_t kWordsOfText = 12;
constexpr size_t kEntries = 360;

// Of each number, so that none is 0, whatever others wrote.
constexpr uint64_t kNumber = uint64_t{1} << 63;

void RaiseTo(Word& word, uint64_t value) {
  uint64_t now = word.load(std::memory_order_relaxed);
  while (now < value && !word.compare_exchange_weak(now, value, std::memory_order_release)) {
  }
}

}  // namespace

// `number` is 0 while the rest is written, and that of the entry afterwards.
struct AccessLog::Entry {
  Word number;
  Word process, pid, first, last, writes, waited, recorded, call;
  std::array<Word, kWordsOfText> text;
};

struct AccessLog::Layout {
  Word added;
  Word flagged;
  Word known;
  std::array<Entry, kEntries> entries;
};

absl::StatusOr<std::shared_ptr<AccessLog>> AccessLog::Open(int file_descriptor, Bytes offset) {
  static_assert(sizeof(Layout) <= kRoom.value());
  void* const data = mmap(nullptr, kRoom.value(), PROT_READ | PROT_WRITE, MAP_SHARED,
                          file_descriptor, static_cast<off_t>(offset.value()));
  if (data == MAP_FAILED) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the host refused the log of shared memory: ", std::strerror(errno)));
  }
  return std::shared_ptr<AccessLog>(new AccessLog(static_cast<Layout*>(data)));
}

AccessLog::~AccessLog() { munmap(&layout_, kRoom.value()); }

AccessLog::Entry* AccessLog::Find(Number number) const {
  return &layout_.entries[number % kEntries];
}

AccessLog::Number AccessLog::Add(const LoggedAccess& access) {
  const Number number = layout_.added.fetch_add(1, std::memory_order_relaxed) | kNumber;
  Entry& entry = *Find(number);
  entry.number.store(0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  const auto set = [](Word& word, uint64_t value) { word.store(value, std::memory_order_relaxed); };
  set(entry.process, access.process);
  set(entry.pid, access.pid);
  set(entry.first, access.first);
  set(entry.last, access.last);
  set(entry.writes, access.writes ? 1 : 0);
  set(entry.waited, access.waited);
  set(entry.recorded, access.recorded);
  set(entry.call, access.call);
  std::array<uint64_t, kWordsOfText> text = {};
  std::memcpy(text.data(), access.words.data(), std::min(sizeof(text), access.words.size()));
  for (size_t i = 0; i < kWordsOfText; ++i) set(entry.text[i], text[i]);
  entry.number.store(number, std::memory_order_release);
  return number;
}

void AccessLog::SetWaited(Number number, uint64_t time) {
  Entry& entry = *Find(number);
  if (entry.number.load(std::memory_order_acquire) == number) {
    entry.waited.store(time, std::memory_order_release);
  }
}

void AccessLog::SetRecorded(Number number, uint64_t time) {
  Entry& entry = *Find(number);
  if (entry.number.load(std::memory_order_acquire) == number) {
    entry.recorded.store(time, std::memory_order_release);
  }
}

void AccessLog::ForEach(const std::function<void(const LoggedAccess&)>& visit) const {
  for (const Entry& entry : layout_.entries) {
    const uint64_t number = entry.number.load(std::memory_order_acquire);
    if (number == 0) continue;
    const auto get = [](const Word& word) { return word.load(std::memory_order_acquire); };
    LoggedAccess access{get(entry.process),  get(entry.pid),         get(entry.first),
                        get(entry.last),     get(entry.writes) != 0, get(entry.waited),
                        get(entry.recorded), get(entry.call),        {}};
    std::array<uint64_t, kWordsOfText> text;
    for (size_t i = 0; i < kWordsOfText; ++i) text[i] = get(entry.text[i]);
    if (entry.number.load(std::memory_order_acquire) != number) continue;
    const auto* const letters = reinterpret_cast<const char*>(text.data());
    access.words.assign(letters, strnlen(letters, sizeof(text)));
    for (char& letter : access.words) {
      if (!absl::ascii_isprint(static_cast<unsigned char>(letter))) letter = '?';
    }
    visit(access);
  }
}

void AccessLog::SetFlagged() { layout_.flagged.store(1, std::memory_order_release); }
bool AccessLog::IsFlagged() const { return layout_.flagged.load(std::memory_order_acquire) != 0; }
void AccessLog::RaiseKnown(uint64_t time) { RaiseTo(layout_.known, time); }
uint64_t AccessLog::known() const { return layout_.known.load(std::memory_order_acquire); }

uint64_t AccessLog::Now() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

}  // namespace twinmmu
