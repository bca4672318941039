#include "files/byte_order.h"

#include <cstring>
#include <span>

namespace swath {
namespace {

// The elements of a part along a dimension and all later ones.
struct Elements {
  const Part& part;
  std::byte* first;

  int64_t stride(size_t dimension) const { return part.memory_strides[dimension]; }
  Elements at(size_t dimension, int64_t position) const { return {part, first + position * stride(dimension)}; }
};

Elements elements_of(const LocalMemory& memory, size_t part) {
  return {memory.parts[part], memory.addresses[part] + memory.parts[part].memory_origin};
}

// Copies these elements; both parts have the same ones.
void copy_elements(const Elements& from, const Elements& into, size_t dimension, int64_t bytes) {
  if (dimension == from.part.indices.size()) {
    std::memcpy(into.first, from.first, static_cast<size_t>(bytes));
    return;
  }
  const int64_t count = from.part.indices[dimension].count();
  const bool is_last = dimension + 1 == from.part.indices.size();
  if (is_last && from.stride(dimension) == bytes && into.stride(dimension) == bytes) {
    std::memcpy(into.first, from.first, static_cast<size_t>(count * bytes));
    return;
  }
  for (int64_t i = 0; i < count; ++i) copy_elements(from.at(dimension, i), into.at(dimension, i), dimension + 1, bytes);
}

void swap_elements(const formats::ElementType& type, const Elements& elements, size_t dimension) {
  const auto bytes = static_cast<size_t>(type.bytes);
  if (dimension == elements.part.indices.size()) return formats::swap_bytes(type, {elements.first, bytes});
  const int64_t count = elements.part.indices[dimension].count();
  const bool is_last = dimension + 1 == elements.part.indices.size();
  if (is_last && elements.stride(dimension) == type.bytes) {
    return formats::swap_bytes(type, {elements.first, static_cast<size_t>(count) * bytes});
  }
  for (int64_t i = 0; i < count; ++i) swap_elements(type, elements.at(dimension, i), dimension + 1);
}

}  // namespace

void swap_in_place(const formats::ElementType& type, const LocalMemory& memory) {
  if (memory.view) {
    formats::swap_bytes(type, {memory.addresses.front(), static_cast<size_t>(memory.view->view.bytes())});
    return;
  }
  for (size_t i = 0; i < memory.parts.size(); ++i) {
    const int64_t count = memory.parts[i].count();
    if (count == 0) continue;
    if (memory.is_packed) {
      formats::swap_bytes(type, {memory.addresses[i], static_cast<size_t>(count * type.bytes)});
    } else {
      swap_elements(type, elements_of(memory, i), 0);
    }
  }
}

void copy_swapped(const formats::ElementType& type, const LocalMemory& from, const LocalMemory& into) {
  if (from.view) {
    std::memcpy(into.addresses.front(), from.addresses.front(), static_cast<size_t>(from.view->view.bytes()));
  }
  for (size_t i = 0; i < from.parts.size(); ++i) {
    if (from.parts[i].count() > 0) copy_elements(elements_of(from, i), elements_of(into, i), 0, type.bytes);
  }
  swap_in_place(type, into);
}

}  // namespace swath
