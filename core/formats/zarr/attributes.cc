#include "formats/zarr/attributes.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/base64.h"
#include "base/error.h"
#include "formats/zarr/elements.h"
#include "formats/zarr/unicode.h"

namespace swath::zarr {
namespace {

using formats::Attributes;
using formats::AttributeValue;
using formats::JsonValue;
using formats::NullValue;
using formats::NumbersValue;

const ElementType kDouble{.kind = 'f', .bytes = 8};
const ElementType kInt64{.kind = 'i', .bytes = 8};
const ElementType kUint64{.kind = 'u', .bytes = 8};
const ElementType kBool{.kind = 'b', .bytes = 1};

AttributeValue as_json_value(const Json& stored) { return JsonValue{to_text(stored, 0)}; }

// ---- From JSON

bool is_plain_text(const Json& stored) { return stored.text() != nullptr && is_unicode(*stored.text()); }

// The type that NumPy gives to a list of numbers; none if NumPy would make objects of them.
std::optional<ElementType> type_of_all(const Json::List& numbers) {
  bool is_any_int64 = false;
  bool is_any_uint64 = false;
  bool is_any_double = false;
  for (const Json& number : numbers) {
    if (!number.is_number()) return std::nullopt;
    if (number.number() != nullptr) {
      is_any_double = true;
    } else if (number.integer() != nullptr) {
      is_any_int64 = true;
    } else if (integer_of(number)) {
      is_any_uint64 = true;
    } else {
      return std::nullopt;
    }
  }
  if (is_any_double || (is_any_int64 && is_any_uint64)) return kDouble;
  return is_any_uint64 ? kUint64 : kInt64;
}

AttributeValue typed_list(const Json& stored) {
  const Json::List& items = *stored.list();
  if (items.empty()) return as_json_value(stored);
  if (std::all_of(items.begin(), items.end(), is_plain_text)) {
    std::vector<std::string> texts;
    for (const Json& item : items) texts.push_back(*item.text());
    return texts;
  }
  const std::optional<ElementType> type = type_of_all(items);
  if (!type) return as_json_value(stored);
  NumbersValue numbers{.type = *type, .shape = {static_cast<int64_t>(items.size())}};
  for (const Json& item : items) {
    const Bytes bytes =
        type->kind == 'f' ? float_bytes(*double_of(item), *type) : *integer_bytes(*integer_of(item), *type);
    numbers.bytes.insert(numbers.bytes.end(), bytes.begin(), bytes.end());
  }
  return numbers;
}

AttributeValue typed(const Json& stored) {
  if (stored.is_null()) return NullValue{};
  if (is_plain_text(stored)) return *stored.text();
  if (stored.list() != nullptr) return typed_list(stored);
  if (const bool* flag = stored.flag()) return NumbersValue{kBool, {}, {std::byte{*flag}}};
  if (const double* number = stored.number()) return NumbersValue{kDouble, {}, float_bytes(*number, kDouble)};
  const std::optional<Integer> integer = stored.is_integer() ? integer_of(stored) : std::nullopt;
  if (!integer) return as_json_value(stored);
  const ElementType& type = stored.integer() != nullptr ? kInt64 : kUint64;
  return NumbersValue{type, {}, *integer_bytes(*integer, type)};
}

std::optional<double> double_of_attribute(const Json& stored) {
  if (stored.is_number()) return double_of(stored);
  if (stored.flag() != nullptr) return *stored.flag() ? 1 : 0;
  const std::optional<Bytes> raw = stored.text() != nullptr ? from_base64(*stored.text()) : std::nullopt;
  if (!raw || raw->size() != sizeof(double)) return std::nullopt;
  return float_in(*raw, kDouble);
}

std::optional<Bytes> complex_of_attribute(const Json& stored, const ElementType& type) {
  if (stored.list() == nullptr || stored.list()->size() != 2) return std::nullopt;
  Bytes bytes;
  for (const Json& part : *stored.list()) {
    const std::optional<double> value = double_of_attribute(part);
    if (!value) return std::nullopt;
    const Bytes own = float_bytes(*value, part_of(type));
    bytes.insert(bytes.end(), own.begin(), own.end());
  }
  return bytes;
}

// The attribute of version 3 as an element of native byte order; none if it is no such element.
std::optional<NumbersValue> decoded_fill(const Json& stored, ElementType type) {
  type = type.in_byte_order(false);
  std::optional<Bytes> bytes;
  switch (type.is_structure() ? 'V' : type.kind) {
    case 'c':
      bytes = complex_of_attribute(stored, type);
      break;
    case 'f':
      if (const std::optional<double> value = double_of_attribute(stored)) bytes = float_bytes(*value, type);
      break;
    case 'S':
      if (stored.text() != nullptr) bytes = from_base64(*stored.text());
      if (bytes) type.bytes = static_cast<int64_t>(bytes->size());
      break;
    case 'b':
      if (stored.flag() != nullptr) bytes = Bytes{std::byte{*stored.flag()}};
      if (const auto number = stored.is_number() ? double_of(stored) : std::nullopt)
        bytes = Bytes{std::byte{*number != 0}};
      break;
    case 'i':
    case 'u':
      if (stored.flag() != nullptr) {
        bytes = integer_bytes(Integer::of(*stored.flag() ? 1 : 0), type);
      } else if (const double* number = stored.number()) {
        if (const auto whole = integer_of(Json(std::trunc(*number)))) bytes = integer_bytes(*whole, type);
      } else if (const auto integer = stored.is_integer() ? integer_of(stored) : std::nullopt) {
        bytes = integer_bytes(*integer, type);
      }
      break;
    default:
      break;
  }
  if (!bytes) return std::nullopt;
  return NumbersValue{type, {}, std::move(*bytes)};
}

// ---- To JSON

Json one_to_json(std::span<const std::byte> bytes, const ElementType& type) {
  switch (type.kind) {
    case 'b':
      return bytes[0] != std::byte{};
    case 'f':
      return float_in(bytes, type);
    case 'U':
      return fill_to_json(bytes, type);
    default:
      return integer_in(bytes, type).as_json();
  }
}

// A list in a list for each dimension.
Json numbers_to_json(const NumbersValue& value, size_t dimension, size_t& at) {
  if (dimension == value.shape.size()) {
    const auto bytes = static_cast<size_t>(value.type.bytes);
    at += bytes;
    return one_to_json(std::span(value.bytes).subspan(at - bytes, bytes), value.type);
  }
  Json::List items;
  for (int64_t i = 0; i < value.shape[dimension]; ++i) items.push_back(numbers_to_json(value, dimension + 1, at));
  return items;
}

Json to_json(const AttributeValue& value) {
  if (std::holds_alternative<NullValue>(value)) return {};
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) return Json::texts(*texts);
  if (const auto* json = std::get_if<JsonValue>(&value)) return parse_json(json->text, "an attribute");
  const auto& numbers = std::get<NumbersValue>(value);
  if (numbers.type.is_structure() || std::string_view("biufU").find(numbers.type.kind) == std::string_view::npos) {
    throw Error(ErrorKind::kArgument, "a value of dtype " + type_in_words(numbers.type) +
                                          "; expected numbers, text, or lists and dicts of these");
  }
  size_t at = 0;
  return numbers_to_json(numbers, 0, at);
}

// ---- _FillValue as an element

// The value as text for messages.
std::string in_words(const AttributeValue& value) {
  const auto* numbers = std::get_if<NumbersValue>(&value);
  if (numbers != nullptr && numbers->type.is_number() && numbers->type.kind != 'c') return to_text(to_json(value), 0);
  if (const auto* text = std::get_if<std::string>(&value)) return shown(Json(*text));
  return "as it is given";
}

[[noreturn]] void refuse_element(const AttributeValue& value, const ElementType& type, const std::string& why) {
  fail_argument(std::string(kFill) + " " + in_words(value) + " is not a value of dtype " + type_in_words(type) + why);
}

// The parts of a number: one for a real number, two for a complex one.
std::vector<Json> parts_of(const NumbersValue& value) {
  if (value.type.kind != 'c') return {one_to_json(value.bytes, value.type)};
  const size_t half = value.bytes.size() / 2;
  const std::span<const std::byte> bytes(value.bytes);
  return {float_in(bytes.first(half), part_of(value.type)), float_in(bytes.subspan(half), part_of(value.type))};
}

std::optional<Bytes> float_element(const Json& part, const ElementType& type) {
  const std::optional<double> number =
      part.flag() != nullptr ? std::optional(*part.flag() ? 1.0 : 0.0) : double_of(part);
  if (!number) return std::nullopt;
  Bytes bytes = float_bytes(*number, type);
  return std::isinf(float_in(bytes, type)) && !std::isinf(*number) ? std::nullopt : std::optional(std::move(bytes));
}

std::optional<Bytes> number_element(const NumbersValue& value, const ElementType& type) {
  const std::vector<Json> parts = parts_of(value);
  if (type.kind == 'c') {
    std::optional<Bytes> bytes = float_element(parts[0], part_of(type));
    const std::optional<Bytes> imaginary = float_element(parts.size() > 1 ? parts[1] : Json(0), part_of(type));
    if (!bytes || !imaginary) return std::nullopt;
    bytes->insert(bytes->end(), imaginary->begin(), imaginary->end());
    return bytes;
  }
  if (parts.size() > 1) return std::nullopt;
  const Json& part = parts[0];
  if (type.kind == 'f') return float_element(part, type);
  if (type.kind == 'b') {
    return Bytes{std::byte{part.flag() != nullptr ? *part.flag() : double_of(part) != 0.0}};
  }
  if (part.flag() != nullptr) return integer_bytes(Integer::of(*part.flag() ? 1 : 0), type);
  const std::optional<Integer> integer =
      part.number() != nullptr ? integer_of(Json(std::trunc(*part.number()))) : integer_of(part);
  return integer ? integer_bytes(*integer, type) : std::nullopt;
}

bool is_of_numbers(const ElementType& type) { return type.is_number() || (!type.is_structure() && type.kind == 'b'); }

std::optional<Bytes> text_element(const std::string& text, const ElementType& type) {
  if (type.is_structure()) return std::nullopt;
  if (type.kind == 'U') return fill_of(Field(Json(text)), type);
  if (type.kind != 'S') return std::nullopt;
  Bytes bytes(static_cast<size_t>(type.bytes));
  std::memcpy(bytes.data(), text.data(), std::min(bytes.size(), text.size()));
  return bytes;
}

std::optional<Bytes> element_of_numbers(const NumbersValue& value, const ElementType& type) {
  if (value.type == type) return value.bytes;
  if (value.type.is_structure() || type.is_structure()) return std::nullopt;
  if (is_of_numbers(value.type) && is_of_numbers(type)) return number_element(value, type);
  const bool is_time = type.kind == 'M' || type.kind == 'm';
  const bool is_same_time = value.type.kind == type.kind && value.type.unit == type.unit;
  if (is_time && (is_same_time || value.type.kind == 'i'))
    return integer_bytes(integer_in(value.bytes, value.type), type);
  if (value.type.kind == 'U') return text_element(*to_json(value).text(), type);
  if (value.type.kind == type.kind && (type.kind == 'S' || type.kind == 'V')) {
    Bytes bytes = value.bytes;
    bytes.resize(static_cast<size_t>(type.bytes));
    return bytes;
  }
  return std::nullopt;
}

}  // namespace

