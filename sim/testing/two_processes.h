// A second process for a test, with a simulator of its own.

#ifndef TWINMMU_SIM_TESTING_TWO_PROCESSES_H_
#define TWINMMU_SIM_TESTING_TWO_PROCESSES_H_

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <optional>

namespace twinmmu {

// One end of a line between two processes: bytes, and descriptors with them. The process at the
// other end may be killed at any time; then a call says false. For one thread.
class Line {
 public:
  explicit Line(int socket) : socket_(socket) {}
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;
  ~Line() { Close(); }

  bool Send(const void* data, size_t size, int descriptor = -1) const;
  // Waits for as many bytes; `descriptor`: the one that came with them, to be closed by the caller,
  // or -1.
  bool Receive(void* data, size_t size, int* descriptor = nullptr) const;
  template <typename T>
  bool Send(const T& value, int descriptor = -1) const {
    return Send(&value, sizeof(value), descriptor);
  }
  template <typename T>
  bool Receive(T* value, int* descriptor = nullptr) const {
    return Receive(value, sizeof(*value), descriptor);
  }
  void Close();

 private:
  int socket_;
};

// Another process, made by fork; so it comes before this one has a simulator. It does what `role`
// says, with its end of the line.
class OtherProcess {
 public:
  explicit OtherProcess(const std::function<void(Line&)>& role);
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;
  ~OtherProcess() { Kill(); }

  Line& line() { return *line_; }
  // Ends it at once, wherever it is.
  void Kill();
  // Waits for its end: whether its role came to an end, and none of its expectations failed.
  bool Succeeds();

 private:
  pid_t process_ = -1;
  std::optional<Line> line_;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_TESTING_TWO_PROCESSES_H_
