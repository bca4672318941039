// Converts one number between types as NumPy converts Python's numbers: values out of range are refused, fractions are
// cut off.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "formats/attribute.h"
#include "formats/element_type.h"

namespace swath::formats::netcdf {

class Number {
 public:
  static Number of(int64_t value) { return Number(value); }
  static Number of(uint64_t value) { return Number(value); }
  static Number of(double value) { return Number(value); }

  // The bytes of an element; none if the type, an integer or floating-point type, has no such value. A number that is
  // too large for a floating-point type becomes infinite.
  std::optional<std::vector<std::byte>> as(const ElementType& type) const;
  // Whether the number `given`, converted to the type, is this one: floating point may round.
  bool holds(const Number& given, const ElementType& type) const;
  // Whether this number is infinite, and `given` is not.
  bool is_beyond(const Number& given) const;
  std::string words() const;

 private:
  using Value = std::variant<int64_t, uint64_t, double>;
  explicit Number(Value value) : value_(value) {}
  // Exact if long double has a mantissa of 64 bits, as on x86.
  long double wide() const;

  Value value_;
};

// None if the value is no single number.
std::optional<Number> number_of(const NumbersValue& value);
// The same; also accepts text with a number of the type: for integers, a whole number.
std::optional<Number> number_in(const AttributeValue& value, const ElementType& type);
// Text, bytes, or the digits of a number; none for other values.
std::optional<std::string> text_or_digits_of(const AttributeValue& value);
// Text or bytes; none for other values.
std::optional<std::string> text_in(const AttributeValue& value);

}  // namespace swath::formats::netcdf
