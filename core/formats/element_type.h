// The type of an array's elements as a file stores them, in the words of NumPy's array interface: a kind, bytes and
// their order, the fields of a structure.
//
//     ElementType::parse("<f4")        a 4-byte float, the least byte first
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
  // or a structure, M and m datetimes and their differences, O text of variable length, which has no bytes of its own.
  char kind = 'V';
  int64_t bytes = 0;
  bool is_big_endian = false;        // of what has a byte order: see has_byte_order()
  std::string unit;                  // of M and m: "ns", "25s"; else empty
  std::vector<ElementField> fields;  // of a structure, in the order in which they are named

  // "<f4", ">i2", "|S8", "<M8[ns]", "|O". Throws Error{kFormat} for what is none.
  static ElementType parse(std::string_view text);
  static ElementType text();

  bool is_structure() const;
  bool is_text() const { return kind == 'O'; }
  bool is_number() const { return kind != 'O' && std::string_view("iufc").find(kind) != std::string_view::npos; }
  bool has_byte_order() const;
  // The same in the other byte order, its fields too.
  ElementType in_byte_order(bool big_endian) const;
  // Of a structure "{time: <f8, place: <i4}", with the bytes that lie between fields left out.
  std::string to_string() const;
  // As NumPy says it in messages: "float32", "bool", "datetime64[ns]"; ">f4" in the other byte order than this
  // machine's.
  std::string words() const;
  bool operator==(const ElementType& other) const;
};

struct ElementField {
  std::string name;
  ElementType type = {};
  int64_t offset = 0;  // bytes, from where the structure begins
  Shape shape;         // of an array in a field; else empty
  std::string title;   // NumPy's second name of a field; mostly empty
  bool operator==(const ElementField& other) const = default;
};

template <typename Number>
concept ComplexNumber = std::same_as<Number, std::complex<float>> || std::same_as<Number, std::complex<double>>;
// bool, integers, floats and complex numbers of C++ that files have, too.
template <typename Number>
concept NumberOfElements =
    std::integral<Number> || (std::floating_point<Number> && sizeof(Number) <= 8) || ComplexNumber<Number>;

// Of numbers in memory: type_of<float>() is "<f4" where the least byte comes first.
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

// `elements`, each of `type`, with the bytes of every number turned round: of structures in every field.
void swap_bytes(const ElementType& type, std::span<std::byte> elements);

}  // namespace swath::formats
