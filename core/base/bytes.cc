#include "base/bytes.h"

#include <bit>
#include <cstring>

#include "base/error.h"

namespace swath {
namespace {

constexpr int64_t kNumberBytes = 8;

// Numbers are copied as the little-endian machines that the library runs on hold them: there may be very many.
static_assert(std::endian::native == std::endian::little);

}  // namespace

void ByteWriter::put(int64_t value) { put_raw(std::as_bytes(std::span(&value, 1))); }

void ByteWriter::put(std::span<const int64_t> values) {
  put(std::ssize(values));
  put_raw(std::as_bytes(values));
}

void ByteWriter::put(std::string_view text) {
  put(std::ssize(text));
  put_raw(std::as_bytes(std::span(text)));
}

void ByteWriter::put_raw(std::span<const std::byte> bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }

std::span<const std::byte> ByteReader::next(int64_t bytes) {
  if (bytes > std::ssize(bytes_) - static_cast<int64_t>(at_)) fail("it ends too early");
  const auto found = bytes_.subspan(at_, static_cast<size_t>(bytes));
  at_ += static_cast<size_t>(bytes);
  return found;
}

int64_t ByteReader::number() {
  int64_t value = 0;
  std::memcpy(&value, next(kNumberBytes).data(), kNumberBytes);
  return value;
}

int64_t ByteReader::number_in(int64_t begin, int64_t end, std::string_view name) {
  const int64_t value = number();
  if (value < begin || value >= end) {
    fail(std::string(name) + " is " + std::to_string(value) + ", expected " + std::to_string(begin) + " to " +
         std::to_string(end - 1));
  }
  return value;
}

int64_t ByteReader::count(int64_t bytes_each) {
  const int64_t value = number();
  const int64_t left = std::ssize(bytes_) - static_cast<int64_t>(at_);
  if (value < 0 || value > left / bytes_each) fail("a count of " + std::to_string(value) + " is more than follows");
  return value;
}

std::vector<int64_t> ByteReader::numbers() {
  std::vector<int64_t> values(static_cast<size_t>(count(kNumberBytes)));
  const auto bytes = next(std::ssize(values) * kNumberBytes);
  if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

std::string ByteReader::text() {
  const auto bytes = next(count(1));
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void ByteReader::expect_end() const {
  if (at_ != bytes_.size()) fail("more follows than belongs to it");
}

void ByteReader::fail(const std::string& wrong) const {
  throw Error(ErrorKind::kFormat, std::string(what_) + ": byte " + std::to_string(at_) + ": " + wrong);
}

}  // namespace swath
