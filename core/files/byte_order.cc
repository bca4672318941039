#include "files/byte_order.h"

#include <cstring>
#include <span>

namespace swath {
namespace {

std::vector<int64_t> counts_of(const Part& part) {
  std::vector<int64_t> counts;
  for (const IndexSet& set : part.indices) counts.push_back(set.count());
  return counts;
}

// Steps through the positions of a part, the last dimension fastest; false where there is no further one. `address`
// moves along by `strides`.
bool step(std::vector<int64_t>& position, const std::vector<int64_t>& counts, std::span<const Part* const> parts,
          std::span<std::byte*> addresses) {
  for (size_t d = position.size(); d-- > 0;) {
    const int64_t moves = position[d] + 1 < counts[d] ? 1 : -position[d];
    for (size_t i = 0; i < parts.size(); ++i) {
      if (counts[d] > 1) addresses[i] += moves * parts[i]->memory_strides[d];
    }
    position[d] += moves;
    if (moves == 1) return true;
  }
  return false;
}

}  // namespace

void swap_in_place(const formats::ElementType& type, const LocalMemory& memory) {
  const auto bytes = static_cast<size_t>(type.bytes);
  if (memory.view) {
    formats::swap_bytes(type, {memory.addresses.front(), static_cast<size_t>(memory.view->view.bytes())});
    return;
  }
  for (size_t i = 0; i < memory.parts.size(); ++i) {
    const Part& part = memory.parts[i];
    if (part.count() == 0) continue;
    if (memory.is_packed) {
      formats::swap_bytes(type, {memory.addresses[i], static_cast<size_t>(part.count()) * bytes});
      continue;
    }
    const std::vector<int64_t> counts = counts_of(part);
    std::vector<int64_t> position(counts.size());
    const Part* const parts[] = {&part};
    std::byte* at[] = {memory.addresses[i] + part.memory_origin};
    do {
      formats::swap_bytes(type, {at[0], bytes});
    } while (step(position, counts, parts, at));
  }
}

void copy_swapped(const formats::ElementType& type, const LocalMemory& from, const LocalMemory& into) {
  const auto bytes = static_cast<size_t>(type.bytes);
  if (from.view) {
    std::memcpy(into.addresses.front(), from.addresses.front(), static_cast<size_t>(from.view->view.bytes()));
  }
  for (size_t i = 0; i < from.parts.size(); ++i) {
    if (from.parts[i].count() == 0) continue;
    const std::vector<int64_t> counts = counts_of(from.parts[i]);
    std::vector<int64_t> position(counts.size());
    const Part* const parts[] = {&from.parts[i], &into.parts[i]};
    std::byte* at[] = {from.addresses[i] + from.parts[i].memory_origin,
                       into.addresses[i] + into.parts[i].memory_origin};
    do {
      std::memcpy(at[1], at[0], bytes);
    } while (step(position, counts, parts, at));
  }
  swap_in_place(type, into);
}

}  // namespace swath
