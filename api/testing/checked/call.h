// CheckedCall: one call while it is checked.

#ifndef TWINMMU_API_TESTING_CHECKED_CALL_H_
#define TWINMMU_API_TESTING_CHECKED_CALL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "api/diagnostics.h"
#include "api/testing/checked/book.h"
#include "api/testing/checked/findings.h"

namespace twinmmu::checked {

// Makes diagnostics of findings, and writes the call into the history. What it has to tell is told
// when it ends, without a lock: it must end after the lock that it is used under.
class CheckedCall {
 public:
  CheckedCall(Book* book, DriverCall name, const AddressRange& range = AddressRange(),
              AllocationHandle handle = AllocationHandle());
  ~CheckedCall();
  CheckedCall(const CheckedCall&) = delete;
  CheckedCall& operator=(const CheckedCall&) = delete;

  const char* name() const { return NameOf(past_.name); }

  // With book->mutex held, all that follows.

  // The id that the call gets.
  uint64_t id() const { return book_.history.next(); }

  // The call is refused, for one of the findings if there are any: one of which every driver would,
  // before one that some let pass.
  void Refused(const Findings& findings);
  // It passed all the same: warns of each. Before Done.
  void Warn(const Findings& findings);
  // It has done this: as it was called, or otherwise.
  void Done() { book_.history.Write(past_); }
  void Done(const AddressRange& range, bool found);
  void Done(const AddressRange& range, std::vector<AccessGrant> grants);
  void DoneWith(AllocationHandle handle, Bytes size = Bytes(0));

 private:
  struct Report {
    DiagnosticKind kind;
    std::optional<Diagnostic> diagnostic;  // nothing: it is only counted
  };
  void Tell(Severity severity, const Finding& finding, const std::string& words);

  Book& book_;
  PastCall past_;
  std::vector<Report> reports_;
};

}  // namespace twinmmu::checked

#endif  // TWINMMU_API_TESTING_CHECKED_CALL_H_
