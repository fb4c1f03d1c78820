// How the library starts threads of its own.

#ifndef TWINMMU_SIM_STREAMS_LIBRARY_THREAD_H_
#define TWINMMU_SIM_STREAMS_LIBRARY_THREAD_H_

#include <signal.h>

#include <memory>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

namespace twinmmu {

// A thread that runs `run`, or null if the host gives none. The program's signals are not for it;
// those of its own accesses are: see guarded_access.h.
template <typename Run>
std::unique_ptr<std::thread> StartLibraryThread(Run run) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  sigdelset(&all, SIGSEGV);
  sigdelset(&all, SIGBUS);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::unique_ptr<std::thread> started;
  try {
    started = std::make_unique<std::thread>(std::move(run));
  } catch (const std::system_error&) {
  } catch (const std::bad_alloc&) {
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

}  // namespace twinmmu

#endif  // TWINMMU_SIM_STREAMS_LIBRARY_THREAD_H_
