// Two processes share memory: the examples of docs/guide/sharing.md, and a program around them.

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <iostream>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/allocators/owners.h"
#include "api/sharing/create_shareable.h"
#include "api/sharing/owned_descriptor.h"
#include "api/sharing/socket.h"
#include "sim/simulator.h"

using namespace twinmmu;

namespace {

// In the process that makes the memory: sends it to the other one.
absl::StatusOr<Allocation> Share(Vmm& vmm, Bytes size, int socket) {
  const absl::StatusOr<ShareableAllocation> made =
      CreateShareable(vmm, size, {}, {HandleType::kFabric, HandleType::kPosixFileDescriptor});
  if (!made.ok()) return made.status();
  std::cout << "shared by " << made->type << "; " << ToString(made->passed_over) << "\n";
  Allocation memory = Allocation::Adopt(&vmm, made->handle, size);
  const absl::StatusOr<ShareableHandle> exported =
      vmm.ExportShareableHandle(memory.handle(), made->type);
  if (!exported.ok()) return exported.status();
  const OwnedDescriptor descriptor(exported->file_descriptor);  // closed here once it is sent
  const absl::Status sent = SendShareableHandle(socket, *exported, size);
  if (!sent.ok()) return sent;
  return memory;
}

// In the other process: receives it, from processes of the same user only.
absl::StatusOr<Allocation> Receive(Vmm& vmm, int socket) {
  ReceiveOptions options;
  options.sender_uid = geteuid();
  const absl::StatusOr<ReceivedMemory> received = ReceiveShareableHandle(socket, options);
  if (!received.ok()) return received.status();
  return Allocation::Import(&vmm, received->handle, received->size);
}

constexpr DeviceOrdinal kDevice(0);
constexpr int kContent = 42;

absl::StatusOr<Mapping> Map(Vmm& vmm, const Allocation& memory) {
  const absl::StatusOr<Reservation> addresses = Reservation::Make(&vmm, memory.size());
  if (!addresses.ok()) return addresses.status();
  return Mapping::Make(*addresses, Bytes(0), memory,
                       {{Location::Device(kDevice), Access::kReadWrite}});
}

absl::Status Export(Vmm& vmm, Executor& executor, int socket) {
  const absl::StatusOr<Allocation> memory = Share(vmm, MiB(2), socket);
  if (!memory.ok()) return memory.status();
  const absl::StatusOr<Mapping> mapping = Map(vmm, *memory);
  if (!mapping.ok()) return mapping.status();
  absl::Status written =
      executor.CopyHostToDevice(kDevice, mapping->range().base, &kContent, Bytes(sizeof(kContent)));
  // A small copy may return before it has arrived, and the other process cannot wait for it.
  written.Update(executor.SynchronizeDevice(kDevice));
  // Between two handles the socket is ours. This one says that the memory may be read.
  const char done = 1;
  return send(socket, &done, 1, MSG_NOSIGNAL) == 1 ? written : absl::UnavailableError("nobody");
}

absl::Status Import(Vmm& vmm, Executor& executor, int socket) {
  const absl::StatusOr<Allocation> memory = Receive(vmm, socket);
  if (!memory.ok()) return memory.status();
  const absl::StatusOr<Mapping> mapping = Map(vmm, *memory);
  if (!mapping.ok()) return mapping.status();
  char done = 0;
  if (recv(socket, &done, 1, 0) != 1) return absl::UnavailableError("nobody");
  int content = 0;
  const absl::Status read =
      executor.CopyDeviceToHost(kDevice, &content, mapping->range().base, Bytes(sizeof(content)));
  std::cout << "the other process reads " << content << "\n";
  return content == kContent ? read : absl::DataLossError("that is something else");
}

// A driver, or here a simulator, belongs to one process: each makes its own, after the fork.
int Run(absl::Status (*work)(Vmm&, Executor&, int), int socket) {
  const auto simulator = Simulator::Create(Profile::ReferenceH200()).value();
  const absl::Status status = work(**simulator->vmm(), **simulator->executor(), socket);
  std::cout << status << std::endl;
  return status.ok() ? 0 : 1;
}

}  // namespace

int main() {
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) return 1;
  const OwnedDescriptor exporter(sockets[0]);
  OwnedDescriptor importer(sockets[1]);
  const pid_t other = fork();
  if (other == 0) return Run(&Import, importer.get());
  importer.Close();  // so that an end of the other process shows
  const int exit_code = Run(&Export, exporter.get());
  int status = 1;
  const bool ended = waitpid(other, &status, 0) == other;
  return ended && status == 0 ? exit_code : 1;
}
