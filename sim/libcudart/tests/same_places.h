// Whether two functions take their parameters from the same places: as many, each of the same size
// and kind.

#ifndef TWINMMU_SIM_LIBCUDART_TESTS_SAME_PLACES_H_
#define TWINMMU_SIM_LIBCUDART_TESTS_SAME_PLACES_H_

#include <type_traits>

namespace twinmmu::cudart {

// What decides how a parameter is passed.
template <typename T>
constexpr int kKind = std::is_class_v<T> || std::is_union_v<T> ? 2 : std::is_floating_point_v<T>;

template <typename Ours, typename Theirs>
struct SamePlaces : std::false_type {};
template <typename R1, typename... Ours, typename R2, typename... Theirs>
struct SamePlaces<R1 (*)(Ours...), R2(Theirs...)> {
  static constexpr bool Compare() {
    if constexpr (sizeof...(Ours) == sizeof...(Theirs)) {
      return ((sizeof(Ours) == sizeof(Theirs) && kKind<Ours> == kKind<Theirs>)&&...);
    }
    return false;
  }
  static constexpr bool value = Compare();
};

}  // namespace twinmmu::cudart

#endif  // TWINMMU_SIM_LIBCUDART_TESTS_SAME_PLACES_H_
