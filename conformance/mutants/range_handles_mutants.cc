// Mutants of cuMemGetHandleForAddressRange.

#include <fcntl.h>
#include <unistd.h>

#include "conformance/mutants/framework/mutant.h"

namespace twinmmu::conformance {
namespace {

MUTANT(DMABUF_1, GetHandleForAddressRange, "The descriptor is not open.") { return 1 << 20; }

MUTANT_IF(DMABUF_1, GetHandleForAddressRange, "Memory that nobody has access to is refused.",
          AccessAt(range.base) == Access::kNone, Refuse())

MUTANT_IF(DMABUF_2, GetHandleForAddressRange, "Only whole granules are taken.",
          range.size % Granule() != Bytes(0), Refuse())

MUTANT_IF(DMABUF_2, GetHandleForAddressRange, "Only what is inside one mapping is taken.",
          MappingsIn(range).size() > 1, Refuse())

MUTANT(DMABUF_3, GetHandleForAddressRange, "A base inside a page is taken for its beginning.") {
  const Bytes inside(range.base.value() % KiB(4).value());
  const AddressRange pages{range.base - inside, range.size, Bytes(0)};
  return Real::GetHandleForAddressRange(device, pages, type, flags);
}

MUTANT(DMABUF_3, GetHandleForAddressRange, "A size is rounded up to pages.") {
  const Bytes size = KiB(4) * ((range.size.value() + KiB(4).value() - 1) / KiB(4).value());
  const AddressRange pages{range.base, size, Bytes(0)};
  return Real::GetHandleForAddressRange(device, pages, type, flags);
}

MUTANT(DMABUF_3, GetHandleForAddressRange, "Size 0 is a page.") {
  const AddressRange page{range.base, range.size == Bytes(0) ? KiB(4) : range.size, Bytes(0)};
  return Real::GetHandleForAddressRange(device, page, type, flags);
}

MUTANT(DMABUF_4, GetHandleForAddressRange, "Only the first page has to be mapped.") {
  const AddressRange page{range.base, KiB(4), Bytes(0)};
  const bool whole = range.size % KiB(4) == Bytes(0) && range.size != Bytes(0);
  return Real::GetHandleForAddressRange(device, whole ? page : range, type, flags);
}

MUTANT(DMABUF_5, GetHandleForAddressRange, "The type is ignored.") {
  return Real::GetHandleForAddressRange(device, range, RangeHandleType::kDmaBufFileDescriptor,
                                        flags);
}

MUTANT(DMABUF_6, GetHandleForAddressRange, "The descriptor keeps nothing.") {
  return open("/dev/null", O_RDWR | O_CLOEXEC);
}

// Each descriptor has another one that nobody closes.
class Duplicated : public Real {
 public:
  using Real::Real;
  CALL(GetHandleForAddressRange) override {
    const absl::StatusOr<int> given = Real::GetHandleForAddressRange(device, range, type, flags);
    if (given.ok()) fcntl(*given, F_DUPFD_CLOEXEC, 0);
    return given;
  }
};

MUTANT_CLASS(DMABUF_6, Duplicated, "The memory stays after the descriptor is closed.")

MUTANT(DMABUF_7, GetHandleForAddressRange, "Flags are ignored.") {
  return Real::GetHandleForAddressRange(device, range, type, 0);
}

MUTANT(DMABUF_7, GetHandleForAddressRange, "Flags that do not exist are taken for that of PCIe.") {
  const uint64_t known = flags == 0 ? 0 : kRangeFlagPcie;
  return Real::GetHandleForAddressRange(device, range, type, known);
}

MUTANT_IF(DMABUF_7, GetHandleForAddressRange, "Flags that do not exist are noticed before PCIe.",
          (flags & ~kRangeFlagPcie) != 0, Refuse())

}  // namespace
}  // namespace twinmmu::conformance
