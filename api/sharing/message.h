// The message that carries a shareable handle between processes, and its error texts.

#ifndef TWINMMU_API_SHARING_MESSAGE_H_
#define TWINMMU_API_SHARING_MESSAGE_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "api/address.h"
#include "api/allocation.h"

namespace twinmmu {

// As sent between processes of one machine: no conversion is needed. A descriptor is sent as
// ancillary data.
struct HandleMessage {
  std::array<char, 8> magic = {};
  uint32_t version = 0;
  uint32_t type = 0;  // HandleType
  uint64_t size = 0;  // of the memory
  std::array<uint8_t, 64> fabric = {};
};
static_assert(sizeof(HandleMessage) == 88, "no padding: every byte of a message is said");

inline constexpr std::array<char, 8> kHandleMagic = {'T', 'w', 'i', 'n', 'M', 'M', 'U', '\n'};
inline constexpr uint32_t kHandleVersion = 1;

// How many descriptors come with a handle of this type: 0 or 1; nothing: such a handle is not sent.
std::optional<size_t> DescriptorsOf(HandleType type);

HandleMessage MakeMessage(const ShareableHandle& handle, Bytes size);

// What is wrong with the first `bytes` of a message, as far as they show, or with the number of
// descriptors that came with it; nothing: it is, or may become, a shareable handle.
std::optional<std::string> Flaw(const HandleMessage& message, size_t bytes, size_t descriptors);

// InvalidArgument: what was received is not a handle.
absl::Status NotAHandle(int socket, const std::string& flaw);

}  // namespace twinmmu

#endif  // TWINMMU_API_SHARING_MESSAGE_H_
