// A transfer that is interrupted at each of its steps: each call of the system fails in turn, and
// either process is killed in the place of each call. The other one is told, and never waits; no
// descriptor is left.

#include <cerrno>
#include <chrono>
#include <csignal>
#include <string>

#include "absl/status/status.h"
#include "api/sharing/interrupted_calls.h"
#include "api/sharing/socket.h"
#include "api/sharing/testing.h"
#include "api/testing/matchers.h"
#include "gtest/gtest.h"

namespace twinmmu {
namespace {

using interrupted_calls::EndInterruptions;
using interrupted_calls::InterruptAt;
using interrupted_calls::kKilled;
using std::chrono::seconds;

constexpr auto kGone = absl::StatusCode::kUnavailable;
// Whoever waits does so for the other process, and would wait that long for one that is not there.
constexpr auto kLong = seconds(60);
constexpr auto kAtOnce = seconds(20);
// More calls than a transfer makes, which a test finds to be so.
constexpr int kCalls = 40;

// Fails a test that takes long.
class EachStepTest : public ::testing::Test {
 protected:
  ~EachStepTest() override {
    file_.Close();
    EXPECT_EQ(OpenDescriptors(), before_) << "a descriptor was left open";
    EXPECT_LT(std::chrono::steady_clock::now() - start_, kAtOnce);
  }

  absl::Status Send(const Sockets& sockets) const {
    return SendShareableHandle(sockets.here.get(), ShareableHandle::FileDescriptor(file_.get()),
                               MiB(2), {kLong});
  }
  static absl::StatusOr<ReceivedMemory> Receive(const Sockets& sockets) {
    return ReceiveShareableHandle(sockets.there.get(), {kLong, geteuid(), {}});
  }
  // A process that does `work`, and is killed in the place of its n-th call; then it has the end
  // of the sockets that `keep` names, and this one the other.
  template <typename Work>
  static pid_t StartKilledAt(int n, const Work& work, OwnedDescriptor Sockets::*keep,
                             Sockets& sockets) {
    OwnedDescriptor& other = keep == &Sockets::here ? sockets.there : sockets.here;
    const pid_t child = Start([&] {
      other.Close();
      InterruptAt(n, kKilled);
      if (!work().ok()) _exit(1);
    });
    (sockets.*keep).Close();
    return child;
  }
  // Waits for its end. False: it came to an end before, and all was well.
  static bool WasKilled(pid_t child) {
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(status == 0 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)) << status;
    return status != 0;
  }
  const OwnedDescriptor& file() const { return file_; }

