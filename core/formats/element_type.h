// The stored type of an array's elements, in the terms of NumPy's array interface: a kind, a number of bytes, their
// order, and the fields of a structure.
//
//     ElementType::parse("<f4")        a 4-byte little-endian float
//     ElementType::parse("|S8").bytes  8
#pragma once

#include <bit>
#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "space/distribution.h"

namespace swath::formats {

inline constexpr bool kIsBigEndianHere = std::endian::native == std::endian::big;  // this machine

struct ElementField;

struct ElementType {
  // b boolean, i and u integers, f float, c complex, S bytes, U text of fixed length (UCS-4), V bytes without a meaning
  // or a structure, M and m datetimes and their differences, O text of variable length.
  char kind = 'V';
  int64_t bytes = 0;
  bool is_big_endian = false;        // if the type has a byte order: see has_byte_order()
  std::string unit;                  // the unit of M and m: "ns", "25s"; else empty
  std::vector<ElementField> fields;  // of a structure, in the order of its names

  // "<f4", ">i2", "|S8", "<M8[ns]", "|O". Throws Error{kFormat} if the text is no type.
  static ElementType parse(std::string_view text);
  static ElementType text();

  bool is_structure() const;
  bool is_text() const { return kind == 'O'; }
  bool is_number() const { return kind != 'O' && std::string_view("iufc").find(kind) != std::string_view::npos; }
  bool has_byte_order() const;
  // The same type in the given byte order, fields included.
  ElementType in_byte_order(bool big_endian) const;
  // A structure is "{time: <f8, place: <i4}"; the bytes between fields are left out.
  std::string to_string() const;
  // The name as in NumPy's messages: "float32", "bool", "datetime64[ns]"; ">f4" if the byte order is not this
  // machine's.
  std::string words() const;
  bool operator==(const ElementType& other) const;
};

struct ElementField {
  std::string name;
  ElementType type = {};
  int64_t offset = 0;  // bytes from the begin of the structure
  Shape shape;         // the shape of an array in a field; else empty
  std::string title;   // NumPy's second name of a field; mostly empty
  bool operator==(const ElementField& other) const = default;
};

template <typename Number>
concept ComplexNumber = std::same_as<Number, std::complex<float>> || std::same_as<Number, std::complex<double>>;
// The C++ types of bool, integers, floats and complex numbers that files have, too.
template <typename Number>
concept NumberOfElements =
    std::integral<Number> || (std::floating_point<Number> && sizeof(Number) <= 8) || ComplexNumber<Number>;

// The type of numbers in memory: type_of<float>() is "<f4" on a little-endian machine.
template <NumberOfElements Number>
ElementType type_of() {
  ElementType type;
  type.kind = std::is_same_v<Number, bool>       ? 'b'
              : std::is_floating_point_v<Number> ? 'f'
              : !std::is_arithmetic_v<Number>    ? 'c'
              : std::is_signed_v<Number>         ? 'i'
                                                 : 'u';
  type.bytes = sizeof(Number);
  type.is_big_endian = type.has_byte_order() && kIsBigEndianHere;
  return type;
}

inline ElementType ElementType::text() {
  ElementType type;
  type.kind = 'O';
  return type;
}
inline bool ElementType::is_structure() const { return !fields.empty(); }

// Reverses the bytes of each number of `elements`, in each field of a structure.
void swap_bytes(const ElementType& type, std::span<std::byte> elements);

}  // namespace swath::formats
