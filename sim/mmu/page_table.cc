#include "sim/mmu/page_table.h"

#include <algorithm>

namespace twinmmu {

PageTable::PageTable(uint64_t pages) : pages_(pages), root_(new Node) {
  while ((pages - 1) >> root_shift_ >= kSlots) root_shift_ += kBits;
  edge_nodes_ = 2 * static_cast<uint64_t>(root_shift_ / kBits);
}

PageTable::~PageTable() {
  Delete(root_);
  while (spare_ != nullptr) delete TakeSpare();
}

void PageTable::Prepare(uint64_t pages) {
  // Whole nodes under `pages` pages, on all levels, and the nodes at their edges.
  // Twice: Apply wants to see enough for its own edges each time.
  const uint64_t needed = pages / (kSlots - 1) + 2 * edge_nodes_;
  while (spares_ < needed) {
    Node* const node = new Node;
    node->slots[0] = reinterpret_cast<uint64_t>(spare_);
    spare_ = node;
    ++spares_;
  }
}

PageTable::Node* PageTable::TakeSpare() {
  Node* const node = spare_;
  spare_ = reinterpret_cast<Node*>(node->slots[0]);
  --spares_;
  return node;
}

void PageTable::GiveSpare(Node* node) {
  if (spares_ >= 2 * edge_nodes_) {
    delete node;
    return;
  }
  node->slots[0] = reinterpret_cast<uint64_t>(spare_);
  spare_ = node;
  ++spares_;
}

void PageTable::Delete(Node* node) {
  for (const uint64_t slot : node->slots) {
    if (IsChild(slot)) Delete(ChildOf(slot));
  }
  delete node;
  --nodes_;
}

void PageTable::Apply(uint64_t first, uint64_t count, const PageEdit& edit) {
  if (spares_ < edge_nodes_) Prepare();
  ++generation_;
  if (count != 0 && !ApplyInLeaf(first, first + count, edit)) {
    Apply(root_, root_shift_, first, first + count, edit);
  }
}

PageTable::Node* PageTable::LeafOf(uint64_t first, uint64_t end) const {
  if ((first >> kBits) != (end - 1) >> kBits) return nullptr;
  Node* node = root_;
  for (int shift = root_shift_; shift > 0; shift -= kBits) {
    const uint64_t slot = node->slots[first >> shift & (kSlots - 1)];
    if (!IsChild(slot)) return nullptr;
    node = ChildOf(slot);
  }
  return node;
}

bool PageTable::ApplyInLeaf(uint64_t first, uint64_t end, const PageEdit& edit) {
  // A slot that becomes a hole could free its node, and the nodes above.
  Node* const node = edit.set == 0 ? nullptr : LeafOf(first, end);
  if (node == nullptr) return false;
  for (uint64_t page = first; page < end; ++page) {
    uint64_t& slot = node->slots[InLeaf(page)];
    node->used += slot == 0;
    slot = (slot & edit.keep) | edit.set;
  }
  return true;
}

void PageTable::Apply(Node* node, int shift, uint64_t first, uint64_t end, const PageEdit& edit) {
  const uint64_t span = uint64_t{1} << shift;
  for (uint64_t i = first >> shift; i <= (end - 1) >> shift; ++i) {
    const uint64_t slot_first = i << shift;
    uint64_t& slot = node->slots[shift == 0 ? InLeaf(i) : i];
    const uint64_t old = slot;
    const bool whole = first <= slot_first && slot_first + span <= end;
    const uint64_t now =
        whole && !IsChild(old)
            ? (old & edit.keep) | edit.set
            : ApplyToPart(old, shift - kBits, std::max(first, slot_first) - slot_first,
                          std::min(end, slot_first + span) - slot_first, edit);
    slot = now;
    node->used += (now != 0) - (old != 0);
  }
}

uint64_t PageTable::ApplyToPart(uint64_t slot, int shift, uint64_t first, uint64_t end,
                                const PageEdit& edit) {
  if (!IsChild(slot)) {
    Node* child = TakeSpare();
    ++nodes_;
    std::fill(std::begin(child->slots), std::end(child->slots), slot);
    child->used = slot != 0 ? kSlots : 0;
    slot = reinterpret_cast<uint64_t>(child);
  }
  Node* child = ChildOf(slot);
  Apply(child, shift, first, end, edit);
  if (child->used != 0) return slot;
  --nodes_;
  GiveSpare(child);
  return 0;
}

}  // namespace twinmmu
