// FabricDomain: hands memory from process to process by fabric handles. A directory stands for the
// domain, and a directory in it for each channel: DIR/channel0.

#ifndef TWINMMU_SIM_HOST_FABRIC_DOMAIN_H_
#define TWINMMU_SIM_HOST_FABRIC_DOMAIN_H_

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sim/host/backing.h"
#include "sim/profile/profile.h"

namespace twinmmu {

using FabricHandle = std::array<uint8_t, 64>;

// What a fabric handle says, in a form that is checked for damage and not for truth.
struct FabricName {
  uint64_t id = 0;         // of the memory, as in its label
  FileIdentity identity;   // of its file, if it is in one
  uint64_t processes = 0;  // the namespace of the number of the process
};

FabricHandle ToFabricHandle(const FabricName& name);
// InvalidArgument: no simulator made that.
absl::StatusOr<FabricName> ParseFabricHandle(const FabricHandle& handle);

// Every piece of memory that was exported has an entry in the channel: a link that leads to the
// descriptor of its process. It keeps nothing, and one that a killed process left leads nowhere.
// Processes of one user and one process namespace reach each other. Thread-safe, but for Publish.
class FabricDomain {
 public:
  explicit FabricDomain(const Profile& profile);

  // Without one, fabric handles are for the machine itself.
  bool exists() const { return !channel_.empty(); }

  // PermissionDenied: this process cannot use the channel, and why. ResourceExhausted: the host
  // refused.
  absl::Status CheckAccess() const;

  // Where the number of this process is good; for a name.
  uint64_t processes() const { return processes_; }
  // Makes the entry of a file that is open here. ResourceExhausted: the host refused.
  absl::Status Publish(const FabricName& name, int file_descriptor);
  // Takes it away, if it was made by this process.
  void Withdraw(const FabricName& name) const;

  // A new descriptor of the file, for the caller to close. NotFound: there is no such entry, it
  // leads nowhere, or not to that file. ResourceExhausted: the host refused.
  absl::StatusOr<int> Open(const FabricName& name) const;

 private:
  // The path of an entry. Made without memory of the heap, as what is freed must be withdrawn.
  struct Path {
    char text[4096];
  };
  Path EntryOf(const FabricName& name) const;
  void RemoveStaleEntries() const;

  std::string channel_;  // a directory
  const pid_t owner_;
  uint64_t processes_ = 0;
  bool swept_ = false;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_HOST_FABRIC_DOMAIN_H_
