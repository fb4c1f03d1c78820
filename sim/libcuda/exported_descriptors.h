// ExportedDescriptors: which descriptors of exported memory are still open.

#ifndef TWINMMU_SIM_LIBCUDA_EXPORTED_DESCRIPTORS_H_
#define TWINMMU_SIM_LIBCUDA_EXPORTED_DESCRIPTORS_H_

#include <sys/types.h>

#include <functional>
#include <map>
#include <mutex>
#include <utility>

namespace twinmmu::libcuda {

// A program closes them without a call of the driver; so they are looked at. Thread-safe.
class ExportedDescriptors {
 public:
  // An export gave this number. Returns whether an earlier one did too, whose descriptor must then
  // have been closed.
  bool Add(int descriptor);

  // Visits the numbers that are free by now, or stand for another file. Allocates nothing.
  void ForEachClosed(const std::function<void(int descriptor)>& visit) const;

 private:
  using File = std::pair<dev_t, ino_t>;

  mutable std::mutex mutex_;
  std::map<int, File> files_;
};

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_EXPORTED_DESCRIPTORS_H_
