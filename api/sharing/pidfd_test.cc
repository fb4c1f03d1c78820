// Descriptors taken from another process.

#include "api/sharing/pidfd.h"

#include <sys/resource.h>

#include <csignal>
#include <string>

#include "absl/status/status.h"
#include "api/sharing/testing.h"
#include "api/testing/matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu {
namespace {

using ::testing::HasSubstr;

std::string Words(const absl::StatusOr<OwnedDescriptor>& taken) {
  return std::string(taken.status().message());
}

// A process with a file that this one has not, at a number that is told and at 0.
class PidfdTest : public ::testing::Test {
 protected:
  PidfdTest() : before_(OpenDescriptors()) {
    child_ = Start([&] {
      const OwnedDescriptor file = NewFile();
      const int number = file.get();
      if (write(file.get(), "shared", 6) != 6) _exit(1);
      if (dup2(number, STDIN_FILENO) != STDIN_FILENO) _exit(1);
      if (send(sockets_.there.get(), &number, sizeof(number), 0) != sizeof(number)) _exit(1);
      pause();
    });
    EXPECT_EQ(recv(sockets_.here.get(), &number_, sizeof(number_), 0), ssize_t{sizeof(number_)});
  }
  ~PidfdTest() override {
    End();
    sockets_.here.Close();
    sockets_.there.Close();
    EXPECT_EQ(OpenDescriptors(), before_) << "a descriptor was left open";
  }
  pid_t child() const { return child_; }
  int number() const { return number_; }
  void End() {
    if (ended_) return;
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    ended_ = true;
  }

 private:
  const int before_;
  Sockets sockets_;
  pid_t child_ = -1;
  int number_ = -1;
  bool ended_ = false;
};

// The other process's file is here, closed on exec, and stays when that process ends.
TEST_F(PidfdTest, TakesTheFile) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const OwnedDescriptor taken, ReceiveByPidfd(child(), number()));
  EXPECT_EQ(fcntl(taken.get(), F_GETFD), FD_CLOEXEC);
  End();
  char content[7] = {};
  EXPECT_EQ(pread(taken.get(), content, 6, 0), 6);
  EXPECT_STREQ(content, "shared");
}

// A driver takes descriptor 0 for a null pointer. Even where that number is free, another one is
// given: the process itself has it meanwhile.
TEST_F(PidfdTest, ADescriptorIsNeverZero) {
  const WithoutStandardInput closed;
  TWINMMU_ASSERT_OK_AND_ASSIGN(const OwnedDescriptor taken, ReceiveByPidfd(child(), number()));
  EXPECT_GT(taken.get(), 0);
  EXPECT_FALSE(IsOpen(0));
}

// The other process may well have the file at number 0.
TEST_F(PidfdTest, TakesTheFileAtNumberZero) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const OwnedDescriptor taken, ReceiveByPidfd(child(), 0));
  char content[7] = {};
  EXPECT_EQ(pread(taken.get(), content, 6, 0), 6);
  EXPECT_STREQ(content, "shared");
}

// A process that has ended is not found.
TEST_F(PidfdTest, AProcessThatEndedIsNotFound) {
  End();
  const auto taken = ReceiveByPidfd(child(), number());
  EXPECT_THAT(taken, StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(Words(taken), HasSubstr("there is no such process"));
}

// A number that the other process has not open is not found.
TEST_F(PidfdTest, ANumberThatIsNotOpenIsNotFound) {
  const auto taken = ReceiveByPidfd(child(), 1 << 20);
  EXPECT_THAT(taken, StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(Words(taken), HasSubstr("it is not open there"));
}

// Numbers that no process and no descriptor has are refused by name.
TEST_F(PidfdTest, RefusesWhatIsNoNumber) {
  for (const pid_t pid : {0, -1}) {
    const auto taken = ReceiveByPidfd(pid, number());
    EXPECT_THAT(taken, StatusIs(absl::StatusCode::kInvalidArgument));
    EXPECT_THAT(Words(taken), HasSubstr("pid is "));
  }
  const auto taken = ReceiveByPidfd(child(), -1);
  EXPECT_THAT(taken, StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(Words(taken), HasSubstr("descriptor is -1"));
}

// Where this process can have no more descriptors, it is told its limit.
TEST_F(PidfdTest, NoDescriptorLeft) {
  const pid_t process = child();
  const int theirs = number();
  rlim_t allowed = 0;
  const auto taken = [&] {
    const NoDescriptorLeft none;
    rlimit limit = {};
    getrlimit(RLIMIT_NOFILE, &limit);
    allowed = limit.rlim_cur;
    return ReceiveByPidfd(process, theirs);
  }();
  EXPECT_THAT(taken, StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(Words(taken), HasSubstr("may have " + std::to_string(allowed) + " (RLIMIT_NOFILE)"));
}

}  // namespace
}  // namespace twinmmu
