#include "formats/hdf5/checkpoint_file.h"

#include <algorithm>
#include <cstring>
#include <exception>

#include "store/file_calls.h"

namespace swath::formats::hdf5 {

bool CheckpointFile::read(int64_t offset, std::span<std::byte> target) noexcept {
  try {
    const int64_t there = std::clamp<int64_t>(state_.bytes - offset, 0, std::ssize(target));
    const std::string found = file_calls::read_at(file_.get(), there, offset);
    std::memcpy(target.data(), found.data(), found.size());
    std::memset(target.data() + found.size(), 0, target.size() - found.size());
    state_.restore(offset, target);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace swath::formats::hdf5
