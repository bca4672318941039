#include "formats/netcdf/number.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <span>

namespace swath::formats::netcdf {
namespace {

template <typename Element>
std::vector<std::byte> bytes_of(Element element, const ElementType& type) {
  const auto raw = std::as_bytes(std::span(&element, 1));
  std::vector<std::byte> bytes(raw.begin(), raw.end());
  if (type.is_big_endian != kIsBigEndianHere) swap_bytes(type, bytes);
  return bytes;
}

template <typename Element, typename Value>
std::optional<std::vector<std::byte>> whole_as(Value value, const ElementType& type) {
  if constexpr (std::is_same_v<Value, double>) {
    if (!std::isfinite(value)) return std::nullopt;
    // Both bounds are powers of two, which a double represents exactly.
    const double whole = std::trunc(value);
    const double beyond = std::ldexp(1.0, std::numeric_limits<Element>::digits);
    if (whole >= beyond || whole < (std::is_signed_v<Element> ? -beyond : 0.0)) return std::nullopt;
    return bytes_of(static_cast<Element>(whole), type);
  } else {
    if (!std::in_range<Element>(value)) return std::nullopt;
    return bytes_of(static_cast<Element>(value), type);
  }
}

template <typename Value>
std::optional<std::vector<std::byte>> converted(Value value, const ElementType& type) {
  if (type.kind == 'f' && type.bytes == 4) return bytes_of(static_cast<float>(value), type);
  if (type.kind == 'f' && type.bytes == 8) return bytes_of(static_cast<double>(value), type);
  if (type.kind != 'i' && type.kind != 'u') return std::nullopt;
  const bool is_signed = type.kind == 'i';
  switch (type.bytes) {
    case 1:
      return is_signed ? whole_as<int8_t>(value, type) : whole_as<uint8_t>(value, type);
    case 2:
      return is_signed ? whole_as<int16_t>(value, type) : whole_as<uint16_t>(value, type);
    case 4:
      return is_signed ? whole_as<int32_t>(value, type) : whole_as<uint32_t>(value, type);
    case 8:
      return is_signed ? whole_as<int64_t>(value, type) : whole_as<uint64_t>(value, type);
    default:
      return std::nullopt;
  }
}

template <typename Element>
Element element_of(const std::vector<std::byte>& bytes) {
  Element element;
  std::memcpy(&element, bytes.data(), sizeof element);
  return element;
}

std::string_view stripped(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\n\r\f\v";
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) + 1 - first);
}

template <typename Value>
std::optional<Number> parsed(std::string_view text) {
  Value value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return Number::of(value);
}

std::optional<Number> number_said(std::string_view text, bool is_whole) {
  text = stripped(text);
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  if (const auto number = parsed<int64_t>(text)) return number;
  if (const auto number = parsed<uint64_t>(text)) return number;
  return is_whole ? std::nullopt : parsed<double>(text);
}

}  // namespace

std::optional<std::vector<std::byte>> Number::as(const ElementType& type) const {
  return std::visit([&](auto value) { return converted(value, type); }, value_);
}

long double Number::wide() const {
  return std::visit([](auto value) { return static_cast<long double>(value); }, value_);
}

bool Number::holds(const Number& given, const ElementType& type) const {
  return type.kind == 'f' ? !is_beyond(given) : wide() == given.wide();
}

bool Number::is_beyond(const Number& given) const { return std::isinf(wide()) && !std::isinf(given.wide()); }

std::string Number::words() const {
  std::array<char, 64> text;
  const auto end = std::visit([&](auto value) { return std::to_chars(text.begin(), text.end(), value).ptr; }, value_);
  return {text.begin(), end};
}

std::optional<Number> number_of(const NumbersValue& value) {
  if (element_count(value.shape) != 1 || std::ssize(value.bytes) != value.type.bytes) return std::nullopt;
  std::vector<std::byte> bytes = value.bytes;
  if (value.type.is_big_endian != kIsBigEndianHere) swap_bytes(value.type, bytes);
  const bool is_signed = value.type.kind == 'i';
  if (value.type.kind == 'f') {
    if (value.type.bytes == 4) return Number::of(static_cast<double>(element_of<float>(bytes)));
    if (value.type.bytes == 8) return Number::of(element_of<double>(bytes));
    if (value.type.bytes == sizeof(long double)) return Number::of(static_cast<double>(element_of<long double>(bytes)));
    return std::nullopt;
  }
  if (value.type.kind != 'b' && value.type.kind != 'u' && !is_signed) return std::nullopt;
  switch (value.type.bytes) {
    case 1:
      return is_signed ? Number::of(int64_t{element_of<int8_t>(bytes)})
                       : Number::of(uint64_t{element_of<uint8_t>(bytes)});
    case 2:
      return is_signed ? Number::of(int64_t{element_of<int16_t>(bytes)})
                       : Number::of(uint64_t{element_of<uint16_t>(bytes)});
    case 4:
      return is_signed ? Number::of(int64_t{element_of<int32_t>(bytes)})
                       : Number::of(uint64_t{element_of<uint32_t>(bytes)});
    case 8:
      return is_signed ? Number::of(element_of<int64_t>(bytes)) : Number::of(element_of<uint64_t>(bytes));
    default:
      return std::nullopt;
  }
}

std::optional<std::string> text_in(const AttributeValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  const auto* bytes = std::get_if<NumbersValue>(&value);
  if (bytes == nullptr || bytes->type.kind != 'S' || element_count(bytes->shape) != 1) return std::nullopt;
  return std::string(reinterpret_cast<const char*>(bytes->bytes.data()), bytes->bytes.size());
}

std::optional<Number> number_in(const AttributeValue& value, const ElementType& type) {
  if (const std::optional<std::string> text = text_in(value)) return number_said(*text, type.kind != 'f');
  const auto* numbers = std::get_if<NumbersValue>(&value);
  return numbers == nullptr ? std::nullopt : number_of(*numbers);
}

std::optional<std::string> text_or_digits_of(const AttributeValue& value) {
  if (std::optional<std::string> text = text_in(value)) return text;
  const auto* numbers = std::get_if<NumbersValue>(&value);
  const std::optional<Number> number = numbers == nullptr ? std::nullopt : number_of(*numbers);
  return number ? std::optional(number->words()) : std::nullopt;
}

}  // namespace swath::formats::netcdf
