#include "formats/zarr/numbers.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.h"

namespace swath::zarr {
namespace {

constexpr uint64_t kInt64Max = std::numeric_limits<int64_t>::max();

// Converts between native byte order and that of a type.
Bytes ordered(Bytes bytes, const ElementType& type) {
  if (type.has_byte_order() && type.is_big_endian != formats::kIsBigEndianHere)
    std::reverse(bytes.begin(), bytes.end());
  return bytes;
}

template <class T>
Bytes bytes_of(T value) {
  Bytes bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

template <class T>
T value_of(const Bytes& bytes) {
  T value{};
  std::memcpy(&value, bytes.data(), std::min(sizeof value, bytes.size()));
  return value;
}

// Rounds the double once, to the nearest half-precision number; a tie goes to the even one.
uint16_t half_of(double value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double size = std::fabs(value);
  if (std::isnan(value)) return sign | 0x7E00;
  if (size >= 65520) return sign | 0x7C00;  // halfway from the largest number to the next
  // a carry gives a normal number
  if (size < 0x1p-14) return sign | static_cast<uint16_t>(std::nearbyint(size * 0x1p24));
  int exponent = 0;
  const double fraction = std::frexp(size, &exponent);  // 0.5 to 1
  const auto rounded = static_cast<uint32_t>(std::nearbyint(fraction * 2048));
  return sign | static_cast<uint16_t>((static_cast<uint32_t>(exponent + 13) << 10) + rounded);
}

double double_of_half(uint16_t half) {
  const double sign = (half & 0x8000) != 0 ? -1 : 1;
  const int exponent = (half >> 10) & 0x1F;
  const int fraction = half & 0x3FF;
  if (exponent == 0x1F) return fraction != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

}  // namespace

Integer Integer::of(int64_t value) {
  if (value >= 0) return {false, static_cast<uint64_t>(value)};
  return {true, ~static_cast<uint64_t>(value) + 1};
}

double Integer::as_double() const {
  const auto size = static_cast<double>(magnitude);
  return is_negative ? -size : size;
}

Json Integer::as_json() const {
  if (is_negative) return static_cast<int64_t>(~magnitude + 1);
  return magnitude <= kInt64Max ? Json(static_cast<int64_t>(magnitude)) : Json(BigInteger{std::to_string(magnitude)});
}

std::optional<Integer> integer_of(const Json& value) {
  if (const int64_t* integer = value.integer()) return Integer::of(*integer);
  if (const BigInteger* big = value.big_integer()) {
    uint64_t found = 0;
    const char* end = big->digits.data() + big->digits.size();
    const auto [stop, error] = std::from_chars(big->digits.data(), end, found);
    if (error != std::errc() || stop != end) return std::nullopt;
    return Integer::of_unsigned(found);
  }
  const double* number = value.number();
  if (number == nullptr || !(std::fabs(*number) < 0x1p64) || *number != std::floor(*number)) return std::nullopt;
  return Integer{*number < 0, static_cast<uint64_t>(std::fabs(*number))};
}

std::optional<double> double_of(const Json& value) {
  if (const double* number = value.number()) return *number;
  if (const int64_t* integer = value.integer()) return static_cast<double>(*integer);
  const BigInteger* big = value.big_integer();
  if (big == nullptr) return std::nullopt;
  const Json found = parse_json(big->digits + "e0", "");  // this conversion does not depend on the locale
  return std::isfinite(*found.number()) ? std::optional(*found.number()) : std::nullopt;
}

std::optional<Bytes> integer_bytes(const Integer& value, const ElementType& type) {
  const int bits = static_cast<int>(8 * type.bytes);
  const bool is_signed = type.kind != 'u';
  const uint64_t most = is_signed ? (uint64_t{1} << (bits - 1)) - 1 : ~uint64_t{0} >> (64 - bits);
  const uint64_t least = is_signed ? most + 1 : 0;  // the magnitude of the least number
  if (value.magnitude > (value.is_negative ? least : most)) return std::nullopt;
  const uint64_t stored = value.is_negative ? ~value.magnitude + 1 : value.magnitude;
  Bytes bytes = bytes_of(stored);
  if (formats::kIsBigEndianHere) std::reverse(bytes.begin(), bytes.end());
  bytes.resize(static_cast<size_t>(type.bytes));
  if (formats::kIsBigEndianHere) std::reverse(bytes.begin(), bytes.end());
  return ordered(std::move(bytes), type);
}

Bytes float_bytes(double value, const ElementType& type) {
  switch (type.bytes) {
    case 2:
      return ordered(bytes_of(half_of(value)), type);
    case 4:
      return ordered(bytes_of(static_cast<float>(value)), type);
    case 8:
      return ordered(bytes_of(value), type);
    default: {
      auto wide = static_cast<long double>(value);
      Bytes bytes(static_cast<size_t>(type.bytes));
      constexpr size_t kUsed = std::numeric_limits<long double>::digits == 64 ? 10 : sizeof wide;
      std::memcpy(bytes.data(), &wide, std::min(kUsed, bytes.size()));
      return ordered(std::move(bytes), type);
    }
  }
}

Integer integer_in(std::span<const std::byte> bytes, const ElementType& type) {
  Bytes own = ordered(Bytes(bytes.begin(), bytes.end()), type);
  if (formats::kIsBigEndianHere) std::reverse(own.begin(), own.end());
  const bool is_negative = type.kind != 'u' && type.kind != 'b' && (own.back() & std::byte{0x80}) != std::byte{};
  own.resize(8, is_negative ? std::byte{0xFF} : std::byte{});
  if (formats::kIsBigEndianHere) std::reverse(own.begin(), own.end());
  const auto stored = value_of<uint64_t>(own);
  return is_negative ? Integer{true, ~stored + 1} : Integer{false, stored};
}

double float_in(std::span<const std::byte> bytes, const ElementType& type) {
  const Bytes own = ordered(Bytes(bytes.begin(), bytes.end()), type);
  switch (type.bytes) {
    case 2:
      return double_of_half(value_of<uint16_t>(own));
    case 4:
      return value_of<float>(own);
    case 8:
      return value_of<double>(own);
    default:
      return static_cast<double>(value_of<long double>(own));
  }
}

ElementType part_of(const ElementType& type) {
  ElementType part = type;
  part.kind = 'f';
  part.bytes /= 2;
  return part;
}

std::string type_in_words(const ElementType& type) {
  if (type.has_byte_order() && type.is_big_endian != formats::kIsBigEndianHere) return type.to_string();
  const std::string bits = std::to_string(8 * type.bytes);
  switch (type.is_structure() ? 'V' : type.kind) {
    case 'b':
      return "bool";
    case 'i':
      return "int" + bits;
    case 'u':
      return "uint" + bits;
    case 'f':
      return "float" + bits;
    case 'c':
      return "complex" + bits;
    default:
      return type.to_string();
  }
}

}  // namespace swath::zarr
