// OwnedDescriptor: a file descriptor with one owner, which closes it.

#ifndef TWINMMU_API_SHARING_OWNED_DESCRIPTOR_H_
#define TWINMMU_API_SHARING_OWNED_DESCRIPTOR_H_

namespace twinmmu {

// Move-only. One object belongs to one thread at a time.
class OwnedDescriptor {
 public:
  // Holds nothing.
  OwnedDescriptor() = default;
  // Takes over an open descriptor; a negative number holds nothing.
  explicit OwnedDescriptor(int descriptor) : descriptor_(descriptor < 0 ? kNone : descriptor) {}
  OwnedDescriptor(OwnedDescriptor&& other) noexcept : descriptor_(other.Release()) {}
  OwnedDescriptor& operator=(OwnedDescriptor&& other) noexcept;
  ~OwnedDescriptor() { Close(); }

  bool is_open() const { return descriptor_ != kNone; }
  // The number; -1 if nothing is held. Still owned here: do not close it.
  int get() const { return descriptor_; }

  // Passes the descriptor to the caller, who must close it; -1 if nothing is held.
  [[nodiscard]] int Release();

  // Closes it. Does nothing if nothing is held. errno does not change.
  void Close();

 private:
  static constexpr int kNone = -1;

  int descriptor_ = kNone;
};

}  // namespace twinmmu

#endif  // TWINMMU_API_SHARING_OWNED_DESCRIPTOR_H_
