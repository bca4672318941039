// Space for chunks that are written later without the library. HDF5 allocates a chunk at a direct chunk write, and
// passes the caller's buffer to the file driver; JournalledFile does not write the buffer if it is a BlankMemory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "formats/hdf5/calls.h"
#include "space/distribution.h"

namespace swath::formats::hdf5 {

// Memory that is never read: JournalledFile recognises its address.
class BlankMemory {
 public:
  explicit BlankMemory(int64_t bytes);
  ~BlankMemory();
  BlankMemory(const BlankMemory&) = delete;
  BlankMemory& operator=(const BlankMemory&) = delete;

  const void* address() const { return address_; }

 private:
  size_t bytes_;
  void* address_ = nullptr;
};

// Throws Error{kUnsupported} if this version of the library has no direct chunk writes.
void need_direct_writes(const std::string& path);
// Writes an encoded chunk, whose first element is `first`; `skipped` has a bit for each filter that was not applied.
void write_chunk(hid_t dataset, const Shape& first, uint32_t skipped, int64_t bytes, const void* data);

// The bytes of `count` copies of an element.
std::vector<std::byte> repeated(const std::vector<std::byte>& element, int64_t count);
// Calls `take` with the first element of each chunk of an array, in C order.
void for_each_chunk(const Shape& shape, const Shape& chunks, const std::function<void(const Shape& first)>& take);

}  // namespace swath::formats::hdf5
