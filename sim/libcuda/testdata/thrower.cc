// Has a runtime of its own, as libcuda.so.1 has.

#include <stdexcept>

extern "C" int ThrowAndCatch(int value) {
  try {
    if (value > 0) throw std::out_of_range("of the library");
  } catch (const std::out_of_range&) {
    return value;
  }
  return 0;
}

extern "C" int CallAndCatch(void (*function)()) {
  try {
    function();
  } catch (const std::exception&) {
    return 1;
  }
  return 0;
}
