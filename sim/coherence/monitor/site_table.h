// SiteTable: places in code by ids, which accesses of memory are noted with.

#ifndef TWINMMU_SIM_COHERENCE_MONITOR_SITE_TABLE_H_
#define TWINMMU_SIM_COHERENCE_MONITOR_SITE_TABLE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "sim/coherence/monitor/alias_monitor.h"

namespace twinmmu {

// What has places in code: a program, or what calls do themselves.
class SiteSource {
 public:
  virtual ~SiteSource() = default;
  // The place `index` of its part `part`: "kernel copy, PTX line 12 (copy.cu:7), st.global.u32".
  virtual std::string SiteInWords(uint32_t part, uint32_t index) const = 0;
};

// Thread-safe. Calls nothing but sources, and these without its lock.
class SiteTable {
 public:
  using Site = coherence::Site;
  static constexpr Site kUnknown = 0;
  static constexpr size_t kKept = 16;

  // Ids for `count` places of a part of `source`: the first of them; the same ones each time.
  // kUnknown: there are no ids left, or the host has no memory. `name`: what is said of the
  // part once its source is gone. This object keeps the last kKept sources, so that what was
  // unloaded a while ago still has its lines.
  Site Add(const std::shared_ptr<const SiteSource>& source, uint32_t part, uint32_t count,
           const std::string& name);
  // Of any id. May throw std::bad_alloc.
  std::string InWords(Site site) const;
  // How many parts it knows. Of sources that are gone, only the last ones are among them.
  size_t size() const;

 private:
  struct Range {
    uint32_t count = 0;
    uint32_t part = 0;
    std::weak_ptr<const SiteSource> source;
    std::string name;
  };

  void ForgetGone();

  // Of parts: of no more it is not looked which ones are gone, and so many that are, are kept.
  static constexpr size_t kFew = 4096;
  static constexpr size_t kGone = 1024;

  mutable std::mutex mutex_;  // guards the rest
  Site next_ = kUnknown + 1;
  std::map<Site, Range> ranges_;  // by their first ids
  std::map<std::pair<const SiteSource*, uint32_t>, Site> known_;
  std::array<std::shared_ptr<const SiteSource>, kKept> kept_;
  size_t next_kept_ = 0;
  size_t most_ = kFew;  // parts, until it is looked
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_COHERENCE_MONITOR_SITE_TABLE_H_
