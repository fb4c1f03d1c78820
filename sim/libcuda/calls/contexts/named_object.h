// The object that a call names, which has a context.

#ifndef TWINMMU_SIM_LIBCUDA_CALLS_CONTEXTS_NAMED_OBJECT_H_
#define TWINMMU_SIM_LIBCUDA_CALLS_CONTEXTS_NAMED_OBJECT_H_

#include <cstdint>

#include "sim/libcuda/contexts.h"
#include "sim/libcuda/streams.h"
#include "third_party/cuda_abi/cuda_abi.h"

namespace twinmmu::libcuda {

struct DriverState;

// A thread without a current context, or with one that is destroyed, calls in that of the object.
// Default streams have none.
// Source: an H200 with driver 580.159.
class NamedObject {
 public:
  NamedObject() = default;  // none: the thread needs a current context
  // Implicit, so that a call enters for what it is given.
  NamedObject(cuda_abi::CUstream stream) : NamedObject(Kind::kStream, stream) {}
  NamedObject(cuda_abi::CUevent event) : NamedObject(Kind::kEvent, event) {}
  NamedObject(cuda_abi::CUmodule module) : NamedObject(Kind::kModule, module) {}
  NamedObject(cuda_abi::CUfunction function) : NamedObject(Kind::kFunction, function) {}
  NamedObject(cuda_abi::CUarray array) : NamedObject(Kind::kArray, array) {}
  NamedObject(cuda_abi::CUmipmappedArray mipmap) : NamedObject(Kind::kMipmap, mipmap) {}

  // One that is no default stream: null is no stream at all.
  static NamedObject OfCreated(cuda_abi::CUstream stream) { return {Kind::kCreated, stream}; }
  // The stream of a copy, for which a current context that is destroyed counts all the same.
  static NamedObject OfCopy(cuda_abi::CUstream stream) {
    NamedObject of_copy(stream);
    of_copy.is_of_copy_ = true;
    return of_copy;
  }

  // For a call of which what is null counts before the context, and before a fault.
  static NamedObject NullFirst(NamedObject named) {
    named.is_null_first_ = true;
    return named;
  }

  bool is_none() const { return kind_ == Kind::kNone; }
  bool is_null_first() const { return is_null_first_; }
  // It is to be an object, and null is none.
  bool is_null() const { return !is_none() && !is_stream() && id_ == 0; }
  bool is_stream() const { return kind_ == Kind::kStream; }
  bool is_created() const { return kind_ == Kind::kCreated; }
  bool is_of_copy() const { return is_of_copy_; }
  bool is_default_stream() const { return is_stream() && id_ <= kLastDefaultStream; }
  uint64_t id() const { return id_; }
  bool is_event() const { return kind_ == Kind::kEvent; }

  // Null: nothing of a context was made with that handle. Modules of libraries and levels of
  // mipmapped arrays are of none.
  Context* FindContext(const DriverState& driver) const;

 private:
  enum class Kind { kNone, kStream, kCreated, kEvent, kModule, kFunction, kArray, kMipmap };

  NamedObject(Kind kind, const void* handle)
      : kind_(kind), id_(reinterpret_cast<uintptr_t>(handle)) {}

  Kind kind_ = Kind::kNone;
  uint64_t id_ = 0;
  bool is_of_copy_ = false;
  bool is_null_first_ = false;
};

// The context of the object; the current one where it has none.
Context& OwnerOf(const DriverState& driver, const NamedObject& named, Context& current);

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_CALLS_CONTEXTS_NAMED_OBJECT_H_
