// Shareable handles through a socket: what comes out at the other end, and what is refused.

#include "api/sharing/socket.h"

#include <netinet/in.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/un.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "api/sharing/testing.h"
#include "api/testing/matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

constexpr milliseconds kShort(50);

MATCHER_P2(Says, code, words, "") {
  const absl::Status& status = testing_internal::StatusOf(arg);
  *result_listener << "which is " << status;
  return status.code() == code && std::string(status.message()).find(words) != std::string::npos;
}

ShareableHandle Fabric() {
  ShareableHandle handle;
  handle.type = HandleType::kFabric;
  for (size_t i = 0; i < handle.fabric.size(); ++i) handle.fabric[i] = static_cast<uint8_t>(i + 1);
  return handle;
}

// Every test leaves as many descriptors open as there were, but for its own.
class SocketTest : public ::testing::TestWithParam<int> {
 protected:
  SocketTest() : before_(OpenDescriptors()), sockets_(GetParam()), file_(NewFile()) {}
  ~SocketTest() override {
    sockets_ = Sockets(GetParam());
    sockets_.here.Close();
    sockets_.there.Close();
    file_.Close();
    EXPECT_EQ(OpenDescriptors(), before_) << "a descriptor was left open";
  }
  int here() const { return sockets_.here.get(); }
  int there() const { return sockets_.there.get(); }
  const OwnedDescriptor& file() const { return file_; }
  ShareableHandle handle() const { return ShareableHandle::FileDescriptor(file_.get()); }
  Sockets& sockets() { return sockets_; }

