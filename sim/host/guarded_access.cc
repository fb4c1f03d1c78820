#include "sim/host/guarded_access.h"

#include <sys/mman.h>

#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <cstring>

#include "sim/base/thread_sanitizer.h"
#include "sim/base/word_copies.h"

namespace twinmmu {

struct GuardedPiece {
  uint64_t base = 0;
  uint64_t size = 0;

  bool contains(uint64_t address) const { return address - base < size; }
};

// What a thread accesses now.
struct GuardedAttempt {
  GuardedPiece written;
  GuardedPiece read;
  const void* fault = nullptr;
  sigjmp_buf before;
};

// Not of internal linkage: some linkers do not find such a variable in a shared library.
[[gnu::tls_model("initial-exec")]] thread_local GuardedAttempt* volatile guarded_attempt = nullptr;

namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kEndOfUser = uint64_t{1} << 47;  // the CPU does not tell which address beyond

GuardedPiece PieceAt(const char* memory, uint64_t size) {
  return {reinterpret_cast<uint64_t>(memory), size};
}

constexpr int kSignals[] = {SIGSEGV, SIGBUS};
struct sigaction earlier[2];  // what was there before, of each

void Unblock(int signal) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

// As if there were no handler but the earlier one.
void Forward(int signal, siginfo_t* info, void* context) {
  const struct sigaction& before = earlier[signal == kSignals[0] ? 0 : 1];
  const bool sent = info->si_code <= 0;  // by a process, and not by an access
  if ((before.sa_flags & SA_SIGINFO) != 0) return before.sa_sigaction(signal, info, context);
  if (before.sa_handler == SIG_IGN && sent) return;
  if (before.sa_handler != SIG_IGN && before.sa_handler != SIG_DFL) {
    return before.sa_handler(signal);
  }
  sigaction(signal, &before, nullptr);  // the access happens again, and ends the process
  if (sent) raise(signal);
}

void OnSignal(int signal, siginfo_t* info, void* context) {
  GuardedAttempt* const current = guarded_attempt;
  const auto address = reinterpret_cast<uint64_t>(info->si_addr);
  const bool ours = current != nullptr && info->si_code > 0 &&
                    (current->written.contains(address) || current->read.contains(address));
  if (!ours) {
    PagesThatMayGo* const pages = PagesThatMayGo::Current();
    const bool missing = signal == SIGSEGV && info->si_code == SEGV_MAPERR;
    if (missing && pages != nullptr && pages->Replace(info->si_addr)) return;
    return Forward(signal, info, context);
  }
  current->fault = info->si_addr;
  Unblock(signal);
  siglongjmp(current->before, 1);
}

bool Install() {
  for (int i = 0; i < 2; ++i) sigaction(kSignals[i], nullptr, &earlier[i]);
  struct sigaction ours = {};
  ours.sa_sigaction = OnSignal;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&ours.sa_mask);
  for (const int signal : kSignals) sigaction(signal, &ours, nullptr);
  return true;
}

void InstallOnce() {
  static const bool installed = Install();
  static_cast<void>(installed);
}

#ifndef MADV_POPULATE_WRITE  // older headers
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

// Lets the host provide many pages in one call, in place of a fault for each. Where it cannot,
// nothing is lost: the access shows.
void Populate(const GuardedPiece& piece, int advice) {
  constexpr uint64_t kEnough = 16 * kPage;
  if (piece.size < kEnough) return;
  const int before = errno;
  const uint64_t first = piece.base / kPage * kPage;
  madvise(reinterpret_cast<void*>(first), piece.base + piece.size - first, advice);
  errno = before;
}

