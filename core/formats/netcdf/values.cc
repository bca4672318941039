#include "formats/netcdf/values.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "base/error.h"
#include "formats/netcdf/number.h"
#include "formats/refusals.h"
#include "formats/text.h"

namespace swath::formats::netcdf {
namespace {

constexpr size_t kNameBytesMax = 256;  // NC_MAX_NAME of netcdf.h
constexpr int kTypes = 11;
struct TypeFacts {
  char kind;
  int64_t bytes;
};
constexpr std::array<TypeFacts, kTypes> kFacts{
    {{'i', 1}, {'S', 1}, {'i', 2}, {'i', 4}, {'f', 4}, {'f', 8}, {'u', 1}, {'u', 2}, {'u', 4}, {'i', 8}, {'u', 8}}};

int last_type(int version) { return version == 5 ? kTypes : static_cast<int>(Type::kDouble); }

std::string in_nfc(const std::string& text) {
  utf8proc_uint8_t* normal = nullptr;
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
  const utf8proc_ssize_t bytes = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                              static_cast<utf8proc_ssize_t>(text.size()), &normal, options);
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(normal, &std::free);
  if (bytes < 0) fail_argument("name " + quoted(text) + " cannot be stored: " + utf8proc_errmsg(bytes));
  return {reinterpret_cast<const char*>(normal), static_cast<size_t>(bytes)};
}

void check_utf8(const std::string& what, const std::string& given) {
  if (is_utf8(given)) return;
  fail_argument(what + " " + quoted(given) + " cannot be stored as UTF-8: it has bytes that are none; expected text");
}

bool is_allowed(const std::string& name) {
  if (name.empty() || name.size() > kNameBytesMax || name.back() == ' ') return false;
  const auto first = static_cast<unsigned char>(name.front());
  if (first < 0x80 && std::isalnum(first) == 0 && first != '_') return false;
  return std::none_of(name.begin(), name.end(), [](char byte) {
    const auto code = static_cast<unsigned char>(byte);
    return code < 0x20 || code == '/' || code == 0x7F;
  });
}

std::string shape_words(const NumbersValue& value) {
  return "numbers of shape " + tuple_text(value.shape) + " and dtype " + value.type.words();
}

// The value as text for messages.
std::string words_of(const AttributeValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return quoted(*text);
  if (const auto* json = std::get_if<JsonValue>(&value)) return escaped(json->text);
  if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) {
    std::string words = "[";
    for (const std::string& text : *texts) words += (words.size() == 1 ? "" : ", ") + quoted(text);
    return words + "]";
  }
  const auto* numbers = std::get_if<NumbersValue>(&value);
  if (numbers == nullptr) return "null";
  if (const std::optional<Number> one = number_of(*numbers)) return one->words();
  return shape_words(*numbers);
}

[[noreturn]] void fail_several_texts(const std::string& name, const AttributeValue& value) {
  fail_argument("attribute " + name + ": netCDF classic stores one text or numbers, not " + words_of(value) +
                "; join texts to one, or choose netCDF-4 or HDF5");
}

std::string string_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// int64 values as int32, if all fit.
NumbersValue narrowed(const NumbersValue& value) {
  NumbersValue narrow{{.kind = 'i', .bytes = 4, .is_big_endian = kIsBigEndianHere}, value.shape, {}};
  std::vector<std::byte> wide = value.bytes;
  if (value.type.is_big_endian != kIsBigEndianHere) swap_bytes(value.type, wide);
  for (size_t at = 0; at < wide.size(); at += sizeof(int64_t)) {
    int64_t number = 0;
    std::memcpy(&number, &wide[at], sizeof number);
    const auto small = static_cast<int32_t>(number);
    if (small != number) return value;
    const auto bytes = std::as_bytes(std::span(&small, 1));
    narrow.bytes.insert(narrow.bytes.end(), bytes.begin(), bytes.end());
  }
  return narrow;
}

StoredAttribute stored_numbers(const std::string& name, const NumbersValue& value, int version) {
  if (value.type.kind == 'S' && value.shape.empty()) return {name, Type::kChar, string_of(value.bytes)};
  if (value.type.kind == 'U' || (value.type.kind == 'S' && value.type.bytes > 1)) fail_several_texts(name, value);
  if (value.shape.size() > 1) {
    fail_argument("attribute " + name + " must be text, a number or a list of numbers, not " + shape_words(value));
  }
  const bool is_wide = value.type.kind == 'i' && value.type.bytes == 8;
  NumbersValue stored = version != 5 && is_wide ? narrowed(value) : value;
  Type type = Type::kByte;
  try {
    type = type_of(stored.type, version);
  } catch (const Error& error) {
    fail_argument("attribute " + name + ": " + error.what());
  }
  if (!stored.type.is_big_endian) swap_bytes(stored.type, stored.bytes);
  return {name, type, string_of(stored.bytes)};
}

AttributeValue value_of(const StoredAttribute& attribute) {
  if (attribute.type == Type::kChar) return text_of(attribute.values);
  const ElementType stored = element_type(attribute.type);
  NumbersValue value{stored.in_byte_order(kIsBigEndianHere), {}, {}};
  const auto bytes = std::as_bytes(std::span(attribute.values));
  value.bytes.assign(bytes.begin(), bytes.end());
  if (!kIsBigEndianHere) swap_bytes(stored, value.bytes);
  const int64_t count = std::ssize(value.bytes) / stored.bytes;
  if (count != 1) value.shape = {count};
  return value;
}

