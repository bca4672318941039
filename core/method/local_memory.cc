#include "method/local_memory.h"

#include <algorithm>
#include <cstdlib>

namespace swath {
namespace {

int64_t span_of(const Part& part, int64_t element_bytes) {
  if (part.count() == 0) return 0;
  int64_t span = element_bytes;
  for (size_t d = 0; d < part.indices.size(); ++d) {
    if (part.indices[d].count() > 1) span += std::abs(part.memory_strides[d]) * (part.indices[d].count() - 1);
  }
  return span;
}

}  // namespace

Access access_of(const Layout& layout, const LocalMemory& memory) {
  if (memory.view) return {layout, memory.view->view, memory.view->memory};
  return {layout, memory.parts};
}

int64_t span_of(const LocalMemory& memory, int64_t element_bytes) {
  if (memory.view) return memory.view->memory.nest.high() - memory.view->memory.nest.low();
  int64_t span = 0;
  for (const Part& part : memory.parts) span = std::max(span, span_of(part, element_bytes));
  return span;
}

LocalMemory packed_memory(const Decomposition& decomposition, int rank, int64_t element_bytes, void* data) {
  LocalMemory memory;
  auto* address = static_cast<std::byte*>(data);
  if (decomposition.is_views()) {
    const View& view = decomposition.view(rank);
    memory.view = {view, MemoryNest::packed(view.bytes())};
    memory.addresses.push_back(address);
    return memory;
  }
  memory.parts = decomposition.parts(rank, element_bytes);
  for (const Part& part : memory.parts) {
    memory.addresses.push_back(address);
    address += part.count() * element_bytes;
  }
  return memory;
}

}  // namespace swath
