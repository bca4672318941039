// Memory of one process that stands for a shared window, aligned as one.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

namespace swath {

struct FreeHeapWindow {
  void operator()(std::byte* window) const { ::operator delete[](window, std::align_val_t(64)); }
};
using HeapWindow = std::unique_ptr<std::byte[], FreeHeapWindow>;

inline HeapWindow make_heap_window(size_t bytes) {
  return HeapWindow(static_cast<std::byte*>(::operator new[](bytes, std::align_val_t(64))));
}

}  // namespace swath
