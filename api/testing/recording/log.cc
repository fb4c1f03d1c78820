#include "api/testing/recording/log.h"

#include <sys/stat.h>

#include <algorithm>

#include "absl/status/statusor.h"

namespace twinmmu {

void RecordingLog::Begin(Driver& target) {
  const std::lock_guard lock(mutex_);
  names_ = Names();
  threads_.clear();
  descriptors_.clear();
  pending_.clear();
  free_at_begin_.clear();
  const absl::StatusOr<Vmm*> vmm = target.vmm();
  const absl::StatusOr<int> count = vmm.ok() ? (*vmm)->GetDeviceCount() : vmm.status();
  for (int device = 0; count.ok() && device < *count; ++device) {
    const absl::StatusOr<MemoryInfo> info = (*vmm)->GetMemoryInfo(DeviceOrdinal(device));
    if (info.ok()) free_at_begin_[device] = info->free;
  }
}

void RecordingLog::Open(Json& line) {
  NoticeClosed();
  const int next = static_cast<int>(threads_.size());
  const int thread = threads_.emplace(std::this_thread::get_id(), next).first->second;
  if (thread != 0) line["thread"] = thread;
}

void RecordingLog::NoticeClosed() {
  const auto is_closed = [](const OpenDescriptor& open) {
    struct stat now = {};
    return fstat(open.descriptor, &now) != 0 || now.st_dev != open.device ||
           now.st_ino != open.inode;
  };
  for (auto it = descriptors_.begin(); it != descriptors_.end();) {
    if (!is_closed(*it)) {
      ++it;
      continue;
    }
    sink_(Json{{"closed", it->name}});
    it = descriptors_.erase(it);
  }
}

// The number of one that was closed may be given out again at once.
void RecordingLog::AddDescriptor(Json& line, int descriptor) {
  const auto same = std::find_if(descriptors_.begin(), descriptors_.end(),
                                 [&](const auto& open) { return open.descriptor == descriptor; });
  if (same != descriptors_.end()) {
    sink_(Json{{"closed", same->name}});
    descriptors_.erase(same);
  }
  const std::string name = names_.Add(Names::kDescriptor, static_cast<uint64_t>(descriptor));
  line["descriptor"] = name;
  struct stat now = {};
  if (fstat(descriptor, &now) == 0) {
    descriptors_.push_back({name, descriptor, now.st_dev, now.st_ino});
  }
}

void RecordingLog::PutMemory(Json& line, DeviceOrdinal device, const MemoryInfo& info) const {
  line["total"] = info.total.value();
  const auto found = free_at_begin_.find(device.value());
  if (found == free_at_begin_.end()) return;
  line["taken"] = static_cast<int64_t>((found->second - info.free).value());
}

void RecordingLog::Await(Stream stream, const void* destination, Bytes size) {
  pending_.push_back({stream, destination, size});
}

void RecordingLog::Arrived(Json& line, DeviceOrdinal device, const Stream* stream) {
  Json arrived = Json::array();
  for (auto it = pending_.begin(); it != pending_.end();) {
    const bool done = stream != nullptr ? it->stream == *stream : it->stream.device() == device;
    if (!done) {
      ++it;
      continue;
    }
    arrived.push_back(EncodeRead(absl::MakeSpan(static_cast<const uint8_t*>(it->destination),
                                                static_cast<size_t>(it->size.value())),
                                 options_.known_content));
    it = pending_.erase(it);
  }
  if (!arrived.empty()) line["arrived"] = arrived;
}

}  // namespace twinmmu
