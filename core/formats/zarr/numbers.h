// Converts single elements, and the numbers in them, between C++ and the bytes of a type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "formats/element_type.h"
#include "formats/zarr/json.h"

namespace swath::zarr {

using formats::ElementType;
using Bytes = std::vector<std::byte>;

// A signed or unsigned integer of 64 bits.
struct Integer {
  bool is_negative = false;
  uint64_t magnitude = 0;

  static Integer of(int64_t value);
  static Integer of_unsigned(uint64_t value) { return {false, value}; }
  double as_double() const;
  Json as_json() const;
};

// The integer of a JSON value: an integer of 64 bits, or a float without a fraction. None for others.
std::optional<Integer> integer_of(const Json& value);
// The number of a JSON value; none for an integer beyond a double.
std::optional<double> double_of(const Json& value);

// The bytes of one number of a type, or of one part of a complex number. None if an integer type has no such value; a
// value that is too large for a floating-point type becomes infinite.
std::optional<Bytes> integer_bytes(const Integer& value, const ElementType& type);
Bytes float_bytes(double value, const ElementType& type);
Integer integer_in(std::span<const std::byte> bytes, const ElementType& type);
double float_in(std::span<const std::byte> bytes, const ElementType& type);
// The type of one part of a complex number.
ElementType part_of(const ElementType& type);
// The type in NumPy's words: int32, >i4.
std::string type_in_words(const ElementType& type);

}  // namespace swath::zarr
