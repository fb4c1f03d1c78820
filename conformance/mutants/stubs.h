// Three implementations that are little more than their signatures. Nearly every test must reject
// each of them.

#ifndef TWINMMU_CONFORMANCE_MUTANTS_STUBS_H_
#define TWINMMU_CONFORMANCE_MUTANTS_STUBS_H_

#include <atomic>
#include <type_traits>

#include "conformance/mutants/framework/real.h"

namespace twinmmu::conformance {

// Every call gives a value that its result can have.
class Answers : public Real {
 public:
  using Real::Real;

#define TWINMMU_ANSWER(context, id, result, method, ...)       \
  result id(TWINMMU_UNUSED_PARAMETERS(__VA_ARGS__)) override { \
    return Answer<result>(TWINMMU_ARGUMENTS(__VA_ARGS__));     \
  }
  TWINMMU_VMM_CALLS(TWINMMU_ANSWER, )
  TWINMMU_EXECUTOR_STREAM_CALLS(TWINMMU_ANSWER, )
  TWINMMU_EXECUTOR_MODULE_CALLS(TWINMMU_ANSWER, )
  TWINMMU_MULTICAST_CALLS(TWINMMU_ANSWER, )
  TWINMMU_SPARSE_ARRAYS_CALLS(TWINMMU_ANSWER, )
  TWINMMU_CALL(TWINMMU_ANSWER, , Write)
  TWINMMU_CALL(TWINMMU_ANSWER, , Read)
  TWINMMU_CALL(TWINMMU_ANSWER, , Move)
  TWINMMU_CALL(TWINMMU_ANSWER, , Set)
#undef TWINMMU_ANSWER

 protected:
  uint64_t last() const { return last_; }

 private:
  static DeviceOrdinal DeviceOf(DeviceOrdinal device) { return device; }
  template <typename Tag>
  static DeviceOrdinal DeviceOf(DeviceObject<Tag> object) {
    return object.device();
  }

  template <typename Result, typename... Arguments>
  Result Answer(const Arguments&... arguments) {
    if constexpr (std::is_same_v<Result, absl::Status>) {
      return Ok();
    } else {
      return Value(typename Result::value_type(), arguments...);
    }
  }
  template <typename T, typename... Arguments>
  T Value(T value, const Arguments&...) {
    return value;
  }
  template <typename... Arguments>
  bool Value(bool, const Arguments&...) {
    return true;
  }
  template <typename... Arguments>
  Bytes Value(Bytes, const Arguments&...) {
    return MiB(2);
  }
  template <typename... Arguments>
  AllocationHandle Value(AllocationHandle, const Arguments&...) {
    return AllocationHandle(++last_);
  }
  template <typename... Arguments>
  SparseProperties Value(SparseProperties, const Arguments&...) {
    return {{128, 128, 1}, 4, KiB(64)};
  }
  template <typename Tag, typename Owner, typename... Arguments>
  DeviceObject<Tag> Value(DeviceObject<Tag>, const Owner& owner, const Arguments&...) {
    return DeviceObject<Tag>(DeviceOf(owner), ++last_);
  }

  std::atomic<uint64_t> last_ = 0;
};

// Every call succeeds and does nothing.
class AllOk : public Answers {
 public:
  using Answers::Answers;

  CALL(GetDriverVersion) override { return 13000; }
  CALL(GetDeviceCount) override { return 2; }
  CALL(GetDeviceName) override { return std::string("GPU"); }
  CALL(GetDeviceAttribute) override { return 1; }
  CALL(GetMemoryInfo) override { return MemoryInfo{GiB(64), GiB(80)}; }
  CALL(AddressReserve) override {
    return AddressRange{DeviceAddress(end_ += size.value()) - size, size, Bytes(0)};
  }
  CALL(RetainAllocationHandle) override { return AllocationHandle(last()); }
  CALL(GetAccess) override { return Access::kReadWrite; }
  CALL(ExportShareableHandle) override { return ShareableHandle::FileDescriptor(-1); }
  CALL(GetAddressRange) override { return AddressRange{address, MiB(2), Bytes(0)}; }
  CALL(GetHandleForAddressRange) override { return 1 << 20; }

 private:
  std::atomic<uint64_t> end_ = TiB(1).value();
};

// Bookkeeping without memory: states and codes are right, and all data reads as zeros.
class WithoutMemory : public Real {
 public:
  using Real::Real;
  CALL(Read) override;
};

// Memory without access: they can be set, and everything that is mapped can be read and written.
class WithoutAccess : public Real {
 public:
  using Real::Real;
  CALL(Map) override;
  CALL(SetAccess) override;

 private:
  void Open(const AddressRange& range);
};

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_MUTANTS_STUBS_H_
