#include "sim/host/fabric_domain.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "sim/host/memory_label.h"

namespace twinmmu {
namespace {

constexpr uint64_t kMark = 0x62614d4d6e697754;  // "TwinMMab"

using Words = std::array<uint64_t, 8>;
static_assert(sizeof(Words) == sizeof(FabricHandle));

uint64_t SumOf(const Words& words) {
  return FingerprintOf({reinterpret_cast<const uint8_t*>(words.data()), 7 * sizeof(uint64_t)});
}

// An entry is called by these four words in hexadecimal, 16 digits each.
constexpr size_t kDigits = 16;
using NameWords = std::array<uint64_t, 4>;

NameWords WordsOf(const FabricName& name) {
  return {name.id, uint64_t{name.identity.first}, uint64_t{name.identity.second}, name.processes};
}
FabricName NameOf(const NameWords& words) {
  return {words[0], FileIdentity(words[1], words[2]), words[3]};
}

std::optional<FabricName> ParseEntry(absl::string_view entry) {
  NameWords words;
  if (entry.size() != words.size() * kDigits) return std::nullopt;
  for (size_t i = 0; i < words.size(); ++i) {
    if (!absl::SimpleHexAtoi(entry.substr(i * kDigits, kDigits), &words[i])) return std::nullopt;
  }
  return NameOf(words);
}

absl::Status HostRefused(absl::string_view what) {
  return absl::ResourceExhaustedError(
      absl::StrCat("the host refused ", what, ": ", std::strerror(errno)));
}

}  // namespace

FabricHandle ToFabricHandle(const FabricName& name) {
  const NameWords parts = WordsOf(name);
  Words words = {kMark, parts[0], parts[1], parts[2], parts[3], 0, 0, 0};
  words.back() = SumOf(words);
  FabricHandle handle;
  std::memcpy(handle.data(), words.data(), sizeof(words));
  return handle;
}

absl::StatusOr<FabricName> ParseFabricHandle(const FabricHandle& handle) {
  Words words;
  std::memcpy(words.data(), handle.data(), sizeof(words));
  if (words[0] == kMark && words.back() == SumOf(words)) {
    return NameOf({words[1], words[2], words[3], words[4]});
  }
  return absl::InvalidArgumentError("no simulated machine exported it");
}

FabricDomain::FabricDomain(const Profile& profile) : owner_(getpid()) {
  if (profile.fabric_domain.empty()) return;
  channel_ = absl::StrCat(profile.fabric_domain, "/channel", profile.fabric_channel);
  struct stat space;
  if (stat("/proc/self/ns/pid", &space) == 0) processes_ = space.st_ino;
}

absl::Status FabricDomain::CheckAccess() const {
  // As an effective user: the one who opens files.
  if (faccessat(AT_FDCWD, absl::StrCat(channel_, "/").c_str(), R_OK | W_OK | X_OK, AT_EACCESS) == 0)
    return absl::OkStatus();
  const int error = errno;
  if (IsOfTheHost(error)) return HostRefused("a look at the fabric channel");
  return absl::PermissionDeniedError(
      absl::StrCat("the fabric channel ", channel_, " cannot be used: ", std::strerror(error)));
}

FabricDomain::Path FabricDomain::EntryOf(const FabricName& name) const {
  const NameWords words = WordsOf(name);
  Path path;
  std::snprintf(path.text, sizeof(path.text),
                "%s/%016" PRIx64 "%016" PRIx64 "%016" PRIx64 "%016" PRIx64, channel_.c_str(),
                words[0], words[1], words[2], words[3]);
  return path;
}

absl::Status FabricDomain::Publish(const FabricName& name, int file_descriptor) {
  if (!swept_) RemoveStaleEntries();
  swept_ = true;
  const std::string target = absl::StrCat("/proc/", getpid(), "/fd/", file_descriptor);
  if (symlink(target.c_str(), EntryOf(name).text) == 0) return absl::OkStatus();
  return HostRefused(absl::StrCat("an entry in the fabric channel ", channel_));
}

void FabricDomain::Withdraw(const FabricName& name) const {
  // A child made by fork has the same objects, and must not take away what is its parent's.
  if (getpid() == owner_) unlink(EntryOf(name).text);
}

absl::StatusOr<int> FabricDomain::Open(const FabricName& name) const {
  const Path entry = EntryOf(name);
  struct stat file;
  // Looked at first: what a link leads to by now may be anything, and is not to be opened.
  if (stat(entry.text, &file) != 0) {
    if (IsOfTheHost(errno)) return HostRefused("a look at the fabric handle's memory");
    if (errno == EACCES) return absl::NotFoundError("the exporter is another user's process");
    return absl::NotFoundError(
        absl::StrCat("there is no such memory in the fabric channel ", channel_,
                     ": it is of another one, was freed, or its process has ended"));
  }
  int opened = -1;
  if (FileIdentity(file.st_dev, file.st_ino) == name.identity) {
    opened = open(entry.text, O_RDWR | O_CLOEXEC);
    if (opened >= 0) return opened;
    if (IsOfTheHost(errno)) return HostRefused("the fabric handle's memory");
  }
  return absl::NotFoundError("the process that exported it has ended");
}

void FabricDomain::RemoveStaleEntries() const {
  std::error_code error;
  for (std::filesystem::directory_iterator entries(channel_, error), end; entries != end;
       entries.increment(error)) {
    const std::optional<FabricName> name = ParseEntry(entries->path().filename().string());
    // Of other namespaces nobody here can say what is stale.
    if (!name.has_value() || name->processes != processes_) continue;
    struct stat file;
    const bool leads_on = stat(entries->path().c_str(), &file) == 0;
    const bool gone =
        leads_on ? FileIdentity(file.st_dev, file.st_ino) != name->identity : errno == ENOENT;
    if (gone) unlink(entries->path().c_str());
  }
}

}  // namespace twinmmu
