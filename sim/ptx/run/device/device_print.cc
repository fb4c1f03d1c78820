#include "sim/ptx/run/device/device_print.h"

#include <cstdio>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "sim/ptx/run/steps.h"

namespace twinmmu::ptx {
namespace {

constexpr size_t kLongestText = 4096;
// Of one conversion, so that "%999999999d" takes no memory.
constexpr int kWidest = 1000;

bool ReadText(Warp& warp, uint64_t address, int lane, std::string* text) {
  for (char c; text->size() < kLongestText; text->push_back(c)) {
    if (!warp.Read(address + text->size(), &c, 1, lane)) return false;
    if (c == '\0') break;
  }
  return true;
}

// Argument `index` of a call, as `lane` passes it; 0 if there is none.
uint64_t Argument(Warp& warp, const CallSite& site, size_t index, int lane) {
  uint64_t value = 0;
  if (index >= site.arguments.size()) return value;
  const Passed& passed = site.arguments[index];
  std::memcpy(&value, warp.frame().PlaceOf(passed, lane),
              std::min<size_t>(passed.size, sizeof(value)));
  return value;
}

// The text of a format and its arguments, which lie one behind the other, each aligned.
class Formatter {
 public:
  Formatter(Warp& warp, int lane, uint64_t arguments)
      : warp_(warp), lane_(lane), next_(arguments) {}

  bool Format(const std::string& format) {
    for (size_t i = 0; i < format.size(); ++i) {
      if (format[i] != '%') {
        text_.push_back(format[i]);
      } else if (i + 1 < format.size() && format[i + 1] == '%') {
        text_.push_back(format[++i]);
      } else if (!Conversion(format, &i)) {
        return false;
      }
    }
    return true;
  }
  const std::string& text() const { return text_; }
  int count() const { return count_; }

 private:
  template <typename T>
  bool Take(T* value) {
    next_ = (next_ + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    const bool read = warp_.Read(next_, value, sizeof(T), lane_);
    next_ += sizeof(T);
    return read;
  }
  bool Number(const std::string& format, size_t* i, int* number) {
    if (format[*i] == '*') {
      ++*i;
      int32_t value = 0;
      if (!Take(&value)) return false;
      *number = std::min(std::max(value, -kWidest), kWidest);
      return true;
    }
    *number = 0;
    for (; *i < format.size() && format[*i] >= '0' && format[*i] <= '9'; ++*i) {
      *number = std::min(*number * 10 + (format[*i] - '0'), kWidest);
    }
    return true;
  }
  // From the % at *i on; *i is at its last character then.
  bool Conversion(const std::string& format, size_t* i) {
    std::string flags = "%";
    size_t at = *i + 1;
    while (at < format.size() && std::strchr("-+ #0", format[at]) != nullptr) {
      flags.push_back(format[at++]);
    }
    int width = 0;
    int precision = -1;
    if (at < format.size() && !Number(format, &at, &width)) return false;
    if (at < format.size() && format[at] == '.') {
      ++at;
      if (at < format.size() && !Number(format, &at, &precision)) return false;
    }
    int longs = 0;
    for (; at < format.size() && std::strchr("hlLqjzt", format[at]) != nullptr; ++at) {
      longs += format[at] != 'h';
    }
    if (at >= format.size()) return true;
    *i = at;
    if (width != 0) absl::StrAppend(&flags, width);
    if (precision >= 0) absl::StrAppend(&flags, ".", precision);
    ++count_;
    return Value(format[at], flags, longs != 0);
  }
  bool Value(char conversion, std::string spec, bool is_long) {
    char buffer[2 * kWidest + 64];
    if (std::strchr("diouxX", conversion) != nullptr) {
      int64_t value = 0;
      int32_t small = 0;
      const bool read = is_long ? Take(&value) : Take(&small);
      if (!read) return false;
      const bool is_signed = conversion == 'd' || conversion == 'i';
      if (!is_long) value = is_signed ? int64_t{small} : int64_t{static_cast<uint32_t>(small)};
      spec += "ll";
      spec.push_back(conversion);
      std::snprintf(buffer, sizeof(buffer), spec.c_str(), static_cast<long long>(value));
    } else if (std::strchr("eEfFgGaA", conversion) != nullptr) {
      double value = 0;
      if (!Take(&value)) return false;
      spec.push_back(conversion);
      std::snprintf(buffer, sizeof(buffer), spec.c_str(), value);
    } else if (conversion == 'c') {
      int32_t value = 0;
      if (!Take(&value)) return false;
      text_.push_back(static_cast<char>(value));
      return true;
    } else if (conversion == 's' || conversion == 'p') {
      uint64_t value = 0;
      if (!Take(&value)) return false;
      if (conversion == 'p') {
        absl::StrAppend(&text_, "0x", absl::Hex(value));
        return true;
      }
      std::string text;
      if (!ReadText(warp_, value, lane_, &text)) return false;
      spec.push_back('s');
      std::snprintf(buffer, sizeof(buffer), spec.c_str(), text.c_str());
    } else {
      absl::StrAppend(&text_, spec, absl::string_view(&conversion, 1));
      return true;
    }
    text_ += buffer;
    return true;
  }

  Warp& warp_;
  const int lane_;
  uint64_t next_;
  std::string text_;
  int count_ = 0;
};

}  // namespace

bool Print(Warp& warp, const CallSite& site, Lanes lanes) {
  for (; lanes != 0; lanes &= lanes - 1) {
    const int lane = __builtin_ctz(lanes);
    std::string format;
    Formatter formatter(warp, lane, Argument(warp, site, 1, lane));
    if (!ReadText(warp, Argument(warp, site, 0, lane), lane, &format) ||
        !formatter.Format(format)) {
      warp.Fault(GridFault::kIllegalAddress, Lanes{1} << lane, "an argument of printf");
      return false;
    }
    std::fwrite(formatter.text().data(), 1, formatter.text().size(), stdout);
    if (site.results.empty() || site.results[0].size != sizeof(int32_t)) continue;
    const int32_t count = formatter.count();
    std::memcpy(warp.frame().PlaceOf(site.results[0], lane), &count, sizeof(count));
  }
  std::fflush(stdout);
  return true;
}

Flow FailAssertion(Warp& warp, const CallSite& site, Lanes lanes) {
  const int lane = __builtin_ctz(lanes);
  std::string message;
  std::string file;
  std::string function;
  ReadText(warp, Argument(warp, site, 0, lane), lane, &message);
  ReadText(warp, Argument(warp, site, 1, lane), lane, &file);
  ReadText(warp, Argument(warp, site, 3, lane), lane, &function);
  const uint32_t line = static_cast<uint32_t>(Argument(warp, site, 2, lane));
  return warp.Fault(
      GridFault::kAssert, lanes,
      absl::StrCat(file, ":", line, ": ", function, ": assertion `", message, "` failed"));
}

}  // namespace twinmmu::ptx
