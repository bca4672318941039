// One number, converted between types as NumPy converts Python's numbers: what does not fit is refused, fractions are
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

  // The bytes of an element; none where the type, of integers or floating point, has no such value. A number that is
  // too large for a type of floating point becomes infinite.
  std::optional<std::vector<std::byte>> as(const ElementType& type) const;
  // Whether `given` is this number, which it has become as an element of the type: floating point may round.
  bool holds(const Number& given, const ElementType& type) const;
  // Whether this is infinite, and `given` was not.
  bool is_beyond(const Number& given) const;
  std::string words() const;

 private:
  using Value = std::variant<int64_t, uint64_t, double>;
  explicit Number(Value value) : value_(value) {}
  // Exact where long double has 64 bits of mantissa, as on x86.
  long double wide() const;

  Value value_;
};

// None where it is no single number.
std::optional<Number> number_of(const NumbersValue& value);
// The same; also of text that says a number which the type has: whole ones of integers.
std::optional<Number> number_in(const AttributeValue& value, const ElementType& type);
// Text, bytes, or the digits of a number; none of something else.
std::optional<std::string> text_or_digits_of(const AttributeValue& value);
// Text or bytes; none of something else.
std::optional<std::string> text_in(const AttributeValue& value);

}  // namespace swath::formats::netcdf
