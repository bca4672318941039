#include "formats/hdf5/chunk_room.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

#include "base/error.h"

namespace swath::formats::hdf5 {

BlankMemory::BlankMemory(int64_t bytes) : bytes_(static_cast<size_t>(std::max<int64_t>(bytes, 1))) {
  address_ = ::mmap(nullptr, bytes_, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address_ == MAP_FAILED) throw std::bad_alloc();
}

BlankMemory::~BlankMemory() { ::munmap(address_, bytes_); }

void need_direct_writes(const std::string& path) {
  if (library().H5Dwrite_chunk != nullptr) return;
  throw Error(ErrorKind::kUnsupported, path + ": " + library().to_string() +
                                           " stores no chunks directly: install HDF5 1.10.3 or newer, or name its file "
                                           "in the environment variable SWATH_HDF5");
}

void write_chunk(hid_t dataset, const Shape& first, uint32_t skipped, int64_t bytes, const void* data) {
  const std::vector<hsize_t> at(first.begin(), first.end());
  checked(library().H5Dwrite_chunk(dataset, H5P_DEFAULT, skipped, at.data(), static_cast<size_t>(bytes), data));
}

std::vector<std::byte> repeated(const std::vector<std::byte>& element, int64_t count) {
  std::vector<std::byte> all;
  all.reserve(static_cast<size_t>(count) * element.size());
  for (int64_t i = 0; i < count; ++i) all.insert(all.end(), element.begin(), element.end());
  return all;
}

void for_each_chunk(const Shape& shape, const Shape& chunks, const std::function<void(const Shape& first)>& take) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return;
  Shape first(shape.size(), 0);
  for (;;) {
    take(first);
    size_t axis = shape.size();
    for (; axis > 0; --axis) {
      first[axis - 1] += chunks[axis - 1];
      if (first[axis - 1] < shape[axis - 1]) break;
      first[axis - 1] = 0;
    }
    if (axis == 0) return;
  }
}

}  // namespace swath::formats::hdf5
