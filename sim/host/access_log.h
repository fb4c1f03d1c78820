// AccessLog: what processes did to memory that they share, for each other to see.

#ifndef TWINMMU_SIM_HOST_ACCESS_LOG_H_
#define TWINMMU_SIM_HOST_ACCESS_LOG_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "api/address.h"

namespace twinmmu {

// Times are nanoseconds of a clock that all processes of the host share; 0: never.
struct LoggedAccess {
  uint64_t process = 0;  // no two simulators have the same
  uint64_t pid = 0;
  uint64_t first = 0;  // bytes of the memory
  uint64_t last = 0;
  bool writes = false;
  uint64_t waited = 0;    // its process has waited for its end
  uint64_t recorded = 0;  // an event for other processes, recorded behind it, was over
  uint64_t call = 0;      // of its process, that asked for it
  std::string words;      // what made it
};

// A ring in the file of the memory, behind its label, so that it lives as long and nobody has to
// clean up. Whoever has a descriptor can write there: what it says is text and numbers, and no more
// is believed of it. Thread-safe, and safe against processes that are killed.
class AccessLog {
 public:
  static constexpr Bytes kRoom = KiB(60);

  // `offset`: of whole pages. ResourceExhausted: the host refused.
  static absl::StatusOr<std::shared_ptr<AccessLog>> Open(int file_descriptor, Bytes offset);
  ~AccessLog();
  AccessLog(const AccessLog&) = delete;
  AccessLog& operator=(const AccessLog&) = delete;

  // An entry, until later ones take its place: then what is set of it is lost. Of `words`, what is
  // too long is cut.
  using Number = uint64_t;
  Number Add(const LoggedAccess& access);
  void SetWaited(Number entry, uint64_t time);
  void SetRecorded(Number entry, uint64_t time);
  // All entries that are whole.
  void ForEach(const std::function<void(const LoggedAccess&)>& visit) const;

  // Processes tell each other by words in memory that they share: who came first, nobody knows.
  void SetFlagged();
  bool IsFlagged() const;
  // The host of some process has waited for all records that were over until then.
  void RaiseKnown(uint64_t time);
  uint64_t known() const;

  static uint64_t Now();

 private:
  struct Layout;
  struct Entry;
  explicit AccessLog(Layout* layout) : layout_(*layout) {}
  Entry* Find(Number number) const;

  Layout& layout_;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_HOST_ACCESS_LOG_H_
