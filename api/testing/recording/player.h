// Player: makes the calls of a recording again, on another driver.

#ifndef TWINMMU_API_TESTING_RECORDING_PLAYER_H_
#define TWINMMU_API_TESTING_RECORDING_PLAYER_H_

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/driver.h"
#include "api/driver_call.h"
#include "api/testing/recording/codec.h"
#include "api/testing/recording/recorder.h"

namespace twinmmu {

// A driver to play on, with nothing of others in it.
struct PlayerTarget {
  std::unique_ptr<Driver> driver;
  // Where it can be told to: the next reservation is to be at `base`. May be empty: then it is
  // where the driver puts it, and what depends on neighbours may differ.
  std::function<void(DeviceAddress base)> place_next;
};

// For one thread. Owns what the calls need: host memory, descriptors.
class Player {
 public:
  explicit Player(PlayerTarget target, KnownContent known_content = {});
  ~Player();

  // Before the first line of a part that stands by itself.
  void Begin();
  // Makes the call of `line` and returns the line that it gives here; with null where `line` is no
  // call ({"closed": ...} closes a descriptor). InvalidArgument: not a line of a recording.
  // Unimplemented: what the call needs is not in a recording (the arguments of a kernel).
  absl::StatusOr<Json> Play(const Json& line);

 private:
  struct Free {
    void operator()(void* memory) const;
  };
  using Buffer = std::unique_ptr<uint8_t, Free>;
  // Nothing of more bytes is kept: such a call was refused, and will be.
  static constexpr Bytes kMostBytes = GiB(4);

  absl::Status Make(DriverCall call, const Json& line);
  template <typename Interface, typename Result, typename... Parameter>
  absl::Status MakeOn(absl::StatusOr<Interface*> target, Result (Interface::*method)(Parameter...),
                      std::initializer_list<const char*> names, const Json& line);
  uint8_t* Transferred(const Json& line, bool is_written);
  uint8_t* TransferredBox(const Json& line, bool is_written);
  uint8_t* BufferOf(Bytes room, const Json& line, bool is_written);
  void KeepDescriptor(DriverCall call);
  void CloseDescriptor(const std::string& name);
  void CloseDescriptors();
  void SkipPastResults(const Json& line);

  std::function<void(DeviceAddress)> place_next_;
  const KnownContent known_content_;
  Json seen_;
  std::vector<int> descriptors_;
  std::vector<Buffer> buffers_;  // of work that may not be done yet
  RecordingDriver driver_;
};

}  // namespace twinmmu

#endif  // TWINMMU_API_TESTING_RECORDING_PLAYER_H_
