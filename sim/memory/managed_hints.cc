#include "sim/memory/managed_hints.h"

#include <algorithm>
#include <iterator>
#include <new>

namespace twinmmu {
namespace {

constexpr uint64_t kPage = 4096;

uint64_t FirstOf(const AddressRange& range) { return range.base.value() / kPage * kPage; }
uint64_t EndOf(const AddressRange& range) {
  return RoundUp(Bytes(range.end().value()), Bytes(kPage)).value();
}

ManagedHints CommonTo(const ManagedHints& a, const ManagedHints& b) {
  ManagedHints both;
  both.read_mostly = a.read_mostly && b.read_mostly;
  if (a.preferred == b.preferred) both.preferred = a.preferred;
  if (a.prefetched == b.prefetched) both.prefetched = a.prefetched;
  both.accessed_by = a.accessed_by & b.accessed_by;
  both.accessed_by_host = a.accessed_by_host && b.accessed_by_host;
  return both;
}

}  // namespace

bool ManagedHints::operator==(const ManagedHints& other) const {
  return read_mostly == other.read_mostly && preferred == other.preferred &&
         prefetched == other.prefetched && accessed_by == other.accessed_by &&
         accessed_by_host == other.accessed_by_host;
}

HintsByPage::Piece HintsByPage::PieceAt(uint64_t page, const AddressRange& block) const {
  const auto behind = pieces_.upper_bound(page);
  Piece piece = {FirstOf(block), EndOf(block), {}};
  if (behind != pieces_.begin()) {
    const Piece& before = std::prev(behind)->second;
    if (before.end > page) return before;
    piece.begin = std::max(piece.begin, before.end);
  }
  if (behind != pieces_.end()) piece.end = std::min(piece.end, behind->first);
  return piece;
}

void HintsByPage::Fill(const AddressRange& block) {
  for (uint64_t page = FirstOf(block); page < EndOf(block);) {
    const Piece piece = PieceAt(page, block);
    pieces_.try_emplace(piece.begin, piece);
    page = piece.end;
  }
}

void HintsByPage::Split(uint64_t page) {
  const auto behind = pieces_.lower_bound(page);
  if (behind == pieces_.begin()) return;
  Piece& before = std::prev(behind)->second;
  if (before.end <= page) return;
  pieces_.emplace_hint(behind, page, Piece{page, before.end, before.hints});
  before.end = page;
}

HintsByPage::Pieces::iterator HintsByPage::Join(Pieces::iterator piece, const AddressRange& block) {
  const auto behind = std::next(piece);
  if (piece->second.end < EndOf(block) && behind->second.hints == piece->second.hints) {
    piece->second.end = behind->second.end;
    pieces_.erase(behind);
  }
  if (piece->first <= FirstOf(block)) return piece;
  const auto before = std::prev(piece);
  if (!(before->second.hints == piece->second.hints)) return piece;
  before->second.end = piece->second.end;
  pieces_.erase(piece);
  return before;
}

void HintsByPage::Edit(const AddressRange& range, const AddressRange& block,
                       absl::FunctionRef<void(ManagedHints&)> change) {
  const uint64_t end = EndOf(range);
  Fill(block);
  Split(FirstOf(range));
  Split(end);
  // Nothing fails any more.
  for (uint64_t page = FirstOf(range); page < end;) {
    const auto piece = std::prev(pieces_.upper_bound(page));
    change(piece->second.hints);
    page += Join(piece, block)->second.size();
  }
  const auto behind = pieces_.find(end);
  if (end < EndOf(block) && behind != pieces_.end()) Join(behind, block);
}

ManagedHints HintsByPage::InCommon(const AddressRange& range, const AddressRange& block) const {
  Piece piece = PieceAt(FirstOf(range), block);
  ManagedHints common = piece.hints;
  for (uint64_t page = FirstOf(range) + piece.size(); page < EndOf(range); page += piece.size()) {
    piece = PieceAt(page, block);
    common = CommonTo(common, piece.hints);
  }
  return common;
}

void HintsByPage::Forget(const AddressRange& range) {
  try {
    Split(FirstOf(range));
    Split(EndOf(range));
  } catch (const std::bad_alloc&) {
    pieces_.clear();
    return;
  }
  auto begin = pieces_.lower_bound(FirstOf(range));
  auto end = pieces_.lower_bound(EndOf(range));
  // What has no hints beside it becomes one with it.
  const ManagedHints none;
  while (begin != pieces_.begin() && std::prev(begin)->second.hints == none) --begin;
  while (end != pieces_.end() && end->second.hints == none) ++end;
  pieces_.erase(begin, end);
}

}  // namespace twinmmu
