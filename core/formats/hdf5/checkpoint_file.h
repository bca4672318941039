// For HDF5's library to read: a file that another process changes, as it was at the last checkpoint of its changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/descriptor.h"
#include "formats/hdf5/driver.h"
#include "journal/checkpoint_state.h"

namespace swath::formats::hdf5 {

class CheckpointFile final : public DriverFile {
 public:
  CheckpointFile(Descriptor file, CheckpointState state) : file_(std::move(file)), state_(std::move(state)) {}

  bool read(int64_t offset, std::span<std::byte> target) noexcept override;
  void write(int64_t, std::span<const std::byte>) noexcept override {}
  void truncate(int64_t) noexcept override {}
  int64_t size() const noexcept override { return state_.bytes; }
  // no descriptor: the library must not see the file's current state
  int* descriptor() noexcept override { return &none_; }

 private:
  const Descriptor file_;
  const CheckpointState state_;
  int none_ = -1;
};

}  // namespace swath::formats::hdf5
