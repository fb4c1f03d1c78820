// System helpers for the tests of this folder.

#ifndef TWINMMU_API_SHARING_TESTING_H_
#define TWINMMU_API_SHARING_TESTING_H_

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/sharing/owned_descriptor.h"
#include "gtest/gtest.h"

namespace twinmmu {

// How many descriptors this process has open. Makes none of the calls that tests interrupt.
inline int OpenDescriptors() {
  int count = 0;
  DIR* const all = opendir("/proc/self/fd");
  EXPECT_NE(all, nullptr);
  while (all != nullptr && readdir(all) != nullptr) ++count;
  if (all != nullptr) closedir(all);
  return count;
}

inline bool IsOpen(int descriptor) { return fcntl(descriptor, F_GETFD) != -1; }

// A new unnamed file, standing in for device memory.
inline OwnedDescriptor NewFile() { return OwnedDescriptor(memfd_create("shared", MFD_CLOEXEC)); }

// True if both descriptors refer to the same file.
inline bool IsSameFile(int one, int other) {
  struct stat of_one = {};
  struct stat of_other = {};
  return fstat(one, &of_one) == 0 && fstat(other, &of_other) == 0 &&
         of_one.st_ino == of_other.st_ino && of_one.st_dev == of_other.st_dev;
}

// Two connected sockets.
struct Sockets {
  explicit Sockets(int type = SOCK_STREAM) {
    int numbers[2] = {-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, numbers), 0);
    here = OwnedDescriptor(numbers[0]);
    there = OwnedDescriptor(numbers[1]);
  }

  OwnedDescriptor here;
  OwnedDescriptor there;
};

// A process that does `work` and ends.
template <typename Work>
pid_t Start(const Work& work) {
  const pid_t child = fork();
  EXPECT_GE(child, 0);
  if (child == 0) {
    work();
    _exit(0);
  }
  return child;
}
inline void Await(pid_t child) {
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// Keeps descriptor 0 free during its lifetime.
class WithoutStandardInput {
 public:
  WithoutStandardInput() : usual_(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 1)) {
    EXPECT_EQ(close(STDIN_FILENO), 0);
  }
  ~WithoutStandardInput() { EXPECT_EQ(dup2(usual_.get(), STDIN_FILENO), STDIN_FILENO); }

 private:
  const OwnedDescriptor usual_;
};

// During its lifetime, no descriptor number from `first` on can be opened. A sanitizer needs one to
// inspect objects: call only what is tested meanwhile.
class NoDescriptorLeft {
 public:
  explicit NoDescriptorLeft(int first = 0) {
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &usual_), 0);
    const OwnedDescriptor next(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, first));
    rlimit none = usual_;
    none.rlim_cur = static_cast<rlim_t>(next.get());
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  }
  ~NoDescriptorLeft() { EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &usual_), 0); }

 private:
  rlimit usual_ = {};
};

}  // namespace twinmmu

#endif  // TWINMMU_API_SHARING_TESTING_H_
