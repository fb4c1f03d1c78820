// ReadReport: what stands in the memory of a report, whoever wrote it and however that one ended.

#ifndef TWINMMU_SIM_LIBCUDA_REPORT_REPORT_READER_H_
#define TWINMMU_SIM_LIBCUDA_REPORT_REPORT_READER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "api/address.h"
#include "api/allocation.h"
#include "api/diagnostics.h"
#include "api/driver_error.h"

namespace twinmmu::libcuda {

// A place in a program.
struct Site {
  uint64_t address = 0;  // in the memory of the process; 0: this is no place
  std::string module;    // the path of the program or library; empty: not known
  uint64_t offset = 0;   // in it, as its symbol table counts
  std::string symbol;    // and the distance to it; empty: not known
  std::string source;    // "pool.cc:42"; empty: not known
  std::string function;  // of our CUDA runtime, which is called there; empty: none
};

// A call, and from where it was made. An empty name: not known.
struct CallPlace {
  std::string call;
  Site site;
};

struct CallTotal {
  std::string call;
  uint64_t calls = 0;
  uint64_t failures = 0;
};

struct ReportedDiagnostic {
  DiagnosticKind kind;
  Severity severity;
  std::string words;
  std::string json;
  CallPlace place;
  std::map<uint64_t, Site> history;  // from where earlier calls were made, by their id
  uint64_t count = 1;                // that many of the kind are from this place
};

struct ReportedFailure {
  CallPlace place;
  uint64_t number = 0;
  DriverCode code;
  std::string rule;
};

// A function that the program asked for, and that is not there.
struct AskedFunction {
  std::string function;
  int version = 0;     // that was asked for
  bool later = false;  // a later version has it
  uint64_t count = 1;
};

// Objects that are alive and were made at one place.
struct LiveObjects {
  DiagnosticKind kind = DiagnosticKind::kLeakedMapping;  // or another leak
  CallPlace place;
  CallPlace retained;  // of an allocation, where the last reference was added, if not there
  uint64_t count = 0;
  Bytes size;  // together
  // Of the first one, as far as they apply.
  std::optional<AddressRange> range;
  std::optional<AllocationHandle> handle;
  uint64_t references = 0;  // to the allocation
  uint64_t value = 0;       // of a stream, an event, a context, a descriptor
  int device = -1;
};

struct ProcessReport {
  int64_t pid = 0;
  int64_t parent = 0;
  std::string program;
  bool finished = false;                        // it came to its end by itself, and was not killed
  std::vector<CallTotal> calls;                 // of all functions that were called
  std::vector<ReportedDiagnostic> diagnostics;  // the first of each kind and place
  std::map<DiagnosticKind, uint64_t> counts;    // of all that were noticed
  std::vector<ReportedFailure> failures;        // that were injected: the first ones
  uint64_t failure_count = 0;
  std::vector<AskedFunction> asked;  // the first ones, each once
  uint64_t asked_count = 0;          // how often such were asked for
  std::vector<std::string> warnings;
  std::vector<LiveObjects> alive;
  std::vector<CallPlace> running;  // calls that had not returned, by thread
  uint64_t lost_objects = 0;       // for which the report had no room
  uint64_t lost_records = 0;
};

// InvalidArgument: this is no report, or one that was not begun yet. Whatever else stands there,
// nothing outside the memory is read.
absl::StatusOr<ProcessReport> ReadReport(const char* memory, uint64_t size);

// The places of a report, to fill in what is known of them.
std::vector<Site*> SitesOf(ProcessReport& report);

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_REPORT_REPORT_READER_H_
