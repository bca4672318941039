// Bulk data: the elements that operations move, in user memory, buffers and packed messages.
//
// A simulation of many ranks has no memory for them. It sets a model for its thread: copies then take simulated time,
// and buffers may be placeholders. Code that copies or allocates bulk data asks the model first; without one, bytes are
// copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

namespace swath {

// Bytes that are copied, and the contiguous runs of a file that they are.
struct BulkCopy {
  int64_t bytes = 0;
  int64_t runs = 1;
};

class BulkDataModel {
 public:
  virtual ~BulkDataModel() = default;
  // Charges the time of a copy. Returns false if the bytes must not be accessed.
  virtual bool begin_copy(const BulkCopy& copy) = 0;
  // An address that stands for a buffer and is never accessed; null: the buffer must exist.
  virtual std::byte* placeholder(int64_t bytes) = 0;
};

// Of this thread; null: copies are made, and buffers exist.
BulkDataModel* bulk_data_model();
void set_bulk_data_model(BulkDataModel* model);

// True if the caller is to copy the bytes.
inline bool begin_bulk_copy(int64_t bytes) {
  BulkDataModel* const model = bulk_data_model();
  return model == nullptr || model->begin_copy({.bytes = bytes});
}

// A buffer for bulk data; its contents are undefined at first.
class BulkBuffer {
 public:
  BulkBuffer() = default;
  explicit BulkBuffer(int64_t bytes);
  BulkBuffer(BulkBuffer&& other) noexcept { *this = std::move(other); }
  BulkBuffer& operator=(BulkBuffer&& other) noexcept {
    owned_ = std::move(other.owned_);
    data_ = std::exchange(other.data_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
    return *this;
  }
  ~BulkBuffer() = default;

  std::byte* data() const { return data_; }
  int64_t bytes() const { return bytes_; }
  std::span<std::byte> span() const { return {data_, static_cast<size_t>(bytes_)}; }
  explicit operator bool() const { return data_ != nullptr; }
  void reset() { *this = BulkBuffer(); }

 private:
  std::unique_ptr<std::byte[]> owned_;
  std::byte* data_ = nullptr;
  int64_t bytes_ = 0;
};

}  // namespace swath