// The default fill value of a type.
std::vector<std::byte> default_fill(const ElementType& type) {
  const auto stored = [&](const Number& number) { return *number.as(type); };
  switch (type.kind) {
    case 'S':
      return {std::byte{0}};
    case 'f':
      return stored(Number::of(9.9692099683868690e+36));
    case 'i':
      // -127, -32767, -2147483647, and for 8 bytes -9223372036854775806
      return stored(Number::of(type.bytes == 8 ? INT64_MIN + 2 : -((int64_t{1} << (8 * type.bytes - 1)) - 1)));
    default:
      // 255, 65535, 4294967295, and for 8 bytes 18446744073709551614
      return stored(Number::of(type.bytes == 8 ? UINT64_MAX - 1 : (uint64_t{1} << (8 * type.bytes)) - 1));
  }
}

}  // namespace

std::string checked_name(const std::string& name) {
  check_utf8("name", name);
  std::string normal = in_nfc(name);
  if (!is_allowed(normal)) {
    fail_argument("netCDF allows no name " + quoted(name) +
                  ": it must begin with a letter, a digit or _, have no / or control characters, no blank at its "
                  "end, and at most " +
                  std::to_string(kNameBytesMax) + " bytes");
  }
  return normal;
}

ElementType element_type(Type type) {
  const TypeFacts& facts = kFacts[static_cast<size_t>(type) - 1];
  return {.kind = facts.kind, .bytes = facts.bytes, .is_big_endian = facts.bytes > 1};
}

Type type_of(const ElementType& elements, int version) {
  const int last = last_type(version);
  std::string names;
  for (int code = 1; code <= last; ++code) {
    const auto type = static_cast<Type>(code);
    const ElementType stored = element_type(type);
    if (stored == elements.in_byte_order(true)) return type;
    names += (names.empty() ? "" : ", ") +
             (type == Type::kChar ? std::string("S1") : stored.in_byte_order(kIsBigEndianHere).words());
  }
  fail_argument("netCDF classic (CDF-" + std::to_string(version) + ") cannot store dtype " + elements.words() +
                "; it stores " + names);
}

Attributes attributes_of(const std::vector<StoredAttribute>& stored) {
  Attributes found;
  for (const StoredAttribute& attribute : stored) {
    if (found.find(attribute.name) == nullptr) found.set(attribute.name, value_of(attribute));
  }
  return found;
}

StoredAttribute stored_attribute(const std::string& name, const AttributeValue& value, int version) {
  const std::string known = checked_name(name);
  if (const auto* text = std::get_if<std::string>(&value)) {
    check_utf8("attribute " + known + ":", *text);
    return {known, Type::kChar, *text};
  }
  if (std::holds_alternative<NullValue>(value)) {
    fail_argument("attribute " + known + ": netCDF classic stores text and numbers, not null");
  }
  if (const auto* numbers = std::get_if<NumbersValue>(&value)) return stored_numbers(known, *numbers, version);
  fail_several_texts(known, value);
}

std::vector<StoredAttribute> with_changes(const std::vector<StoredAttribute>& stored, const Attributes& changes,
                                          int version) {
  std::vector<StoredAttribute> changed;
  const auto place_of = [&](const std::string& name) {
    return std::find_if(changed.begin(), changed.end(), [&](const auto& one) { return one.name == name; });
  };
  for (const StoredAttribute& attribute : stored) {
    if (place_of(attribute.name) == changed.end()) changed.push_back(attribute);
  }
  for (const auto& [name, value] : changes.entries()) {
    const std::string known = checked_name(name);
    const auto there = place_of(known);
    if (std::holds_alternative<NullValue>(value)) {
      if (there != changed.end()) changed.erase(there);
    } else if (there != changed.end()) {
      *there = stored_attribute(known, value, version);
    } else {
      changed.push_back(stored_attribute(known, value, version));
    }
  }
  return changed;
}

AttributeValue checked_fill(const AttributeValue& value, const ElementType& type) {
  const auto fail = [&](const std::string& why) {
    fail_argument("fill " + words_of(value) + " is not a value of dtype " + type.words() + why);
  };
  const auto* numbers = std::get_if<NumbersValue>(&value);
  if (numbers != nullptr && !numbers->shape.empty()) {
    fail_argument("fill must be one value, not an array of shape " + tuple_text(numbers->shape));
  }
  const ElementType native = type.in_byte_order(kIsBigEndianHere);
  if (type.kind == 'S') {
    const std::optional<std::string> text = text_or_digits_of(value);
    if (!text) fail("");
    const bool is_whole = text->size() <= 1 || (numbers != nullptr && numbers->type.kind != 'S');
    if (!is_whole) fail(", which would make " + quoted(text->substr(0, 1)) + " of it");
    return NumbersValue{native, {}, {text->empty() ? std::byte{0} : static_cast<std::byte>(text->front())}};
  }
  const std::optional<Number> number = number_in(value, type);
  if (!number) fail("");
  const std::optional<std::vector<std::byte>> element = number->as(native);
  if (!element) fail("");
  const Number kept = *number_of(NumbersValue{native, {}, *element});
  if (text_in(value) ? kept.is_beyond(*number) : !kept.holds(*number, native)) {
    fail(", which would make " + kept.words() + " of it");
  }
  return NumbersValue{native, {}, *element};
}

std::vector<std::byte> fill_of(const ElementType& type, const AttributeValue* fill) {
  if (fill == nullptr) return default_fill(type);
  if (type.kind == 'S') {
    const std::optional<std::string> text = text_or_digits_of(*fill);
    if (!text) return default_fill(type);
    return {text->empty() ? std::byte{0} : static_cast<std::byte>(text->front())};
  }
  const std::optional<Number> number = number_in(*fill, type);
  const std::optional<std::vector<std::byte>> element = number ? number->as(type) : std::nullopt;
  return element ? *element : default_fill(type);
}

}  // namespace swath::formats::netcdf
