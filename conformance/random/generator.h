// Generator: chooses the next call of a random sequence.

#ifndef TWINMMU_CONFORMANCE_RANDOM_GENERATOR_H_
#define TWINMMU_CONFORMANCE_RANDOM_GENERATOR_H_

#include <cstddef>
#include <cstdint>
#include <random>

#include "conformance/random/checker.h"
#include "conformance/random/random_call.h"

namespace twinmmu::conformance::random {

// Where decisions come from.
class Choices {
 public:
  virtual ~Choices() = default;
  // A number below `n`, which is not 0.
  virtual uint64_t Below(uint64_t n) = 0;

  bool OneIn(uint64_t n) { return Below(n) == 0; }
};

class SeededChoices : public Choices {
 public:
  explicit SeededChoices(uint64_t seed) : random_(seed) {}
  uint64_t Below(uint64_t n) override { return random_() % n; }

 private:
  std::mt19937_64 random_;
};

// From bytes, such as a fuzzer gives; 0 where they have ended.
class ByteChoices : public Choices {
 public:
  ByteChoices(const uint8_t* data, size_t size) : data_(data), end_(data + size) {}
  uint64_t Below(uint64_t n) override {
    uint64_t value = 0;
    for (uint64_t reach = 1; reach < n && data_ != end_; reach <<= 8) {
      value = value << 8 | *data_++;
      if (reach >> 56 != 0) break;
    }
    return value % n;
  }
  bool ended() const { return data_ == end_; }

 private:
  const uint8_t* data_;
  const uint8_t* end_;
};

// Most calls are plausible where the checker's sequence stands: they pick what is there, and lead
// to states that are worth having. The others are wrong in one operand or several.
class Generator {
 public:
  // Both must outlive this object.
  Generator(Choices* choices, const Checker* checker)
      : choices_(*choices), checker_(*checker), model_(checker->model()) {}

  Call Next();

 private:
  CallKind ChooseKind();
  void ChooseReserve(Call& call);
  void ChooseCreate(Call& call);
  void ChooseMap(Call& call);
  void ChooseSpan(Call& call);
  void ChooseGrants(Call& call);
  void ChooseImport(Call& call);
  void ChooseTransfer(Call& call);
  void ChooseOperands(Call& call);

  bool Bad() { return choices_.OneIn(24); }
  template <typename T, size_t kCount>
  const T& OneOf(const T (&values)[kCount]) {
    return values[choices_.Below(kCount)];
  }
  int Slot(int count, bool (Generator::*usable)(int) const);
  bool HasReservation(int slot) const;
  bool HasNoReservation(int slot) const { return !HasReservation(slot); }
  bool HasHandle(int slot) const;
  bool HasNoHandle(int slot) const { return !HasHandle(slot); }
  bool HasShareable(int slot) const;
  bool HasNoShareable(int slot) const { return !HasShareable(slot); }

  Place AnyPlace();
  Place PlaceInMapping();
  Amount BadSize();
  HandleOperand AnyHandle();
  uint64_t Flags();
  DeviceOrdinal AnyDevice();
  Location AnyLocation();
  AllocationProperties AnyProperties();

  Choices& choices_;
  const Checker& checker_;
  const Model& model_;
};

}  // namespace twinmmu::conformance::random

#endif  // TWINMMU_CONFORMANCE_RANDOM_GENERATOR_H_
