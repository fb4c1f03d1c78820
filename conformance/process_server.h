// ProcessServer: how a process that a test started does what it is asked.

#ifndef TWINMMU_CONFORMANCE_PROCESS_SERVER_H_
#define TWINMMU_CONFORMANCE_PROCESS_SERVER_H_

#include <memory>
#include <vector>

#include "api/executor.h"
#include "api/multicast.h"
#include "api/vmm.h"
#include "conformance/other_process.h"

namespace twinmmu::conformance {

class ProcessServer {
 public:
  // All must outlive this object. `multicast`: null where no test asks for it.
  ProcessServer(Vmm* vmm, Executor* executor, DeviceOrdinal device, Multicast* multicast = nullptr)
      : vmm_(*vmm), executor_(*executor), device_(device), multicast_(multicast) {}

  // Answers each request until the starter is gone; then ends the process, without destructors:
  // what it holds is left to the system.
  [[noreturn]] void Run(int socket);

 private:
  // What this process has of one piece of memory.
  struct Piece {
    ReceivedMemory received;  // or made here
    AllocationHandle handle;
    AddressRange range;
  };
  using Value = absl::StatusOr<uint64_t>;

  Answer Serve(const Request& request);
  Answer ServeProperties(const Request& request);
  Value ServeProcess(const Request& request);
  Value ServePiece(const Request& request, Piece& piece);
  Value Receive();
  Value Create(Bytes size);
  Value Export(Piece& piece);
  Value Import(Piece& piece);
  absl::Status Map(Piece& piece);
  absl::Status Grant(const Piece& piece);
  absl::Status Write(const AddressRange& range, uint32_t seed);
  absl::Status Check(const AddressRange& range, uint32_t seed);
  absl::Status Start();
  absl::Status ServeTeam(const Request& request, const Piece& piece);
  Value PassOn(const Piece& piece);

  Vmm& vmm_;
  Executor& executor_;
  const DeviceOrdinal device_;
  Multicast* const multicast_;
  int socket_ = -1;
  std::vector<Piece> pieces_;
  std::unique_ptr<OtherProcess> other_;
};

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_PROCESS_SERVER_H_
