#include "sim/streams/stream_clocks.h"

#include <algorithm>
#include <new>
#include <utility>

namespace twinmmu {

// Numbers of lines that are no more, with how much they were given. A new line goes on with one,
// so that clocks do not grow with each stream there ever was.
struct StreamClocks::EndedLines {
  std::mutex mutex;  // a leaf
  std::vector<Place> lines;
};

struct StreamClocks::LineState {
  explicit LineState(std::shared_ptr<EndedLines> all_ended) : ended(std::move(all_ended)) {}
  LineState(const LineState&) = delete;
  LineState& operator=(const LineState&) = delete;
  ~LineState() {
    try {
      const std::lock_guard lock(ended->mutex);
      ended->lines.push_back({number, submitted});
    } catch (const std::bad_alloc&) {
      // The number is lost.
    }
  }

  const std::shared_ptr<EndedLines> ended;
  uint32_t number = 0;
  DeviceOrdinal device;
  uint32_t submitted = 0;
  Clock clock;  // what comes before the next work, but for what the host waited for
};

StreamClocks::StreamClocks(int devices)
    : ended_(std::make_shared<EndedLines>()), devices_(static_cast<size_t>(devices)) {}

StreamClocks::Line StreamClocks::MakeLine(DeviceOrdinal device) {
  auto line = std::make_shared<LineState>(ended_);
  line->device = device;
  const std::lock_guard lock(mutex_);
  const std::lock_guard ended_lock(ended_->mutex);
  // What the new line is given comes after all of the old one only if the host has waited for that.
  const auto waited = std::find_if(ended_->lines.begin(), ended_->lines.end(),
                                   [&](const Place& ended) { return Has(host_, ended); });
  if (waited == ended_->lines.end()) {
    line->number = ++last_line_;
  } else {
    line->number = waited->line;
    line->submitted = waited->number;
    *waited = ended_->lines.back();
    ended_->lines.pop_back();
  }
  return line;
}

StreamClocks::Place StreamClocks::Submit(const Line& line, Clock* before) {
  const std::lock_guard lock(mutex_);
  Clock clock = line->clock;
  clock.Join(host_);
  const Place place{line->number, line->submitted + 1};
  Clock after = clock;
  after.Raise(place.line, place.number);
  Clock& of_device = devices_[static_cast<size_t>(line->device.value())];
  Clock device = of_device;
  device.Raise(place.line, place.number);
  // Nothing fails any more.
  of_device = device;
  line->clock = after;
  line->submitted = place.number;
  *before = clock;
  return place;
}

StreamClocks::Clock StreamClocks::Record(const Line& line) const {
  const std::lock_guard lock(mutex_);
  Clock clock = line->clock;
  clock.Join(host_);
  return clock;
}

void StreamClocks::Wait(const Line& line, const Clock& clock) {
  const std::lock_guard lock(mutex_);
  line->clock.Join(clock);
}

void StreamClocks::HostWaited(const Clock& clock) {
  const std::lock_guard lock(mutex_);
  host_.Join(clock);
}

void StreamClocks::HostWaited(DeviceOrdinal device) {
  const std::lock_guard lock(mutex_);
  host_.Join(devices_[static_cast<size_t>(device.value())]);
}

StreamClocks::Clock StreamClocks::host() const {
  const std::lock_guard lock(mutex_);
  return host_;
}

}  // namespace twinmmu
