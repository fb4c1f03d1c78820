#include "conformance/framework/other_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "api/driver_error.h"
#include "gtest/gtest.h"

namespace twinmmu::conformance {
namespace {

// The variable that names the socket.
constexpr char kVariable[] = "TWINMMU_OTHER_PROCESS";
// A driver may take seconds to start.
constexpr int kPatienceMs = 120'000;

// With pointers for exec, which takes them as changeable.
class Strings {
 public:
  explicit Strings(std::vector<std::string> strings) : strings_(std::move(strings)) {
    for (std::string& string : strings_) pointers_.push_back(string.data());
    pointers_.push_back(nullptr);
  }
  Strings(const Strings&) = delete;
  Strings& operator=(const Strings&) = delete;
  char** get() { return pointers_.data(); }

 private:
  std::vector<std::string> strings_;
  std::vector<char*> pointers_;
};

// Those of this process, as they came, and only the test that runs. No report: this process writes
// it.
std::vector<std::string> Arguments() {
  std::vector<std::string> arguments;
  std::ifstream file("/proc/self/cmdline");
  for (std::string argument; std::getline(file, argument, '\0');) {
    if (!absl::StartsWith(argument, "--gtest_output")) arguments.push_back(argument);
  }
  const ::testing::TestInfo& test = *::testing::UnitTest::GetInstance()->current_test_info();
  std::string name = absl::StrCat(test.test_suite_name(), ".", test.name());
  std::replace(name.begin(), name.end(), '-', '?');  // a "-" begins what a filter leaves out
  arguments.push_back("--gtest_filter=" + name);
  return arguments;
}

// Without what splits tests among processes, and names files for their reports.
std::vector<std::string> Environment(int socket) {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string text = *variable;
    bool is_of_the_run = false;
    for (const char* prefix : {"GTEST_", "TEST_SHARD", "TEST_TOTAL_SHARDS", "XML_OUTPUT_FILE",
                               "TEST_PREMATURE_EXIT_FILE", kVariable}) {
      is_of_the_run = is_of_the_run || absl::StartsWith(text, prefix);
    }
    if (!is_of_the_run) variables.push_back(text);
  }
  variables.push_back(absl::StrCat(kVariable, "=", socket));
  return variables;
}

// Says on stderr what fails: the starter's report has no room for it.
class FailurePrinter : public ::testing::EmptyTestEventListener {
  void OnTestPartResult(const ::testing::TestPartResult& result) override {
    if (result.passed()) return;
    std::cerr << "the other process: " << result.summary() << "\n";
  }
};

}  // namespace

Answer MakeAnswer(const absl::Status& status) {
  Answer answer;
  answer.status = static_cast<int>(status.code());
  const std::optional<DriverError> error = GetDriverError(status);
  answer.from_driver = error.has_value();
  if (error.has_value()) answer.driver_code = static_cast<int>(error->code);
  const std::string words(status.message());
  words.copy(answer.words, sizeof(answer.words) - 1);
  return answer;
}

absl::Status StatusOf(const Answer& answer) {
  if (answer.status == 0) return absl::OkStatus();
  const std::string words = absl::StrCat("in the other process: ", answer.words);
  if (!answer.from_driver) return {static_cast<absl::StatusCode>(answer.status), words};
  return MakeDriverStatus(
      {static_cast<DriverCode>(answer.driver_code), ErrorOrigin::kDriver, "other process"}, words);
}

absl::Status SendPacket(int socket, const void* bytes, size_t size) {
  const ssize_t sent = send(socket, bytes, size, MSG_NOSIGNAL);
  if (sent == static_cast<ssize_t>(size)) return absl::OkStatus();
  return absl::UnavailableError("the other process has ended");
}

absl::Status ReceivePacket(int socket, void* bytes, size_t size) {
  pollfd polled = {socket, POLLIN, 0};
  if (poll(&polled, 1, kPatienceMs) == 0) {
    return absl::DeadlineExceededError("the other process does not answer");
  }
  const ssize_t received = recv(socket, bytes, size, 0);
  if (received == static_cast<ssize_t>(size)) return absl::OkStatus();
  return absl::UnavailableError("the other process has ended");
}

int SocketToStarter() {
  const char* const number = std::getenv(kVariable);
  return number == nullptr ? -1 : std::atoi(number);
}

int RunAsOtherProcess() {
  fcntl(SocketToStarter(), F_SETFD, FD_CLOEXEC);
  ::testing::TestEventListeners& listeners = ::testing::UnitTest::GetInstance()->listeners();
  delete listeners.Release(listeners.default_result_printer());
  listeners.Append(new FailurePrinter);
  return RUN_ALL_TESTS();
}

absl::StatusOr<std::unique_ptr<OtherProcess>> OtherProcess::Start() {
  int sockets[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) {
    return absl::InternalError("no sockets");
  }
  OwnedDescriptor here(sockets[0]);
  const OwnedDescriptor there(sockets[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  // To itself: that is how a descriptor is kept open over exec, in the child alone.
  posix_spawn_file_actions_adddup2(&actions, there.get(), there.get());
  Strings arguments(Arguments());
  Strings environment(Environment(there.get()));
  pid_t pid = -1;
  const int error =
      posix_spawn(&pid, "/proc/self/exe", &actions, nullptr, arguments.get(), environment.get());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return absl::InternalError("no process");
  std::unique_ptr<OtherProcess> other(new OtherProcess(pid, std::move(here)));
  return other;
}

absl::StatusOr<Answer> OtherProcess::Ask(const Request& request) {
  absl::Status status = SendPacket(socket(), &request, sizeof(request));
  Answer answer;
  if (status.ok()) status = ReceivePacket(socket(), &answer, sizeof(answer));
  if (status.ok()) status = StatusOf(answer);
  if (!status.ok()) return status;
  return answer;
}

absl::StatusOr<uint64_t> OtherProcess::Send(const ShareableHandle& handle, Bytes size) {
  const Request request = {Step::kReceive, 0, 0, size};
  absl::Status status = SendPacket(socket(), &request, sizeof(request));
  if (status.ok()) status = SendShareableHandle(socket(), handle, size);
  Answer answer;
  if (status.ok()) status = ReceivePacket(socket(), &answer, sizeof(answer));
  if (status.ok()) status = StatusOf(answer);
  if (!status.ok()) return status;
  return answer.value;
}

absl::StatusOr<ReceivedMemory> OtherProcess::Receive(uint64_t memory) {
  const Request request = {Step::kSend, memory, 0};
  const absl::StatusOr<Answer> answer = Ask(request);
  if (!answer.ok()) return answer.status();
  return ReceiveShareableHandle(socket(), {kSharingTimeout, {}, pid()});
}

void OtherProcess::Kill() {
  if (pid_ > 0) kill(pid_, SIGKILL);
  Await();
}

void OtherProcess::Leave() {
  socket_.Close();
  Await();
}

void OtherProcess::Await() {
  if (pid_ > 0) waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

}  // namespace twinmmu::conformance
