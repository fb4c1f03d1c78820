// Settings of core dumps of devices, which are never made: kept, and read back. Codes, sizes and
// what is set at first are those of an H100 with driver 580.159, and so is that a context begins
// with what is set for all, and keeps it.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "sim/libcuda/calls/convert.h"
#include "sim/libcuda/calls/enter.h"
#include "sim/libcuda/calls/entry_points.h"

namespace twinmmu::libcuda {
namespace {

constexpr size_t kTextSize = 1024;
constexpr uint64_t kAllContexts = 0;  // the id of no context
constexpr uint64_t kAnyContext = 1;

// CUcoredumpSettings from 1 on.
struct Setting {
  size_t size;
  bool only_for_all;
  char at_first;

  bool is_text() const { return size == kTextSize; }
};
constexpr Setting kSettings[] = {
    {1, false, 0},          // ENABLE_ON_EXCEPTION
    {1, false, 1},          // TRIGGER_HOST
    {1, false, 0},          // LIGHTWEIGHT
    {1, true, 0},           // ENABLE_USER_TRIGGER
    {kTextSize, false, 0},  // FILE
    {kTextSize, true, 0},   // PIPE
    {4, false, 0},          // GENERATION_FLAGS
};

// Null: there is no such setting of that context.
const Setting* FindSetting(int number, uint64_t context) {
  if (number < 1 || static_cast<size_t>(number) > std::size(kSettings)) return nullptr;
  const Setting& setting = kSettings[number - 1];
  return setting.only_for_all && context != kAllContexts ? nullptr : &setting;
}

// Never destroyed: programs make calls when static objects are already gone.
class CoredumpSettings {
 public:
  static CoredumpSettings& Get() {
    static CoredumpSettings* const settings = new CoredumpSettings;
    return *settings;
  }

  std::string Find(int number, uint64_t context) {
    const std::lock_guard lock(mutex_);
    const auto own = values_.find({number, context});
    if (own != values_.end()) return own->second;
    const std::map<uint64_t, std::string>& for_all = for_all_[number];
    auto set = context == kAllContexts ? for_all.end() : for_all.lower_bound(context);
    if (set != for_all.begin()) return (--set)->second;
    const Setting& setting = kSettings[number - 1];
    std::string value(setting.size, '\0');
    value[0] = setting.at_first;
    return value;
  }
  void Set(int number, uint64_t context, std::string value) {
    const std::lock_guard lock(mutex_);
    values_[{number, context}] = std::move(value);
  }
  // `newest`: the id of the newest context.
  void SetForAll(int number, uint64_t newest, std::string value) {
    const std::lock_guard lock(mutex_);
    for_all_[number][newest] = std::move(value);
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<int, uint64_t>, std::string> values_;  // by setting and context
  // By setting, and by which context was the newest then: contexts behind that one begin with it.
  std::map<int, std::map<uint64_t, std::string>> for_all_;
};

// A driver clears all 1,024 bytes for a text that is empty, however few there are: not so here.
DriverCode Read(uint64_t context, int number, void* value, size_t* size) {
  const Setting* const setting = FindSetting(number, context);
  if (setting == nullptr) return DriverCode::kInvalidValue;
  if (value == nullptr) {
    *size = setting->size;
    return DriverCode::kSuccess;
  }
  const std::string found = CoredumpSettings::Get().Find(number, context);
  const bool fits =
      setting->is_text() ? *size >= std::strlen(found.c_str()) : *size == setting->size;
  if (!fits) return DriverCode::kInvalidValue;
  std::memcpy(value, found.data(), std::min(*size, found.size()));
  return DriverCode::kSuccess;
}

// Without a value nothing is set, and nothing is wrong.
DriverCode Write(DriverState& driver, uint64_t context, int number, const void* value,
                 const size_t* size) {
  const Setting* const setting = FindSetting(number, context);
  if (setting == nullptr) return DriverCode::kInvalidValue;
  if (value == nullptr) return DriverCode::kSuccess;
  const bool fits = setting->is_text() ? *size <= kTextSize : *size == setting->size;
  if (!fits) return DriverCode::kInvalidValue;
  std::string kept(static_cast<const char*>(value), *size);
  kept.resize(setting->size);
  CoredumpSettings& settings = CoredumpSettings::Get();
  if (context == kAllContexts) {
    settings.SetForAll(number, driver.contexts.newest_id(), std::move(kept));
  } else {
    settings.Set(number, context, std::move(kept));
  }
  return DriverCode::kSuccess;
}

// Calls body(driver, context), if there is such a setting, which counts before the context.
template <typename Body>
CUresult EnterForSetting(const CallSite& site, int setting, const size_t* size, const Body& body) {
  return Enter(site, {size}, [&](DriverState& driver) {
    const bool is_one = FindSetting(setting, kAnyContext) != nullptr;
    if (!is_one) return ToResult(DriverCode::kInvalidValue);
    return InCurrentContext(site, driver, [&](Context& context) { return body(driver, context); });
  });
}

}  // namespace

extern "C" CUresult cuCoredumpGetAttribute(int setting, void* value, size_t* size) {
  return EnterForSetting(TWINMMU_HERE, setting, size, [&](DriverState&, Context& context) {
    return Read(context.id, setting, value, size);
  });
}
extern "C" CUresult cuCoredumpGetAttributeGlobal(int setting, void* value, size_t* size) {
  return Enter(TWINMMU_HERE, {size},
               [&](DriverState&) { return Read(kAllContexts, setting, value, size); });
}
extern "C" CUresult cuCoredumpSetAttribute(int setting, void* value, size_t* size) {
  return EnterForSetting(TWINMMU_HERE, setting, size, [&](DriverState& driver, Context& context) {
    return Write(driver, context.id, setting, value, size);
  });
}
extern "C" CUresult cuCoredumpSetAttributeGlobal(int setting, void* value, size_t* size) {
  return Enter(TWINMMU_HERE, {size}, [&](DriverState& driver) {
    return Write(driver, kAllContexts, setting, value, size);
  });
}

}  // namespace twinmmu::libcuda
