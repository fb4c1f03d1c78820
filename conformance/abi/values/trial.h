// A call of which one field is given another value. A case makes the call:
//
//   void FillWords(Trial& trial) {
//     CUdeviceptr address = Memory();
//     trial.Offset(kBytes, FIELD(address));
//     trial.Answer(Call("cuMemsetD32_v2", address, 1, 16));
//   }
//
// and a line has the answers to one of its fields, such as
//
//   cuMemsetD32 address+: 0 SUCCESS; 1..3 INVALID_VALUE; 4 SUCCESS; ...
//
// where a range is of the values that were tried, of which there are gaps.

#ifndef TWINMMU_CONFORMANCE_ABI_VALUES_TRIAL_H_
#define TWINMMU_CONFORMANCE_ABI_VALUES_TRIAL_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace twinmmu::abi {

// A field and its name: trial.Any(FIELD(copy.Height)).
#define FIELD(place) place, #place

// A genuine driver computes sizes modulo 2^64, and succeeds or faults by accident; the simulator
// refuses what is too large. Neither is asked beyond this.
inline constexpr uint64_t kLargestSize = uint64_t{1} << 40;
// Of some fields of 64 bits a genuine driver looks at 32.
inline constexpr uint64_t kLargest32 = 0xffffffff;
// What any machine has memory for.
inline constexpr uint64_t kLargestMemory = uint64_t{1} << 30;

// A case makes its call once with each value of each field. It offers its fields in the same order
// each time, and leaves everything as it was.
class Trial {
 public:
  struct Field {
    std::string name;
    std::vector<uint64_t> values;
  };

  // Changes no field, and notes which there are.
  Trial() = default;
  // Field `index` has `value`.
  Trial(size_t index, uint64_t value) : changed_(index), value_(value) {}

  // Every value that fits.
  template <typename Place>
  void Any(Place& place, const char* name) {
    UpTo(~uint64_t{0}, place, name);
  }
  // A size in bytes, a pitch, a number of rows, ...
  template <typename Place>
  void Size(Place& place, const char* name) {
    UpTo(kLargestSize, place, name);
  }
  template <typename Place>
  void UpTo(uint64_t most, Place& place, const char* name) {
    Where([most](uint64_t value) { return value <= most; }, place, name);
  }
  // How much to allocate: what there always is, and what there never is.
  template <typename Place>
  void Memory(Place& place, const char* name) {
    Where([](uint64_t value) { return value <= kLargestMemory || value >= kLargestSize; }, place,
          name);
  }
  template <typename Place>
  void Where(const std::function<bool(uint64_t)>& is_tried, Place& place, const char* name) {
    static_assert(std::is_arithmetic_v<Place>);
    if (const auto value = Offer(name, sizeof(Place), is_tried)) {
      std::memcpy(&place, &*value, sizeof(Place));
    }
  }
  template <typename Place>
  void OneOf(std::vector<uint64_t> values, Place& place, const char* name) {
    static_assert(std::is_arithmetic_v<Place>);
    if (const auto value = Offer(name, std::move(values))) {
      std::memcpy(&place, &*value, sizeof(Place));
    }
  }
  // What no program should set: a pointer that must be null, a reserved word.
  void Word(void* place, const char* name) {
    if (const auto value = Offer(name, sizeof(uint64_t), [](uint64_t) { return true; })) {
      std::memcpy(place, &*value, sizeof(*value));
    }
  }
  // An address in an allocation of so many bytes, and one far behind it: what is next to it differs
  // from driver to driver.
  void Offset(uint64_t size, unsigned long long& address, const char* name);

  // What the call returned, or another one behind it.
  void Answer(int result);
  template <typename... Numbers>
  void Tell(Numbers... numbers) {
    (Add(std::to_string(numbers)), ...);
  }
  void Add(const std::string& word);

  const std::vector<Field>& fields() const { return fields_; }
  const std::string& answer() const { return answer_; }

 private:
  std::optional<uint64_t> Offer(const std::string& name, size_t bytes,
                                const std::function<bool(uint64_t)>& is_tried);
  std::optional<uint64_t> Offer(const std::string& name, std::vector<uint64_t> values);

  const std::optional<size_t> changed_;
  const uint64_t value_ = 0;
  size_t offered_ = 0;
  std::vector<Field> fields_;
  std::string answer_;
};

struct Case {
  const char* name;
  void (*make)(Trial& trial);
};

}  // namespace twinmmu::abi

#endif  // TWINMMU_CONFORMANCE_ABI_VALUES_TRIAL_H_
