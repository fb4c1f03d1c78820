#include "sim/testing/failing_host.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <new>

namespace twinmmu::failing_host {
namespace {

struct State {
  Fails what = Fails::kSystemCalls;
  uint64_t countdown = 0;
  bool for_good = false;
  bool spent = true;
  bool failed = false;
  std::atomic<int64_t> mapped = 0;
  std::atomic<int64_t> objects = 0;
};
State state;
// What other threads do meanwhile never fails: the next run would not repeat it.
thread_local bool inside = false;

bool ShouldFail(Fails what) {
  if (!inside || state.spent || state.what != what) return false;
  if (state.failed) return state.for_good;
  state.failed = state.countdown == 0;
  if (!state.failed) --state.countdown;
  return state.failed;
}

bool CallFails(int error) {
  if (!ShouldFail(Fails::kSystemCalls)) return false;
  errno = error;
  return true;
}

}  // namespace

void FailAt(Fails what, uint64_t n, bool for_good) {
  state.what = what;
  state.countdown = n;
  state.for_good = for_good;
  state.spent = false;
}

Scope::Scope() {
  inside = true;
  state.failed = false;
}

Scope::~Scope() {
  inside = false;
  state.spent = state.spent || state.failed;
}

bool Scope::failed() const { return state.failed; }

uint64_t Countdown() { return state.spent ? 0 : state.countdown; }

int64_t MappedBytes() { return state.mapped; }
int64_t LiveObjects() { return state.objects; }

// The linker sends the calls of the whole program to the __wrap_ functions.
extern "C" {

void* __real_mmap(void* address, size_t size, int protection, int flags, int file, off_t offset);
void* __wrap_mmap(void* address, size_t size, int protection, int flags, int file, off_t offset) {
  if (CallFails(ENOMEM)) return MAP_FAILED;
  void* const mapped = __real_mmap(address, size, protection, flags, file, offset);
  const bool fresh = mapped != MAP_FAILED && (flags & MAP_FIXED) == 0;
  if (fresh) state.mapped += static_cast<int64_t>(size);
  return mapped;
}

int __real_munmap(void* address, size_t size);
int __wrap_munmap(void* address, size_t size) {
  if (CallFails(ENOMEM)) return -1;
  const int result = __real_munmap(address, size);
  if (result == 0) state.mapped -= static_cast<int64_t>(size);
  return result;
}

void* __real_mremap(void* address, size_t size, size_t new_size, int flags, void* to);
void* __wrap_mremap(void* address, size_t size, size_t new_size, int flags, void* to) {
  return CallFails(ENOMEM) ? MAP_FAILED : __real_mremap(address, size, new_size, flags, to);
}

int __real_mprotect(void* address, size_t size, int protection);
int __wrap_mprotect(void* address, size_t size, int protection) {
  return CallFails(ENOMEM) ? -1 : __real_mprotect(address, size, protection);
}

int __real_memfd_create(const char* name, unsigned int flags);
int __wrap_memfd_create(const char* name, unsigned int flags) {
  return CallFails(EMFILE) ? -1 : __real_memfd_create(name, flags);
}

int __real_open(const char* path, int flags, mode_t mode);
int __wrap_open(const char* path, int flags, mode_t mode) {
  return CallFails(EMFILE) ? -1 : __real_open(path, flags, mode);
}

ssize_t __real_pread(int file, void* data, size_t size, off_t offset);
ssize_t __wrap_pread(int file, void* data, size_t size, off_t offset) {
  return CallFails(EIO) ? -1 : __real_pread(file, data, size, offset);
}

ssize_t __real_pwrite(int file, const void* data, size_t size, off_t offset);
ssize_t __wrap_pwrite(int file, const void* data, size_t size, off_t offset) {
  return CallFails(ENOSPC) ? -1 : __real_pwrite(file, data, size, offset);
}

int __real_faccessat(int folder, const char* path, int mode, int flags);
int __wrap_faccessat(int folder, const char* path, int mode, int flags) {
  return CallFails(ENOMEM) ? -1 : __real_faccessat(folder, path, mode, flags);
}

int __real_stat(const char* path, struct stat* result);
int __wrap_stat(const char* path, struct stat* result) {
  return CallFails(ENOMEM) ? -1 : __real_stat(path, result);
}

int __real_symlink(const char* target, const char* path);
int __wrap_symlink(const char* target, const char* path) {
  return CallFails(ENOSPC) ? -1 : __real_symlink(target, path);
}

int __real_unlink(const char* path);
int __wrap_unlink(const char* path) { return CallFails(EIO) ? -1 : __real_unlink(path); }

int __real_ftruncate(int file, off_t size);
int __wrap_ftruncate(int file, off_t size) {
  return CallFails(ENOSPC) ? -1 : __real_ftruncate(file, size);
}

int __real_fstat(int file, struct stat* result);
int __wrap_fstat(int file, struct stat* result) {
  return CallFails(ENOMEM) ? -1 : __real_fstat(file, result);
}

int __real_fstatfs(int file, struct statfs* result);
int __wrap_fstatfs(int file, struct statfs* result) {
  return CallFails(ENOMEM) ? -1 : __real_fstatfs(file, result);
}

int __real_fcntl(int file, int command, long argument);
int __wrap_fcntl(int file, int command, long argument) {
  return CallFails(ENOMEM) ? -1 : __real_fcntl(file, command, argument);
}

// Linux has closed the descriptor when it reports an error.
int __real_close(int file);
int __wrap_close(int file) {
  const int result = __real_close(file);
  return CallFails(EINTR) ? -1 : result;
}

}  // extern "C"
}  // namespace twinmmu::failing_host

void* operator new(size_t size) {
  using twinmmu::failing_host::Fails;
  void* const memory =
      twinmmu::failing_host::ShouldFail(Fails::kMemory) ? nullptr : std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  ++twinmmu::failing_host::state.objects;
  return memory;
}

void operator delete(void* memory) noexcept {
  if (memory != nullptr) --twinmmu::failing_host::state.objects;
  std::free(memory);
}

void operator delete(void* memory, size_t /*size*/) noexcept { operator delete(memory); }