Attributes typed_attributes(const Node& node, const std::optional<ElementType>& type) {
  Attributes found;
  for (const auto& [name, value] : node.own_attributes()) {
    std::optional<NumbersValue> fill;
    if (node.is_array && node.version == 3 && name == kFill && type) fill = decoded_fill(value, *type);
    found.set(name, fill ? AttributeValue(std::move(*fill)) : typed(value));
  }
  const Field stored = node.metadata.of("fill_value");
  if (node.is_array && node.version == 2 && !stored.is_missing()) {
    const bool is_element = type && !type->is_text() && type->bytes > 0;
    found.set(std::string(kFill),
              is_element ? AttributeValue(NumbersValue{*type, {}, fill_of(stored, *type)}) : typed(stored.value()));
  }
  return found;
}

std::optional<Json> fill_attribute(std::span<const std::byte> fill, const ElementType& type) {
  const auto as_double = [](std::span<const std::byte> bytes, const ElementType& of) {
    return Json(to_base64(float_bytes(float_in(bytes, of), kDouble)));
  };
  switch (type.is_structure() ? 'V' : type.kind) {
    case 'b':
    case 'i':
    case 'u':
      return fill_to_json(fill, type);
    case 'f':
      return as_double(fill, type);
    case 'c': {
      const size_t half = fill.size() / 2;
      return Json::List{as_double(fill.first(half), part_of(type)), as_double(fill.subspan(half), part_of(type))};
    }
    default:
      return std::nullopt;
  }
}

