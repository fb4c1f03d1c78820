// Which modifiers of accesses go together, as ptxas 13.0 has it. These are called before what they
// look at is taken.

#include <algorithm>
#include <string>

#include "absl/strings/match.h"
#include "sim/ptx/decode/decode.h"

namespace twinmmu::ptx {
namespace {

bool IsOfCache(absl::string_view modifier) {
  return absl::StartsWith(modifier, "L1::") || absl::StartsWith(modifier, "L2::evict");
}

bool IsPrefetch(absl::string_view modifier) {
  return modifier == "L2::64B" || modifier == "L2::128B" || modifier == "L2::256B";
}

}  // namespace

bool Decoder::HasAny(std::initializer_list<absl::string_view> names) const {
  return std::any_of(names.begin(), names.end(), [&](absl::string_view name) { return Has(name); });
}

bool Decoder::HasScope() const { return HasAny({"cta", "cluster", "gpu", "sys"}); }

bool Decoder::IsOfGlobalMemory() const {
  return !HasAny({"shared", "shared::cta", "shared::cluster", "local", "const", "param",
                  "param::entry", "param::func"});
}

// Of ld and st.
void Decoder::CheckAccess() {
  const bool is_ordered = HasAny({"relaxed", "acquire", "release"});
  const bool is_strong = is_ordered || HasAny({"volatile", "mmio"});
  if (is_ordered && !HasScope()) return FailInvalid("an order needs a scope");
  if (is_strong && HasAny({"local", "const", "param", "param::entry", "param::func"})) {
    return FailInvalid("memory of that space has no order");
  }
  if (Has("nc") && (is_strong || Has("weak") || !Has("global"))) {
    return FailInvalid(".nc is of weak accesses to .global");
  }
  if (Has("nc") && HasAny({"cv", "lu"})) return FailInvalid(".nc does not go with .cv and .lu");
  CheckCacheHints();
}

void Decoder::CheckCacheHints() {
  const auto has = [&](bool (*is)(absl::string_view)) {
    return std::any_of(modifiers_.begin(), modifiers_.end(), is);
  };
  const bool of_cache = has(IsOfCache);
  const bool is_hinted = of_cache || Has("L2::cache_hint");
  const bool fetches = has(IsPrefetch);
  const bool is_device_access = Has("mmio");
  if (!is_hinted && !fetches && !is_device_access) return;  // as most
  if ((is_hinted || fetches) && !IsOfGlobalMemory()) {
    return FailInvalid("caches are told of accesses to global memory only");
  }
  if (Has("volatile") && is_hinted) return FailInvalid(".volatile does not go with caches");
  if (of_cache && HasAny({"ca", "cg", "cs", "lu", "cv", "wb", "wt"})) {
    return FailInvalid("a cache operator does not go with an eviction priority");
  }
  if (is_device_access) {
    const bool whole_system = Has("sys") && !HasAny({"cta", "cluster", "gpu"});
    if (!whole_system || !IsOfGlobalMemory() || is_hinted || fetches ||
        HasAny({"v2", "v4", "v8"})) {
      return FailInvalid(".mmio is .relaxed.sys, of one value in global memory");
    }
  }
  const bool is_widest = (Has("v8") && HasAny({"b32", "u32", "s32", "f32"})) ||
                         (Has("v4") && HasAny({"b64", "u64", "s64", "f64"}));
  if (HasAny({"L2::evict_normal", "L2::evict_first", "L2::evict_last"}) && !is_widest) {
    return FailInvalid(".L2::evict is of vectors of 32 bytes");
  }
}

// Of atom and red.
void Decoder::CheckAtomic(bool gives_old) {
  if (!gives_old && HasAny({"exch", "cas", "acquire", "acq_rel"})) {
    return FailInvalid("red gives no old value: there is no such operation or order of it");
  }
  const bool is_half = HasAny({"f16", "f16x2", "bf16", "bf16x2"});
  if (is_half != Has("noftz")) {
    return FailInvalid(is_half ? ".noftz is missing" : ".noftz is of halves only");
  }
  if (Has("L2::cache_hint") && (!IsOfGlobalMemory() || Has("cas"))) {
    return FailInvalid(".L2::cache_hint is of global memory, and not of .cas");
  }
  if (Has("add") && Has("s64")) return FailInvalid("there is no add of .s64: .u64 is the same");
}

// Of an operation of mbarriers whose name was taken.
void Decoder::CheckMbarrier(absl::string_view operation) {
  const bool of_cluster = Has("shared::cluster");
  const bool is_ordered = HasAny({"acquire", "release", "relaxed"});
  if (is_ordered != HasScope()) return FailInvalid("an order and a scope come together");
  if (HasAny({"gpu", "sys"})) return FailInvalid("the scope is .cta or .cluster");
  if (operation == "init" || operation == "inval") {
    if (is_ordered || of_cluster) FailInvalid("it is of the own block, and has no order");
    return;
  }
  const bool waits = operation == "test_wait" || operation == "try_wait";
  if (waits && of_cluster) return FailInvalid("a block waits for its own mbarriers");
  const bool counts_bytes = operation == "expect_tx" || operation == "complete_tx";
  if ((!waits && Has("acquire")) || (Has("release") && (waits || counts_bytes))) {
    return FailInvalid("there is no such order of it");
  }
  if (Has("noComplete") && (of_cluster || Has("cluster"))) {
    FailInvalid(".noComplete is of the own block");
  }
}

}  // namespace twinmmu::ptx
