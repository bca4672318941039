// Values as bytes, the same on every machine: little-endian 64-bit numbers, and texts preceded by their length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace swath {

class ByteWriter {
 public:
  void put(int64_t value);
  void put(std::span<const int64_t> values);  // the number of values first
  void put(std::string_view text);            // the length of the text first
  void put_raw(std::span<const std::byte> bytes);

  const std::vector<std::byte>& bytes() const { return bytes_; }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

// Reads what a ByteWriter wrote. The bytes may come from anywhere: throws Error{kFormat} with the byte where they are
// invalid, and never allocates more than their size.
class ByteReader {
 public:
  // `what` names the source, for messages; it must outlive the reader, as the bytes must.
  ByteReader(std::string_view what, std::span<const std::byte> bytes) : what_(what), bytes_(bytes) {}

  int64_t number();
  // The same, and the number must be in [begin, end).
  int64_t number_in(int64_t begin, int64_t end, std::string_view name);
  bool flag(std::string_view name) { return number_in(0, 2, name) == 1; }
  std::vector<int64_t> numbers();
  std::string text();
  // The number of items that take at least `bytes_each`.
  int64_t count(int64_t bytes_each);
  void expect_end() const;

  [[noreturn]] void fail(const std::string& wrong) const;

 private:
  std::span<const std::byte> next(int64_t bytes);

  std::string_view what_;
  std::span<const std::byte> bytes_;
  size_t at_ = 0;
};

}  // namespace swath