  // A message as the library makes it, to be changed; it is sent by hand.
  std::string Message(const ShareableHandle& handle) {
    EXPECT_THAT(SendShareableHandle(here(), handle, MiB(2)), IsOk());
    std::string bytes(200, '\0');
    const ssize_t length = recv(there(), bytes.data(), bytes.size(), 0);
    EXPECT_GT(length, 0);
    bytes.resize(static_cast<size_t>(length));
    return bytes;
  }
  // What others send: any bytes, any number of copies of the file.
  void SendByHand(const std::string& bytes, size_t descriptors) {
    std::string copy = bytes;
    iovec data = {copy.data(), copy.size()};
    std::vector<int> numbers(descriptors, file_.get());
    std::vector<char> control(CMSG_SPACE(descriptors * sizeof(int)));
    msghdr message = {};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    if (descriptors != 0) {
      message.msg_control = control.data();
      message.msg_controllen = control.size();
      cmsghdr* const rights = CMSG_FIRSTHDR(&message);
      rights->cmsg_level = SOL_SOCKET;
      rights->cmsg_type = SCM_RIGHTS;
      rights->cmsg_len = CMSG_LEN(descriptors * sizeof(int));
      std::memcpy(CMSG_DATA(rights), numbers.data(), descriptors * sizeof(int));
    }
    EXPECT_EQ(sendmsg(here(), &message, MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  void ExpectRefused(const std::string& bytes, size_t descriptors, const std::string& words) {
    const int open = OpenDescriptors();
    SendByHand(bytes, descriptors);
    EXPECT_THAT(ReceiveShareableHandle(there(), {kShort, {}, {}}),
                Says(absl::StatusCode::kInvalidArgument, words));
    EXPECT_EQ(OpenDescriptors(), open) << words;
  }

 private:
  int before_;
  Sockets sockets_;
  OwnedDescriptor file_;
};
class StreamTest : public SocketTest {};
class PacketTest : public SocketTest {};

INSTANTIATE_TEST_SUITE_P(All, SocketTest, ::testing::Values(SOCK_STREAM, SOCK_SEQPACKET),
                         [](const ::testing::TestParamInfo<int>& type) {
                           return type.param == SOCK_STREAM ? "Stream" : "Packets";
                         });
// What only one of them has: parts of messages, and messages of a length.
INSTANTIATE_TEST_SUITE_P(All, PacketTest, ::testing::Values(SOCK_SEQPACKET),
                         ::testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(All, StreamTest, ::testing::Values(SOCK_STREAM),
                         ::testing::PrintToStringParamName());

// The receiver gets a descriptor of its own, closed on exec, and the size; the sender keeps its.
TEST_P(SocketTest, ADescriptorArrives) {
  ASSERT_THAT(SendShareableHandle(here(), handle(), MiB(6)), IsOk());
  TWINMMU_ASSERT_OK_AND_ASSIGN(const ReceivedMemory received, ReceiveShareableHandle(there()));
  EXPECT_EQ(received.size, MiB(6));
  EXPECT_EQ(received.handle.type, HandleType::kPosixFileDescriptor);
  EXPECT_EQ(received.handle.file_descriptor, received.descriptor.get());
  EXPECT_NE(received.descriptor.get(), file().get());
  EXPECT_TRUE(IsSameFile(received.descriptor.get(), file().get()));
  EXPECT_EQ(fcntl(received.descriptor.get(), F_GETFD), FD_CLOEXEC);
  EXPECT_TRUE(IsOpen(file().get()));
}

// A fabric handle arrives byte for byte, and opens nothing.
TEST_P(SocketTest, AFabricHandleArrives) {
  const int open = OpenDescriptors();
  ASSERT_THAT(SendShareableHandle(here(), Fabric(), GiB(3)), IsOk());
  TWINMMU_ASSERT_OK_AND_ASSIGN(const ReceivedMemory received, ReceiveShareableHandle(there()));
  EXPECT_EQ(received.handle.type, HandleType::kFabric);
  EXPECT_EQ(received.handle.fabric, Fabric().fabric);
  EXPECT_EQ(received.size, GiB(3));
  EXPECT_FALSE(received.descriptor.is_open());
  EXPECT_EQ(OpenDescriptors(), open);
}

// Several handles that wait arrive in order, each with its own descriptor.
TEST_P(SocketTest, HandlesKeepTheirOrder) {
  const OwnedDescriptor other = NewFile();
  ASSERT_THAT(SendShareableHandle(here(), handle(), MiB(1)), IsOk());
  ASSERT_THAT(SendShareableHandle(here(), Fabric(), MiB(2)), IsOk());
  ASSERT_THAT(SendShareableHandle(here(), ShareableHandle::FileDescriptor(other.get()), MiB(3)),
              IsOk());
  TWINMMU_ASSERT_OK_AND_ASSIGN(const ReceivedMemory first, ReceiveShareableHandle(there()));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const ReceivedMemory second, ReceiveShareableHandle(there()));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const ReceivedMemory third, ReceiveShareableHandle(there()));
  EXPECT_EQ(first.size, MiB(1));
  EXPECT_TRUE(IsSameFile(first.descriptor.get(), file().get()));
  EXPECT_EQ(second.size, MiB(2));
  EXPECT_EQ(third.size, MiB(3));
  EXPECT_TRUE(IsSameFile(third.descriptor.get(), other.get()));
}

// The sender may be gone before its handle is received.
TEST_P(SocketTest, AHandleOutlivesItsSender) {
  Await(Start([&] {
    if (!SendShareableHandle(here(), handle(), MiB(2)).ok()) _exit(1);
  }));
  sockets().here.Close();
  TWINMMU_ASSERT_OK_AND_ASSIGN(const ReceivedMemory received, ReceiveShareableHandle(there()));
  EXPECT_TRUE(IsSameFile(received.descriptor.get(), file().get()));
}

// The receiver waits for a sender that takes its time, on a socket that does not block as well.
TEST_P(SocketTest, WaitsForASlowSender) {
  ASSERT_EQ(fcntl(there(), F_SETFL, O_NONBLOCK), 0);
  std::thread sender([&] {
    std::this_thread::sleep_for(kShort);
    EXPECT_THAT(SendShareableHandle(here(), handle(), MiB(2)), IsOk());
  });
  EXPECT_THAT(ReceiveShareableHandle(there()), IsOk());
  sender.join();
}

// Where nobody sends, receiving ends when the time is over, and not before.
TEST_P(SocketTest, ReceivingTimesOut) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THAT(ReceiveShareableHandle(there(), {kShort, {}, {}}),
              Says(absl::StatusCode::kDeadlineExceeded, "no shareable handle came"));
  EXPECT_GE(std::chrono::steady_clock::now() - start, kShort);
}

// With no time at all, a handle that is there is taken, and none is waited for.
TEST_P(SocketTest, NoTimeMeansNoWaiting) {
  for (const milliseconds none : {milliseconds(0), milliseconds(-5), milliseconds::min()}) {
    EXPECT_THAT(ReceiveShareableHandle(there(), {none, {}, {}}),
                StatusIs(absl::StatusCode::kDeadlineExceeded));
    EXPECT_THAT(SendShareableHandle(here(), handle(), MiB(2), {none}), IsOk());
    EXPECT_THAT(ReceiveShareableHandle(there(), {none, {}, {}}), IsOk());
  }
}

// The longest time that can be said is no overflow.
TEST_P(SocketTest, MayWaitForEver) {
  ASSERT_THAT(SendShareableHandle(here(), handle(), MiB(2), {milliseconds::max()}), IsOk());
  EXPECT_THAT(ReceiveShareableHandle(there(), {milliseconds::max(), {}, {}}), IsOk());
}

// Signals that come while waiting neither end nor prolong it.
TEST_P(SocketTest, SignalsDoNotDisturb) {
  struct sigaction handler = {};
  struct sigaction usual = {};
  handler.sa_handler = [](int) {};
  ASSERT_EQ(sigaction(SIGALRM, &handler, &usual), 0);
  const itimerval often = {{0, 2000}, {0, 2000}};
  ASSERT_EQ(setitimer(ITIMER_REAL, &often, nullptr), 0);
  auto start = std::chrono::steady_clock::now();
  EXPECT_THAT(ReceiveShareableHandle(there(), {kShort, {}, {}}),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  EXPECT_GE(std::chrono::steady_clock::now() - start, kShort);
  while (SendShareableHandle(here(), Fabric(), MiB(2), {milliseconds(0)}).ok()) continue;
  start = std::chrono::steady_clock::now();
  EXPECT_THAT(SendShareableHandle(here(), Fabric(), MiB(2), {kShort}),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  EXPECT_GE(std::chrono::steady_clock::now() - start, kShort);
  const itimerval never = {};
  ASSERT_EQ(setitimer(ITIMER_REAL, &never, nullptr), 0);
  ASSERT_EQ(sigaction(SIGALRM, &usual, nullptr), 0);
}

// Where the other end is closed, the receiver is told so at once.
TEST_P(SocketTest, ReceivingFromNobodyIsUnavailable) {
  sockets().here.Close();
  EXPECT_THAT(ReceiveShareableHandle(there()),
              Says(absl::StatusCode::kUnavailable, "no shareable handle came"));
}

// Where the other end is closed, the sender is told so, and not ended by a signal.
TEST_P(SocketTest, SendingToNobodyIsUnavailable) {
  sockets().there.Close();
  EXPECT_THAT(SendShareableHandle(here(), handle(), MiB(2)),
              Says(absl::StatusCode::kUnavailable, "was not sent"));
}

// Where the other end closes while the receiver waits, the receiver wakes.
TEST_P(SocketTest, AnEndWakesTheReceiver) {
  std::thread closer([&] {
    std::this_thread::sleep_for(kShort);
    shutdown(here(), SHUT_RDWR);
  });
  EXPECT_THAT(ReceiveShareableHandle(there()), StatusIs(absl::StatusCode::kUnavailable));
  closer.join();
}

// Where nobody reads, sending ends when the time is over.
TEST_P(SocketTest, SendingTimesOut) {
  absl::Status status;
  for (int i = 0; i < 10000 && status.ok(); ++i) {
    status = SendShareableHandle(here(), Fabric(), MiB(2), {milliseconds(20)});
  }
  EXPECT_THAT(status, Says(absl::StatusCode::kDeadlineExceeded, "did not read"));
}

// A sender is let through by user and process, which are those of whoever sends each message.
TEST_P(SocketTest, TakesFromTheSenderThatIsAskedFor) {
  const pid_t child = Start([&] {
    if (!SendShareableHandle(here(), handle(), MiB(2)).ok()) _exit(1);
  });
  EXPECT_THAT(ReceiveShareableHandle(there(), {kSharingTimeout, geteuid(), child}), IsOk());
  Await(child);
  ASSERT_THAT(SendShareableHandle(here(), handle(), MiB(2)), IsOk());
  EXPECT_THAT(ReceiveShareableHandle(there(), {kSharingTimeout, geteuid(), getpid()}), IsOk());
}

// Another process, or another user, is refused, and its descriptor closed.
TEST_P(SocketTest, RefusesAnotherSender) {
  const int open = OpenDescriptors();
  for (const ReceiveOptions& options :
       {ReceiveOptions{kShort, geteuid() + 1, {}}, ReceiveOptions{kShort, {}, getpid() + 1},
        ReceiveOptions{kShort, geteuid(), getppid()}}) {
    ASSERT_THAT(SendShareableHandle(here(), handle(), MiB(2)), IsOk());
    EXPECT_THAT(ReceiveShareableHandle(there(), options),
                Says(absl::StatusCode::kPermissionDenied, "was refused: it was sent by process"));
    EXPECT_EQ(OpenDescriptors(), open);
  }
}

// A message of which the kernel does not know who sent it is from nobody that could be asked for.
TEST_P(SocketTest, RefusesAnUnknownSender) {
  constexpr uid_t kNobody = 65534;  // what the kernel says then
  const std::string message = Message(handle());
  SendByHand(message, 1);
  EXPECT_THAT(ReceiveShareableHandle(there(), {kShort, kNobody, {}}),
              Says(absl::StatusCode::kPermissionDenied, "the kernel does not tell"));
}

// Asking who sends leaves the socket as it was.
TEST_P(SocketTest, AskingForTheSenderLeavesNoTrace) {
  for (const int before : {0, 1}) {
    ASSERT_EQ(setsockopt(there(), SOL_SOCKET, SO_PASSCRED, &before, sizeof(before)), 0);
    ASSERT_THAT(SendShareableHandle(here(), handle(), MiB(2)), IsOk());
    ASSERT_THAT(ReceiveShareableHandle(there(), {kShort, geteuid(), {}}), IsOk());
    int after = -1;
    socklen_t length = sizeof(after);
    ASSERT_EQ(getsockopt(there(), SOL_SOCKET, SO_PASSCRED, &after, &length), 0);
    EXPECT_EQ(after, before);
  }
}

// What is not made by SendShareableHandle is no handle, and nothing of it stays open.
TEST_P(SocketTest, RefusesWhatIsNoHandle) {
  const std::string good = Message(handle());
  const std::string fabric = Message(Fabric());
  std::string bad = good;
  bad[3] = '?';
  ExpectRefused(bad, 1, "it does not begin like one");
  ExpectRefused("?", 1, "it does not begin like one");
  ExpectRefused(good, 0, "POSIX file descriptor, and it came with 0 descriptors");
  ExpectRefused(good, 2, "it came with 2 descriptors");
  ExpectRefused(good, 253, "it came with 253 descriptors");
  ExpectRefused(fabric, 1, "fabric, and it came with 1 descriptor");
  bad = good;
  bad[8] = 9;
  ExpectRefused(bad, 1, "its version is 9");
  for (const uint8_t type : {0, 2, 4, 9}) {
    bad = good;
    bad[12] = static_cast<char>(type);
    ExpectRefused(bad, 1, "its type is ");
  }
  bad = good;
  std::memset(&bad[16], 0, 8);
  ExpectRefused(bad, 1, "the size of its memory is 0");
}

// A packet that is shorter or longer than a handle is none.
TEST_P(PacketTest, RefusesAPacketOfAnotherLength) {
  const std::string good = Message(handle());
  ExpectRefused(good.substr(0, good.size() - 1), 1, "a message of 87 bytes");
  ExpectRefused(good + "x", 1, "a message of more than 88 bytes");
}

// Where the receiver can have no more descriptors it is told so, and can go on when it has room.
TEST_P(SocketTest, NoDescriptorLeft) {
  ASSERT_THAT(SendShareableHandle(here(), handle(), MiB(2)), IsOk());
  ASSERT_THAT(SendShareableHandle(here(), handle(), MiB(4)), IsOk());
  const int open = OpenDescriptors();
  const int socket = there();
  const auto refused = [&] {
    const NoDescriptorLeft none;
    return ReceiveShareableHandle(socket);
  }();
  EXPECT_THAT(refused, Says(absl::StatusCode::kResourceExhausted, "RLIMIT_NOFILE"));
  EXPECT_EQ(OpenDescriptors(), open);
  TWINMMU_ASSERT_OK_AND_ASSIGN(const ReceivedMemory next, ReceiveShareableHandle(there()));
  EXPECT_EQ(next.size, MiB(4));
}

// A driver takes descriptor 0 for a null pointer: even where that number is free, another one is
// given.
TEST_P(SocketTest, ADescriptorIsNeverZero) {
  ASSERT_THAT(SendShareableHandle(here(), handle(), MiB(2)), IsOk());
  ASSERT_THAT(SendShareableHandle(here(), handle(), MiB(2)), IsOk());
  const WithoutStandardInput closed;
  const int socket = there();
  const auto refused = [&] {
    const NoDescriptorLeft none(1);
    return ReceiveShareableHandle(socket);
  }();
  EXPECT_THAT(refused, Says(absl::StatusCode::kResourceExhausted, "RLIMIT_NOFILE"));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const ReceivedMemory received, ReceiveShareableHandle(there()));
  EXPECT_GT(received.handle.file_descriptor, 0);
  EXPECT_EQ(fcntl(received.descriptor.get(), F_GETFD), FD_CLOEXEC);
  EXPECT_TRUE(IsSameFile(received.descriptor.get(), file().get()));
  EXPECT_FALSE(IsOpen(0));
}

// A handle that cannot be sent is refused before anything is sent.
TEST_P(SocketTest, RefusesAHandleThatCannotBeSent) {
  ShareableHandle windows;
  windows.type = HandleType::kWin32;
  for (const ShareableHandle& bad :
       {windows, ShareableHandle(), ShareableHandle::FileDescriptor(-1),
        ShareableHandle::FileDescriptor(1 << 20)}) {
    EXPECT_THAT(SendShareableHandle(here(), bad, MiB(2)),
                Says(absl::StatusCode::kInvalidArgument, "handle is "));
  }
  EXPECT_THAT(SendShareableHandle(here(), handle(), Bytes(0)),
              Says(absl::StatusCode::kInvalidArgument, "size is 0"));
  EXPECT_THAT(ReceiveShareableHandle(there(), {milliseconds(0), {}, {}}),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
}

// Bytes that come one by one make a handle, if they come in time.
TEST_P(StreamTest, PutsPiecesTogether) {
  const std::string message = Message(handle());
  std::thread sender([&] {
    for (size_t i = 0; i < message.size(); ++i) SendByHand(message.substr(i, 1), i == 0 ? 1 : 0);
  });
  TWINMMU_ASSERT_OK_AND_ASSIGN(const ReceivedMemory received, ReceiveShareableHandle(there()));
  sender.join();
  EXPECT_TRUE(IsSameFile(received.descriptor.get(), file().get()));
}

// The time is for the whole message: bytes that trickle in do not prolong it.
TEST_P(StreamTest, PiecesDoNotProlongTheTime) {
  const std::string message = Message(handle());
  std::thread sender([&] {
    for (size_t i = 0; i < 30; ++i) {
      SendByHand(message.substr(i, 1), i == 0 ? 1 : 0);
      std::this_thread::sleep_for(milliseconds(5));
    }
  });
  EXPECT_THAT(ReceiveShareableHandle(there(), {kShort, {}, {}}),
              Says(absl::StatusCode::kDeadlineExceeded, " of the 88 bytes of a shareable handle"));
  sender.join();
}

// Each piece must come from who was asked for: nobody can end what another one began.
TEST_P(StreamTest, EveryPieceMustComeFromTheSender) {
  const std::string message = Message(handle());
  int on = 1;
  ASSERT_EQ(setsockopt(there(), SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)), 0);
  SendByHand(message.substr(0, 50), 1);
  Await(Start([&] { SendByHand(message.substr(50), 0); }));
  EXPECT_THAT(ReceiveShareableHandle(there(), {kShort, {}, getpid()}),
              StatusIs(absl::StatusCode::kPermissionDenied));
}

// A sender that ends in the middle of a message leaves nothing open.
TEST_P(StreamTest, AnEndInTheMiddleIsUnavailable) {
  const std::string message = Message(handle());
  const int open = OpenDescriptors();
  SendByHand(message.substr(0, 40), 1);
  sockets().here.Close();
  EXPECT_THAT(ReceiveShareableHandle(there()),
              Says(absl::StatusCode::kUnavailable, "only 40 of the 88 bytes"));
  EXPECT_EQ(OpenDescriptors(), open - 1);
}

// What is no connected Unix socket of the right type is refused by both.
TEST(NotASocketTest, IsRefusedWithItsReason) {
  const OwnedDescriptor file = NewFile();
  const OwnedDescriptor unconnected(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const OwnedDescriptor internet(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const Sockets datagrams(SOCK_DGRAM);
  struct {
    int number;
    const char* words;
  } const cases[] = {{-1, "not an open descriptor"},
                     {1 << 20, "not an open descriptor"},
                     {file.get(), "not a socket"},
                     {internet.get(), "not a Unix socket"},
                     {datagrams.here.get(), "not a Unix socket of type"},
                     {unconnected.get(), "not connected"}};
  for (const auto& [number, words] : cases) {
    EXPECT_THAT(SendShareableHandle(number, Fabric(), MiB(2)),
                Says(absl::StatusCode::kInvalidArgument, words));
    EXPECT_THAT(ReceiveShareableHandle(number), Says(absl::StatusCode::kInvalidArgument, words));
  }
}

}  // namespace
}  // namespace twinmmu