 private:
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  const int before_ = OpenDescriptors();
  OwnedDescriptor file_ = NewFile();
};

// What is only a reason to make the call again.
bool IsForLater(const std::string& call, int error) {
  const bool transfers = call == "sendmsg" || call == "recvmsg";
  return (transfers && error == EAGAIN) || ((transfers || call == "poll") && error == EINTR);
}

// Whatever call of the sender fails, it has an error and the receiver has its end; or the call is
// made again, and all is well.
TEST_F(EachStepTest, ACallOfTheSenderFails) {
  for (const int error : {EINTR, EAGAIN, ENOMEM, ENOBUFS, EIO, EPIPE, ECONNRESET}) {
    for (int n = 0; n < kCalls; ++n) {
      SCOPED_TRACE(testing::Message() << "call " << n << ", errno " << error);
      Sockets sockets;
      InterruptAt(n, error);
      const absl::Status sent = Send(sockets);
      const std::string failed = EndInterruptions();
      sockets.here.Close();
      const auto received = Receive(sockets);
      EXPECT_EQ(sent.ok(), failed.empty() || IsForLater(failed, error)) << failed;
      EXPECT_EQ(sent.ok(), received.ok());
      if (!sent.ok()) {
        EXPECT_EQ(received.status().code(), kGone) << received.status();
      }
      if (failed.empty()) {
        EXPECT_GT(n, 8) << "a message takes several pieces";
        break;
      }
      ASSERT_LT(n + 1, kCalls);
    }
  }
}

// Whatever call of the receiver fails, nothing of the message stays open; or the call is made
// again, and all is well.
TEST_F(EachStepTest, ACallOfTheReceiverFails) {
  for (const int error : {EINTR, EAGAIN, ENOMEM, EMFILE, EIO, ECONNRESET}) {
    for (int n = 0; n < kCalls; ++n) {
      SCOPED_TRACE(testing::Message() << "call " << n << ", errno " << error);
      const Sockets sockets;
      ASSERT_THAT(Send(sockets), IsOk());
      const int open = OpenDescriptors();
      InterruptAt(n, error);
      auto received = Receive(sockets);
      const std::string failed = EndInterruptions();
      // The socket stays as it is where it cannot be set back.
      const bool was_there = failed == "setsockopt" && n > 8;
      EXPECT_EQ(received.ok(), failed.empty() || was_there || IsForLater(failed, error)) << failed;
      if (received.ok()) {
        EXPECT_TRUE(IsSameFile(received->descriptor.get(), file().get()));
        received->descriptor.Close();
      }
      EXPECT_EQ(OpenDescriptors(), open) << received.status();
      if (failed.empty()) {
        EXPECT_GT(n, 8) << "a message takes several pieces";
        break;
      }
      ASSERT_LT(n + 1, kCalls);
    }
  }
}

// Wherever a sender is killed, the receiver is told so at once.
TEST_F(EachStepTest, TheSenderIsKilled) {
  for (int n = 0; n < kCalls; ++n) {
    SCOPED_TRACE(n);
    Sockets sockets;
    const pid_t sender = StartKilledAt(
        n, [&] { return Send(sockets); }, &Sockets::here, sockets);
    const auto received = Receive(sockets);
    if (!WasKilled(sender)) {
      EXPECT_THAT(received, IsOk());
      EXPECT_GT(n, 8) << "a message takes several pieces";
      return;
    }
    EXPECT_EQ(received.status().code(), kGone) << received.status();
  }
  FAIL() << "more calls than expected";
}

// Wherever a receiver is killed, the sender is told so at once, at its next message at the latest.
TEST_F(EachStepTest, TheReceiverIsKilled) {
  for (int n = 0; n < kCalls; ++n) {
    SCOPED_TRACE(n);
    Sockets sockets;
    const pid_t receiver = StartKilledAt(
        n, [&] { return Receive(sockets); }, &Sockets::there, sockets);
    const absl::Status sent = Send(sockets);
    EXPECT_TRUE(sent.ok() || sent.code() == kGone) << sent;
    const bool killed = WasKilled(receiver);
    EXPECT_EQ(Send(sockets).code(), kGone);
    if (killed) continue;
    EXPECT_GT(n, 8) << "a message takes several pieces";
    return;
  }
  FAIL() << "more calls than expected";
}

// A sender that waits, since the receiver reads nothing, is told so when that one is killed.
TEST_F(EachStepTest, TheReceiverIsKilledWhileTheSenderWaits) {
  Sockets sockets;
  Sockets start;
  ShareableHandle fabric;
  fabric.type = HandleType::kFabric;
  const pid_t receiver = Start([&] {
    sockets.here.Close();
    start.here.Close();
    char byte;
    if (recv(start.there.get(), &byte, 1, 0) != 1) _exit(1);
    usleep(50 * 1000);  // The other one waits by now, or it does not: that is no matter.
    kill(getpid(), SIGKILL);
  });
  sockets.there.Close();
  start.there.Close();
  absl::Status sent;
  while (sent.ok()) sent = SendShareableHandle(sockets.here.get(), fabric, MiB(2), {seconds(0)});
  EXPECT_EQ(sent.code(), absl::StatusCode::kDeadlineExceeded) << "the socket is full: " << sent;
  ASSERT_EQ(send(start.here.get(), "", 1, 0), 1);
  EXPECT_EQ(Send(sockets).code(), kGone);
  EXPECT_TRUE(WasKilled(receiver));
}

}  // namespace
}  // namespace twinmmu
