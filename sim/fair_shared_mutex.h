// FairSharedMutex: std::shared_mutex, but a writer gets its turn.

#ifndef TWINMMU_SIM_FAIR_SHARED_MUTEX_H_
#define TWINMMU_SIM_FAIR_SHARED_MUTEX_H_

#include <pthread.h>

namespace twinmmu {

// The C++ library's shared_mutex prefers readers: threads that copy without a pause would keep an
// unmap waiting for ever. This one lets nobody past a writer that waits, so it must not be locked
// shared twice by one thread. For std::unique_lock and std::shared_lock.
class FairSharedMutex {
 public:
  FairSharedMutex() {
    pthread_rwlockattr_t attributes;
    pthread_rwlockattr_init(&attributes);
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&lock_, &attributes);
    pthread_rwlockattr_destroy(&attributes);
  }
  ~FairSharedMutex() { pthread_rwlock_destroy(&lock_); }
  FairSharedMutex(const FairSharedMutex&) = delete;
  FairSharedMutex& operator=(const FairSharedMutex&) = delete;

  void lock() { pthread_rwlock_wrlock(&lock_); }
  void unlock() { pthread_rwlock_unlock(&lock_); }
  void lock_shared() { pthread_rwlock_rdlock(&lock_); }
  void unlock_shared() { pthread_rwlock_unlock(&lock_); }

 private:
  pthread_rwlock_t lock_;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_FAIR_SHARED_MUTEX_H_
