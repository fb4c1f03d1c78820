#include "sim/base/fork_count.h"

#include <pthread.h>

#include <atomic>

namespace twinmmu {
namespace {

std::atomic<uint32_t> forks(0);

// Before main(). Where the program has no memory for it, there will be no simulator either.
[[maybe_unused]] const int registered = pthread_atfork(nullptr, nullptr, [] { ++forks; });

}  // namespace

uint32_t ForkCount() { return forks.load(std::memory_order_relaxed); }

}  // namespace twinmmu
