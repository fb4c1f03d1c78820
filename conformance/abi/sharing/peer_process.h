// Tests of what two processes share: neither has called the driver before.

#ifndef TWINMMU_CONFORMANCE_ABI_SHARING_PEER_PROCESS_H_
#define TWINMMU_CONFORMANCE_ABI_SHARING_PEER_PROCESS_H_

#include <cstddef>
#include <functional>

#include "conformance/abi/abi_fixtures.h"

namespace twinmmu::abi {

// The other process, at the end of a socket. What it does not send, because it has ended, is zeros,
// and fails the test.
class Peer {
 public:
  explicit Peer(int socket) : socket_(socket) {}
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  template <typename T>
  void Send(const T& value) {
    SendBytes(&value, sizeof(value));
  }
  template <typename T>
  T Receive() {
    T value = {};
    ReceiveBytes(&value, sizeof(value));
    return value;
  }
  void SendDescriptor(int descriptor);
  int ReceiveDescriptor();  // to be closed by the caller

  // Returns when the other process has come there, too.
  void Meet();
  // Returns when the other process has ended, or is about to.
  void AwaitEnd();

 private:
  void SendBytes(const void* bytes, size_t size);
  void ReceiveBytes(void* bytes, size_t size);

  const int socket_;
};

// A test begins with
//
//   if (RanInNewProcess()) return;
class TwoProcessesTest : public NewProcessTest {
 protected:
  // Each of them in a process of its own, with the primary context of device 0. The first is this
  // process.
  static void Run(const std::function<void(Peer&)>& first,
                  const std::function<void(Peer&)>& second);

  // Makes the primary context of device 0 current, as Run does.
  static CUcontext Initialise();
};

// The first word there, and words from there on that become `value`.
unsigned int WordAt(CUdeviceptr address);
void SetWords(CUdeviceptr address, unsigned int value, size_t count);
// Whether a copy from there succeeds.
bool CanBeRead(CUdeviceptr address);

}  // namespace twinmmu::abi

#endif  // TWINMMU_CONFORMANCE_ABI_SHARING_PEER_PROCESS_H_
