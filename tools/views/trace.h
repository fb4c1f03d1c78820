// Trace: events in the format of Chrome's traces, which Perfetto and chrome://tracing open.

#ifndef TWINMMU_TOOLS_VIEWS_TRACE_H_
#define TWINMMU_TOOLS_VIEWS_TRACE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <ostream>
#include <string>
#include <tuple>

#include "api/record/event.h"
#include "api/record/event_reader.h"
#include "nlohmann/json.hpp"
#include "tools/views/live_memory.h"

namespace twinmmu {

// A track for each stream, reservation and thread; asynchronous slices for mappings, allocations
// and blocks; counters of bytes; instants for what went wrong; an arrow from each export to its
// imports. Written as it goes.
class Trace : public record::EventSink {
 public:
  // What has no track of its own any more is on one of all others; what was exported later begins
  // no arrow.
  static constexpr size_t kMostTracks = 100'000;
  static constexpr size_t kMostExports = 1'000'000;

  // `out` must outlive it, and gets no whole document before Finish.
  explicit Trace(std::ostream* out, size_t most_tracks = kMostTracks);

  void AddProcess(const record::ProcessInfo& process);
  void Add(const record::Event& event, const record::Stack& stack) override;
  void Finish();
  // What found no room, in words, or empty.
  std::string LeftOut() const;

 private:
  using Json = nlohmann::ordered_json;
  // A slice that an arrow can begin at.
  struct Place {
    uint32_t process;
    uint64_t track;
    double at;
  };

  void Write(const Json& json);
  Json Common(const record::Event& event, const char* phase, const std::string& name,
              uint64_t track) const;
  uint64_t TrackOf(uint32_t process, const std::string& name);
  void NameTrack(uint32_t process, uint64_t track, const std::string& name);
  void WriteAsync(const LiveObject& object, const char* phase, uint64_t time_ns);
  void WriteReservation(const LiveObject& object, uint64_t end_ns);
  void WriteEnded(const LiveObject& object, uint64_t time_ns);
  void WriteCounters(const record::Event& event);
  void WriteInstant(const record::Event& event, const record::Stack& stack);
  void WriteWork(const record::Event& event, const record::Stack& stack);
  void WriteShared(const record::Event& event, const record::Stack& stack);

  std::ostream& out_;
  const size_t most_tracks_;
  bool first_ = true;
  LiveMemory memory_;
  std::map<std::pair<uint32_t, std::string>, uint64_t> tracks_;
  std::map<uint64_t, Place> exports_;  // by what is shared
  uint64_t arrows_ = 0;
  uint64_t without_track_ = 0;
  uint64_t last_ns_ = 0;
};

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_VIEWS_TRACE_H_