// `access` must have nothing to undo: it may end anywhere.
template <typename Access>
[[gnu::noinline]] const void* Try(GuardedAttempt& now, const Access& access) {
  InstallOnce();
  for (const GuardedPiece& piece : {now.written, now.read}) {
    if (piece.size > kEndOfUser || piece.base > kEndOfUser - piece.size) {
      return reinterpret_cast<const void*>(piece.base);
    }
  }
  Populate(now.written, MADV_POPULATE_WRITE);
  Populate(now.read, MADV_POPULATE_READ);
  if (sigsetjmp(now.before, 0) == 0) {
    guarded_attempt = &now;
    access();
  }
  guarded_attempt = nullptr;
  return now.fault;
}

// Calls of two threads of the program may write the same memory at the same time. That is the
// program's race, not ours: the thread sanitizer sees both as accesses of kernels.
constexpr bool kAlwaysByWords = kThreadSanitizer;

void Repeat(char* memory, uint64_t size, uint32_t value, uint64_t width) {
  if (width == 1) {
    std::memset(memory, static_cast<int>(value & 0xff), size);
    return;
  }
  for (uint64_t done = 0; done < size; done += width) std::memcpy(memory + done, &value, width);
}

}  // namespace

const void* GuardedCopy(char* to, const char* from, uint64_t size, bool by_words) {
  GuardedAttempt now;
  now.written = PieceAt(to, size);
  now.read = PieceAt(from, size);
  return Try(now, [&] {
    by_words || kAlwaysByWords ? CopyByWords(to, from, size)
                               : static_cast<void>(std::memmove(to, from, size));
  });
}

const void* GuardedFill(char* memory, uint64_t size, uint32_t value, uint64_t width,
                        bool by_words) {
  GuardedAttempt now;
  now.written = PieceAt(memory, size);
  const auto fill = by_words || kAlwaysByWords ? FillByWords : Repeat;
  return Try(now, [&] { fill(memory, size, value, width); });
}

const void* FindInaccessible(const AddressRange& range, Access access) {
  const GuardedPiece piece = {range.base.value(), range.size.value()};
  const bool writes = access == Access::kReadWrite;
  GuardedAttempt now;
  (writes ? now.written : now.read) = piece;
  const void* const missing = Try(now, [&] {
    const uint64_t end = piece.base + piece.size;
    for (uint64_t at = piece.base; at < end; at = at / kPage * kPage + kPage) {
      auto* const byte = reinterpret_cast<char*>(at);
      if (writes) {
        __atomic_fetch_or(byte, 0, __ATOMIC_RELAXED);
      } else {
        static_cast<void>(__atomic_load_n(byte, __ATOMIC_RELAXED));
      }
    }
  });
  PagesThatMayGo* const pages = PagesThatMayGo::Current();
  if (missing == nullptr && pages != nullptr) pages->Add(range);
  return missing;
}

thread_local PagesThatMayGo* volatile PagesThatMayGo::current_ = nullptr;

PagesThatMayGo::PagesThatMayGo() { current_ = this; }

PagesThatMayGo::~PagesThatMayGo() {
  current_ = nullptr;
  for (size_t i = 0; i < count_; ++i) munmap(reinterpret_cast<void*>(replaced_[i]), kPage);
}

void PagesThatMayGo::Add(const AddressRange& found) {
  const uint64_t end = found.base.value() + found.size.value();
  for (uint64_t page = found.base.value() / kPage; page * kPage < end; ++page) {
    found_[page % found_.size()] = page;
  }
}

// In a signal handler. False: it is none of these pages, or the host refuses.
bool PagesThatMayGo::Replace(const void* address) {
  const uint64_t page = reinterpret_cast<uint64_t>(address) / kPage;
  if (found_[page % found_.size()] != page || count_ == replaced_.size()) return false;
  const int before = errno;
  void* const there = reinterpret_cast<void*>(page * kPage);
  const void* const made = mmap(there, kPage, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  const bool is_there = made == there || errno == EEXIST;  // or again there, of the program
  errno = before;
  if (made != there) return is_there;
  replaced_[count_++] = page * kPage;
  if (gone_ == nullptr) gone_ = address;
  return true;
}

}  // namespace twinmmu
