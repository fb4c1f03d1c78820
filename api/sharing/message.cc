#include "api/sharing/message.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace twinmmu {

std::optional<size_t> DescriptorsOf(HandleType type) {
  switch (type) {
    case HandleType::kPosixFileDescriptor:
      return 1;
    case HandleType::kFabric:
      return 0;
    default:
      return std::nullopt;
  }
}

HandleMessage MakeMessage(const ShareableHandle& handle, Bytes size) {
  HandleMessage message;
  message.magic = kHandleMagic;
  message.version = kHandleVersion;
  message.type = static_cast<uint32_t>(handle.type);
  message.size = size.value();
  if (handle.type == HandleType::kFabric) message.fabric = handle.fabric;
  return message;
}

std::optional<std::string> Flaw(const HandleMessage& message, size_t bytes, size_t descriptors) {
  const size_t known = std::min(bytes, kHandleMagic.size());
  if (std::memcmp(message.magic.data(), kHandleMagic.data(), known) != 0) {
    return "it does not begin like one: the other process sent something else";
  }
  if (descriptors > 1) return absl::StrCat("it came with ", descriptors, " descriptors");
  if (bytes < sizeof(message)) return std::nullopt;
  if (message.version != kHandleVersion) {
    return absl::StrCat("its version is ", message.version, ", and this process knows version ",
                        kHandleVersion);
  }
  const HandleType type = static_cast<HandleType>(message.type);
  const std::optional<size_t> expected = DescriptorsOf(type);
  if (!expected.has_value()) return absl::StrCat("its type is ", ToString(type));
  if (descriptors != *expected) {
    return absl::StrCat("its type is ", ToString(type), ", and it came with ", descriptors,
                        descriptors == 1 ? " descriptor" : " descriptors");
  }
  if (message.size == 0) return "the size of its memory is 0";
  return std::nullopt;
}

absl::Status NotAHandle(int socket, const std::string& flaw) {
  return absl::InvalidArgumentError(
      absl::StrCat("what came through socket ", socket, " is not a shareable handle: ", flaw));
}

}  // namespace twinmmu
