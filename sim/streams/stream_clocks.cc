#include "sim/streams/stream_clocks.h"

namespace twinmmu {

struct StreamClocks::LineState {
  uint32_t number = 0;
  DeviceOrdinal device;
  uint32_t submitted = 0;
  Clock clock;  // what comes before the next work, but for what the host waited for
};

StreamClocks::Line StreamClocks::MakeLine(DeviceOrdinal device) {
  auto line = std::make_shared<LineState>();
  line->device = device;
  const std::lock_guard lock(mutex_);
  line->number = ++last_line_;
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