void refuse_own_name(const std::string& name) {
  if (name != kDimensionsOfV2 && name != kUnlimited) return;
  fail_argument("attribute '" + name + "' is where a Zarr store keeps its dimensions: give dimensions=");
}

Json::Members attributes_to_json(const Attributes& attributes) {
  for (const auto& [name, value] : attributes.entries()) refuse_own_name(name);
  Json::Members found;
  for (const auto& [name, value] : attributes.entries()) {
    try {
      found.emplace_back(name, to_json(value));
    } catch (const Error& error) {
      fail_argument("Zarr keeps attributes as JSON, which cannot hold these: '" + name + "': " + error.what());
    }
  }
  return found;
}

Bytes element_of(const AttributeValue& value, const ElementType& type) {
  std::optional<Bytes> found;
  if (const auto* numbers = std::get_if<NumbersValue>(&value)) {
    if (element_count(numbers->shape) != 1) {
      fail_argument(std::string(kFill) + " must be one value, not an array of shape " + to_string(numbers->shape));
    }
    found = element_of_numbers({numbers->type, {}, numbers->bytes}, type);
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    found = text_element(*text, type);
  } else if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) {
    if (texts->size() != 1) {
      fail_argument(std::string(kFill) + " must be one value, not " + std::to_string(texts->size()) + " texts");
    }
    found = text_element(texts->front(), type);
  }
  if (!found) refuse_element(value, type, "");
  return std::move(*found);
}

}  // namespace swath::zarr
