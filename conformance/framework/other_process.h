// OtherProcess: a second process of the suite, with a driver of its own, that does what a test
// asks.
//
// It is this program started anew, never a fork of it: a driver does not survive that. It runs only
// the test that started it, whose fixture (process_fixture.h) opens the same target, and then
// serves requests instead of running the test. So each test reads as one dialogue.

#ifndef TWINMMU_CONFORMANCE_FRAMEWORK_OTHER_PROCESS_H_
#define TWINMMU_CONFORMANCE_FRAMEWORK_OTHER_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/address.h"
#include "api/allocation.h"
#include "api/sharing/owned_descriptor.h"
#include "api/sharing/socket.h"

namespace twinmmu::conformance {

// What the other process can be asked to do. It numbers what memory it gets from 0 on; `memory` is
// such a number.
enum class Step : uint32_t {
  kReady,             // nothing: it is there
  kReceive,           // takes a handle that follows; gives the memory
  kCreate,            // makes memory of `size`, to be shared by file descriptor; gives the memory
  kCountDescriptors,  // gives how many it has open
  kLimitDescriptors,  // it can have those below the next free number, and `value` more
  kStart,             // starts another process of its own
  // Of a piece of memory:
  kSend,       // sends the descriptor, which follows the answer
  kExport,     // makes a descriptor, and keeps it open; gives its number
  kImport,     // imports what it received; gives the handle
  kMap,        // maps it somewhere, and grants nothing
  kGrant,      // itself, to read and write there
  kGetAccess,  // gives its access there
  kWrite,      // writes a pattern made of `value` to the first `size` bytes; 0: to all
  kCheck,      // refuses if another pattern is there
  kUnmap,
  kRelease,
  kClose,  // the descriptor that it received or made
  kGetProperties,
  kAddDevice,  // puts its device into the team of a multicast object
  kBind,       // binds it, whole, at offset 0 of the multicast object that is memory `value`
  kPassOn,     // sends what it received to the process that it started, which receives it
};

struct Request {
  Request(Step step_taken = Step::kReady, uint64_t memory_number = 0, uint64_t any_value = 0,
          Bytes any_size = Bytes(0))
      : step(step_taken), memory(memory_number), value(any_value), size(any_size) {}

  Step step;
  uint32_t depth = 0;  // how many processes pass it on, each to the one that it started
  uint64_t memory;
  uint64_t value;
  Bytes size;
};

// Plain bytes, that go from process to process.
struct Answer {
  int status = 0;  // absl::StatusCode
  bool from_driver = false;
  int driver_code = 0;
  uint64_t value = 0;
  AllocationProperties properties;
  char words[400] = {};
};
Answer MakeAnswer(const absl::Status& status);
absl::Status StatusOf(const Answer& answer);

// One packet each way. Error: the process at the other end has ended, or does not answer.
absl::Status SendPacket(int socket, const void* bytes, size_t size);
absl::Status ReceivePacket(int socket, void* bytes, size_t size);

// The socket to whoever started this process; -1 in a process that a person started.
int SocketToStarter();
// In a process that was started as an OtherProcess: runs its test, in the place of RUN_ALL_TESTS,
// and returns the exit code. Says on stderr what fails, and nothing else.
int RunAsOtherProcess();

class OtherProcess {
 public:
  // Starts it for the test that runs. Error: it does not come so far that it serves.
  static absl::StatusOr<std::unique_ptr<OtherProcess>> Start();
  ~OtherProcess() { Kill(); }
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;

  pid_t pid() const { return pid_; }
  int socket() const { return socket_.get(); }

  absl::StatusOr<Answer> Ask(const Request& request);
  // The same, where all that counts is that it was done.
  absl::Status Do(const Request& request) { return Ask(request).status(); }

  // Has it receive `handle`; gives the memory.
  absl::StatusOr<uint64_t> Send(const ShareableHandle& handle, Bytes size);
  // Has it send the memory, of which it has a descriptor.
  absl::StatusOr<ReceivedMemory> Receive(uint64_t memory);

  // Ends it, wherever it is, and waits until it is gone with all that it held. The second time
  // nothing happens.
  void Kill();
  // The same, but it ends by itself.
  void Leave();

 private:
  OtherProcess(pid_t pid, OwnedDescriptor socket) : pid_(pid), socket_(std::move(socket)) {}
  void Await();

  pid_t pid_;
  OwnedDescriptor socket_;
};

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_FRAMEWORK_OTHER_PROCESS_H_
