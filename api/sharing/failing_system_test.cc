// Each call that sending, receiving and taking make of the system fails in turn, in a child in
// which the kernel refuses it: a clear error comes of it, and no descriptor is left open.

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <functional>
#include <iostream>
#include <string>

#include "absl/status/status.h"
#include "api/sharing/pidfd.h"
#include "api/sharing/socket.h"
#include "api/sharing/testing.h"
#include "gtest/gtest.h"

namespace twinmmu {
namespace {

// From now on the call with this number fails in this process.
void LetFail(int64_t call, int error) {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(call), 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<uint32_t>(error)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};
  const bool installed = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
  if (installed) return;
  std::cerr << "no filter of calls\n";
  _exit(2);
}

struct Failure {
  const char* name;
  int64_t call;
  int error;
  absl::StatusCode code;
  const char* words;
};
void PrintTo(const Failure& failure, std::ostream* out) { *out << failure.name; }

class FailingSystemTest : public ::testing::TestWithParam<Failure> {
 protected:
  // In a child: the call fails, and so does `work`, with the words expected on stderr.
  void ExpectError(const std::function<absl::Status()>& work) {
    const Failure& failure = GetParam();
    EXPECT_EXIT(
        {
          LetFail(failure.call, failure.error);
          const int before = OpenDescriptors();
          const absl::Status status = work();
          std::cerr << status << "\n";
          const bool leaks = OpenDescriptors() != before;
          if (leaks) std::cerr << "a descriptor was left open\n";
          _exit(!leaks && status.code() == failure.code ? 0 : 1);
        },
        ::testing::ExitedWithCode(0), failure.words);
  }
};

class FailingSendTest : public FailingSystemTest {};
INSTANTIATE_TEST_SUITE_P(
    Calls, FailingSendTest,
    ::testing::Values(
        Failure{"getsockopt", SYS_getsockopt, ENOTSOCK, absl::StatusCode::kInvalidArgument,
                "not a socket"},
        Failure{"getpeername", SYS_getpeername, ENOTCONN, absl::StatusCode::kInvalidArgument,
                "not connected"},
        Failure{"fcntl", SYS_fcntl, EBADF, absl::StatusCode::kInvalidArgument, "not open"},
        Failure{"poll", SYS_poll, ENOMEM, absl::StatusCode::kResourceExhausted, "waiting for a"},
        Failure{"sendmsgIsGone", SYS_sendmsg, ECONNRESET, absl::StatusCode::kUnavailable,
                "was not sent"},
        Failure{"sendmsgTooManyUnderWay", SYS_sendmsg, ETOOMANYREFS,
                absl::StatusCode::kResourceExhausted, "under way"},
        Failure{"sendmsgNoBuffers", SYS_sendmsg, ENOBUFS, absl::StatusCode::kResourceExhausted,
                "sending"},
        Failure{"sendmsgRefused", SYS_sendmsg, EACCES, absl::StatusCode::kInternal, "sending"},
        Failure{"sendmsgNeverReady", SYS_sendmsg, EAGAIN, absl::StatusCode::kDeadlineExceeded,
                "did not read"}),
    ::testing::PrintToStringParamName());

TEST_P(FailingSendTest, IsAClearError) {
  const Sockets sockets;
  const OwnedDescriptor file = NewFile();
  ExpectError([&] {
    return SendShareableHandle(sockets.here.get(), ShareableHandle::FileDescriptor(file.get()),
                               MiB(2), {std::chrono::milliseconds(20)});
  });
}

class FailingReceiveTest : public FailingSystemTest {};
INSTANTIATE_TEST_SUITE_P(
    Calls, FailingReceiveTest,
    ::testing::Values(
        Failure{"getsockopt", SYS_getsockopt, EBADF, absl::StatusCode::kInvalidArgument,
                "not an open descriptor"},
        Failure{"setsockopt", SYS_setsockopt, EPERM, absl::StatusCode::kInternal,
                "asking who sends"},
        Failure{"poll", SYS_poll, ENOMEM, absl::StatusCode::kResourceExhausted, "waiting for a"},
        Failure{"recvmsgIsGone", SYS_recvmsg, ECONNRESET, absl::StatusCode::kUnavailable,
                "no shareable handle came"},
        Failure{"recvmsgNoMemory", SYS_recvmsg, ENOMEM, absl::StatusCode::kResourceExhausted,
                "receiving"},
        Failure{"recvmsgRefused", SYS_recvmsg, EACCES, absl::StatusCode::kInternal, "receiving"},
        Failure{"recvmsgNeverReady", SYS_recvmsg, EAGAIN, absl::StatusCode::kDeadlineExceeded,
                "no shareable handle came"}),
    ::testing::PrintToStringParamName());

TEST_P(FailingReceiveTest, IsAClearError) {
  const Sockets sockets;
  const OwnedDescriptor file = NewFile();
  ASSERT_TRUE(
      SendShareableHandle(sockets.here.get(), ShareableHandle::FileDescriptor(file.get()), MiB(2))
          .ok());
  ExpectError([&] {
    return ReceiveShareableHandle(sockets.there.get(),
                                  {std::chrono::milliseconds(20), geteuid(), {}})
        .status();
  });
}

class FailingPidfdTest : public FailingSystemTest {};
INSTANTIATE_TEST_SUITE_P(
    Calls, FailingPidfdTest,
    ::testing::Values(
        Failure{"openUnknown", SYS_pidfd_open, ENOSYS, absl::StatusCode::kUnimplemented,
                "no pidfd_open, which Linux has from 5.6 on"},
        Failure{"getUnknown", SYS_pidfd_getfd, ENOSYS, absl::StatusCode::kUnimplemented,
                "no pidfd_getfd, which Linux has from 5.6 on"},
        Failure{"openForbidden", SYS_pidfd_open, EPERM, absl::StatusCode::kPermissionDenied,
                "prctl.PR_SET_PTRACER, "},
        Failure{"getForbidden", SYS_pidfd_getfd, EPERM, absl::StatusCode::kPermissionDenied,
                "prctl.PR_SET_PTRACER, "},
        Failure{"getNoMoreHere", SYS_pidfd_getfd, EMFILE, absl::StatusCode::kResourceExhausted,
                "RLIMIT_NOFILE"},
        Failure{"openNoMoreAnywhere", SYS_pidfd_open, ENFILE, absl::StatusCode::kResourceExhausted,
                "pidfd_open"},
        Failure{"getIsGone", SYS_pidfd_getfd, ESRCH, absl::StatusCode::kNotFound,
                "no such process"},
        Failure{"getRefused", SYS_pidfd_getfd, EIO, absl::StatusCode::kInternal, "pidfd_getfd"}),
    ::testing::PrintToStringParamName());

TEST_P(FailingPidfdTest, IsAClearError) {
  const OwnedDescriptor file = NewFile();
  ExpectError([&] { return ReceiveByPidfd(getpid(), file.get()).status(); });
}

}  // namespace
}  // namespace twinmmu
