#include "method/local_memory.h"

namespace swath {

LocalMemory packed_memory(const Decomposition& decomposition, int rank, int64_t element_bytes, void* data) {
  LocalMemory memory;
  memory.parts = decomposition.parts(rank, element_bytes);
  auto* address = static_cast<std::byte*>(data);
  for (const Part& part : memory.parts) {
    memory.addresses.push_back(address);
    address += part.count() * element_bytes;
  }
  return memory;
}

}  // namespace swath
