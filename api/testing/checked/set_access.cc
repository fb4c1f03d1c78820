#include "api/testing/checked/set_access.h"

#include <algorithm>

namespace twinmmu::checked {
namespace {

// Whether each access of `wanted` is there.
bool Has(const Grants& grants, const Grants& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const AccessGrant& grant) {
    return AccessOf(grants, grant.location) == grant.access;
  });
}

bool Changed(const AskedMapping& mapping) {
  return !Has(mapping.before, mapping.now) || !Has(mapping.now, mapping.before);
}

// Those of the first grants, as many as are in force; if it is not even one, what has changed.
Grants PartOf(absl::Span<const AccessGrant> grants, const AskedMapping& mapping) {
  Grants part;
  for (size_t count = 1; count <= grants.size(); ++count) {
    Grants granted = GrantsOf(grants.subspan(0, count));
    if (Has(mapping.now, granted)) part = std::move(granted);
  }
  for (const AccessGrant& grant : mapping.now) {
    if (!part.empty()) break;
    if (AccessOf(mapping.before, grant.location) != grant.access) part.push_back(grant);
  }
  return part;
}

}  // namespace

std::vector<AskedMapping> MappingsOf(const Book& book, const AddressRange& range) {
  std::vector<AskedMapping> mappings;
  const auto& all = book.state.mappings();
  const TrackedMapping* const first = book.state.FirstMapping(range);
  if (first == nullptr) return mappings;
  for (auto at = all.find(first->range.base); at != all.end() && range.overlaps(at->second.range);
       ++at) {
    const TrackedMapping& mapping = at->second;
    mappings.push_back({mapping.range, mapping.made_by, mapping.grants, mapping.grants});
  }
  return mappings;
}

void AskAccess(Vmm& vmm, absl::Span<const AccessGrant> grants,
               std::vector<AskedMapping>& mappings) {
  const Grants named = GrantsOf(grants);
  for (AskedMapping& mapping : mappings) {
    for (const AccessGrant& grant : named) {
      // Asked for the host, today's driver answers for device 0; asked for a node of it, not.
      const Location location =
          grant.location == Location::Host() ? Location::HostNuma(0) : grant.location;
      const absl::StatusOr<Access> access = vmm.GetAccess(location, mapping.range.base);
      if (access.ok()) SetGrant(mapping.now, {grant.location, *access});
    }
  }
}

void Follow(Book& book, const std::vector<AskedMapping>& mappings) {
  for (const AskedMapping& mapping : mappings) {
    const TrackedMapping* const known = book.state.MappingAt(mapping.range.base);
    if (known != nullptr && known->made_by == mapping.made_by) {
      book.state.SetGrants(mapping.range.base, mapping.now);
    }
  }
}

std::optional<AppliedPart> AppliedOf(absl::Span<const AccessGrant> grants,
                                     const std::vector<AskedMapping>& mappings) {
  if (std::none_of(mappings.begin(), mappings.end(), Changed)) return std::nullopt;
  const Grants wanted = GrantsOf(grants);
  AddressRange whole{mappings.front().range.base, Bytes(0), Bytes(0)};
  for (const AskedMapping& mapping : mappings) {
    if (!Has(mapping.now, wanted)) break;
    whole.size = mapping.range.end() - whole.base;
  }
  if (!whole.empty()) return AppliedPart{whole, wanted};
  return AppliedPart{mappings.front().range, PartOf(grants, mappings.front())};
}

}  // namespace twinmmu::checked
