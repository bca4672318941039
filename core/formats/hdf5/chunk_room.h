// Room for chunks that somebody else writes: HDF5 allocates it when a chunk is written, by a direct chunk write, and
// hands the caller's buffer to what writes to the file. Where that is blank memory, JournalledFile passes over it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "formats/hdf5/calls.h"
#include "space/distribution.h"

namespace swath::formats::hdf5 {

// Memory that nobody reads: by its address the file knows what it is not to write.
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

// Throws Error{kUnsupported} for a version of the library that stores no chunks directly.
void need_direct_writes(const std::string& path);
// Stores a chunk as it is encoded, given by its first element; `skipped` has a bit for each filter that was left out.
void write_chunk(hid_t dataset, const Shape& first, uint32_t skipped, int64_t bytes, const void* data);

// One element over and over.
std::vector<std::byte> repeated(const std::vector<std::byte>& element, int64_t count);
// Calls `take` with the first element of each chunk of an array, in C order.
void for_each_chunk(const Shape& shape, const Shape& chunks, const std::function<void(const Shape& first)>& take);

}  // namespace swath::formats::hdf5
