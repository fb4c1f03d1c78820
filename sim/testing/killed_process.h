// KilledProcess: a process that is killed at a system call of a test's choice.

#ifndef TWINMMU_SIM_TESTING_KILLED_PROCESS_H_
#define TWINMMU_SIM_TESTING_KILLED_PROCESS_H_

#include <functional>

namespace twinmmu {

enum class End {
  kKilled,
  kByItself,   // its role came to an end, and none of its expectations failed
  kFailed,     // or with a failure, or by a signal of its own
  kNotTraced,  // this system does not let one process follow another
};

// Does `role` in another process, made by fork, and kills that at a stop: before and after each
// system call there is one; the first is 1. In between, all that the process does to memory that it
// shares is done.
End KillAtStop(int stop, const std::function<void()>& role);

}  // namespace twinmmu

#endif  // TWINMMU_SIM_TESTING_KILLED_PROCESS_H_
