// What a log remembers of arrays: their elements, and the names of levels.

#ifndef TWINMMU_API_TESTING_RECORDING_KNOWN_ARRAYS_H_
#define TWINMMU_API_TESTING_RECORDING_KNOWN_ARRAYS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "api/sparse_arrays.h"
#include "api/testing/recording/array_codec.h"
#include "api/testing/recording/names.h"

namespace twinmmu {

// By value, also of those that are gone. Not thread-safe.
class KnownArrays {
 public:
  void Add(Array array, Bytes element) { elements_[array.value()] = element; }
  void Add(MipmappedArray mipmap, Bytes element) { mipmaps_[mipmap.value()] = {element, {}}; }

  // A level has one name, however often it is asked for. A driver may give its value to another
  // array when the mipmapped one is gone: so the names do not suffice.
  std::string NameOfLevel(Names& names, MipmappedArray mipmap, uint32_t level, Array array) {
    Mipmap& known = mipmaps_[mipmap.value()];
    Add(array, known.element);
    const auto [found, is_new] = known.levels.emplace(level, array.value());
    const std::string name = names.Of(Names::kArray, array.value());
    const bool is_known = !is_new && found->second == array.value() && name[0] == Names::kArray;
    found->second = array.value();
    return is_known ? name : names.Add(Names::kArray, array.value());
  }

  // What a box of the array takes. nullopt: nobody can tell.
  std::optional<Bytes> SizeOf(Array array, const ArrayExtent& box) const {
    const auto element = elements_.find(array.value());
    if (element == elements_.end() || element->second == Bytes(0)) return std::nullopt;
    return SizeOfBox(element->second, box);
  }

 private:
  struct Mipmap {
    Bytes element;
    std::map<uint32_t, uint64_t> levels;  // the arrays that name them
  };

  std::map<uint64_t, Bytes> elements_;
  std::map<uint64_t, Mipmap> mipmaps_;
};

}  // namespace twinmmu

#endif  // TWINMMU_API_TESTING_RECORDING_KNOWN_ARRAYS_H_
