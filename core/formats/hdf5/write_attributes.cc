#include "formats/hdf5/write_attributes.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "formats/hdf5/attributes.h"
#include "formats/hdf5/element_types.h"
#include "formats/netcdf/number.h"
#include "formats/text.h"

namespace swath::formats::hdf5 {
namespace {

// One text, which has no dimensions, or several.
struct Texts {
  std::vector<std::string> texts;
  Shape shape;
};
using Storable = std::variant<Texts, NumbersValue>;

[[noreturn]] void refuse_value(const std::string& where) {
  fail_argument(where + ": expected text, numbers, or a list of one of them");
}

// Nested lists of texts of equal lengths; none for other values.
std::optional<Texts> nested_texts(const std::string& json) {
  Texts found;
  const auto take = [&](const auto& self, const nlohmann::json& item, size_t depth) -> bool {
    if (item.is_string()) {
      found.texts.push_back(item.get<std::string>());
      return depth == found.shape.size();
    }
    if (!item.is_array() || item.empty()) return false;
    const auto count = static_cast<int64_t>(item.size());
    if (depth == found.shape.size() && found.texts.empty()) found.shape.push_back(count);
    if (depth >= found.shape.size() || found.shape[depth] != count) return false;
    return std::all_of(item.begin(), item.end(), [&](const auto& one) { return self(self, one, depth + 1); });
  };
  const nlohmann::json parsed = nlohmann::json::parse(json, nullptr, false);
  if (parsed.is_discarded() || !take(take, parsed, 0)) return std::nullopt;
  return found;
}

// Bytes of fixed length are text.
Texts texts_of(const NumbersValue& bytes) {
  Texts found{{}, bytes.shape.empty() ? Shape{} : Shape{element_count(bytes.shape)}};
  const auto each = static_cast<size_t>(bytes.type.bytes);
  for (int64_t i = 0; i < element_count(bytes.shape); ++i) {
    const auto* begin = reinterpret_cast<const char*>(bytes.bytes.data()) + static_cast<size_t>(i) * each;
    found.texts.push_back(text_of({begin, each}));
  }
  return found;
}

bool is_of_netcdf4(const ElementType& type) {
  try {
    check_is_of_netcdf4(type);
    return type.kind != 'S' && !type.is_text();
  } catch (const Error&) {
    return false;
  }
}

Storable storable_numbers(const std::string& where, const NumbersValue& value, bool as_netcdf) {
  const ElementType& type = value.type;
  if (type.kind == 'S') return texts_of(value);
  if (type.is_text() || std::string_view("UMm").find(type.kind) != std::string_view::npos) refuse_value(where);
  if (as_netcdf && (!is_of_netcdf4(type) || value.shape.size() > 1)) {
    fail_argument(where + ": netCDF-4 has no attributes of dtype " + type.words() + " and " +
                  std::to_string(value.shape.size()) +
                  " dimensions; expected text, integers or floats of 8 to 64 bits (no float16, bool or complex), or a "
                  "list of one of them");
  }
  return value;
}

Storable unchecked_storable(const std::string& where, const AttributeValue& value, bool as_netcdf) {
  if (const auto* text = std::get_if<std::string>(&value)) return Texts{{*text}, {}};
  if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) return Texts{*texts, {std::ssize(*texts)}};
  if (const auto* numbers = std::get_if<NumbersValue>(&value)) return storable_numbers(where, *numbers, as_netcdf);
  const auto* json = std::get_if<JsonValue>(&value);
  std::optional<Texts> found = json == nullptr ? std::nullopt : nested_texts(json->text);
  if (!found) refuse_value(where);
  if (as_netcdf && found->shape.size() > 1) {
    fail_argument(where + ": netCDF-4 has no attributes of " + std::to_string(found->shape.size()) + " dimensions");
  }
  return *std::move(found);
}

Storable storable(const std::string& where, const AttributeValue& value, bool as_netcdf) {
  Storable found = unchecked_storable(where, value, as_netcdf);
  if (const auto* texts = std::get_if<Texts>(&found)) {
    for (const std::string& text : texts->texts) {
      if (!is_utf8(text)) fail_argument(where + ": " + formats::quoted(text) + " is no text in UTF-8");
    }
  }
  return found;
}

// Images and tables use two of the names, on datasets that are no dimension scales.
void check_name(const std::string& where, const std::string& name, const AttributeValue& value, bool as_netcdf) {
  const auto* text = std::get_if<std::string>(&value);
  const bool is_of_scales = name == "CLASS" || name == "NAME";
  if (!is_utf8(name)) fail_argument("attribute " + formats::quoted(name) + ": its name is no text in UTF-8");
  const bool is_scale = std::holds_alternative<NullValue>(value) || (text != nullptr && *text == "DIMENSION_SCALE");
  if (is_own_name(name) && (as_netcdf || !is_of_scales || is_scale)) {
    fail_argument(where + ": dimension scales, or netCDF-4, use it themselves; choose another name");
  }
}

// ---- Writing --------------------------------------------------------------------------------------------------------

Handle space_of(const Shape& shape) {
  if (shape.empty()) return Handle(library().H5Screate(H5S_SCALAR));
  const std::vector<hsize_t> lengths(shape.begin(), shape.end());
  return Handle(library().H5Screate_simple(static_cast<int>(lengths.size()), lengths.data(), nullptr));
}

void create(hid_t holder, const std::string& name, const Handle& type, const Shape& shape, const void* values) {
  const Handle space = space_of(shape);
  const Handle made(library().H5Acreate2(holder, name.c_str(), type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT));
  if (element_count(shape) > 0) checked(library().H5Awrite(made.get(), type.get(), values));
}

// Writes characters as netCDF-4 does: of fixed length; the empty text is one zero byte.
void create_characters(hid_t holder, const std::string& name, const std::string& text) {
  const std::string stored = text.empty() ? std::string(1, '\0') : text;
  const bool is_ascii =
      std::all_of(text.begin(), text.end(), [](char one) { return static_cast<unsigned char>(one) < 0x80; });
  create(holder, name, characters_type(std::ssize(stored), is_ascii ? H5T_CSET_ASCII : H5T_CSET_UTF8), {},
         stored.data());
}

void create_texts(hid_t holder, const std::string& name, const Texts& value) {
  std::vector<const char*> pointers;
  for (const std::string& text : value.texts) {
    if (text.find('\0') != std::string::npos) throw CallError("text of variable length has no zero bytes", 0);
    pointers.push_back(text.c_str());
  }
  create(holder, name, variable_text_type(), value.shape, static_cast<const void*>(pointers.data()));
}

void create_stored(hid_t holder, const std::string& name, const Storable& value, bool as_netcdf) {
  const auto* texts = std::get_if<Texts>(&value);
  if (texts == nullptr) {
    const auto& numbers = std::get<NumbersValue>(value);
    const Shape one{1};
    const Shape& shape = as_netcdf && numbers.shape.empty() ? one : numbers.shape;
    create(holder, name, stored_type(numbers.type), shape, numbers.bytes.data());
  } else if (as_netcdf && texts->shape.empty()) {
    create_characters(holder, name, texts->texts.front());
  } else {
    create_texts(holder, name, *texts);
  }
}

void replace(hid_t holder, const std::string& name, const std::optional<Storable>& value, bool as_netcdf) {
  const std::string stored = stored_attribute_name(holder, name);
  if (checked(library().H5Aexists(holder, stored.c_str())) > 0) {
    checked(library().H5Adelete(holder, stored.c_str()));
  }
  if (value) create_stored(holder, stored, *value, as_netcdf);
}

// ---- Fill values ----------------------------------------------------------------------------------------------------

// The value as text for messages.
std::string words_of(const AttributeValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return formats::quoted(*text);
  const auto* numbers = std::get_if<NumbersValue>(&value);
  if (numbers == nullptr) return "what is no number";
  if (const auto one = netcdf::number_of(*numbers)) return one->words();
  return "numbers of shape " + swath::to_string(numbers->shape) + " and dtype " + numbers->type.words();
}

[[noreturn]] void refuse_fill(const std::string& where, const AttributeValue& value, const ElementType& type) {
  fail_argument(where + ": " + words_of(value) + " is no value of dtype " + type.words());
}

// A number in a type that only the library converts to: of 2 or 16 bytes, complex, boolean. None if the type has no
// such value.
std::optional<std::vector<std::byte>> converted(double number, const ElementType& type) {
  std::vector<std::byte> bytes(std::max(static_cast<size_t>(type.bytes), sizeof number));
  if (type.kind == 'b') {
    bytes[0] = std::byte{number != 0};
  } else if (type.kind == 'f' || type.kind == 'c') {
    const int64_t part = type.kind == 'c' ? type.bytes / 2 : type.bytes;
    std::memcpy(bytes.data(), &number, sizeof number);
    const Handle target = float_type({.kind = 'f', .bytes = part, .is_big_endian = type.is_big_endian});
    checked(
        library().H5Tconvert(library().id("H5T_NATIVE_DOUBLE_g"), target.get(), 1, bytes.data(), nullptr, H5P_DEFAULT));
    std::fill(bytes.begin() + part, bytes.end(), std::byte{0});
  } else {
    return std::nullopt;
  }
  bytes.resize(static_cast<size_t>(type.bytes));
  return bytes;
}

std::optional<std::vector<std::byte>> number_element(const AttributeValue& value, const ElementType& type) {
  const auto number = netcdf::number_in(value, type.is_number() ? type : ElementType{.kind = 'f', .bytes = 8});
  if (!number) return std::nullopt;
  const ElementType wide{.kind = 'f', .bytes = 8, .is_big_endian = kIsBigEndianHere};
  const bool is_common = (type.kind == 'i' || type.kind == 'u' || type.kind == 'f') &&
                         (type.kind != 'f' || type.bytes == 4 || type.bytes == 8);
  if (!is_common) {
    double as_double = 0;
    const auto bytes = number->as(wide);
    if (!bytes) return std::nullopt;
    std::memcpy(&as_double, bytes->data(), sizeof as_double);
    return converted(as_double, type);
  }
  auto bytes = number->as(type);
  if (!bytes) return std::nullopt;
  const auto kept = netcdf::number_of(NumbersValue{type, {}, *bytes});
  const bool is_kept = kept && (type.kind == 'f' ? !kept->is_beyond(*number) : kept->holds(*number, type));
  return is_kept ? std::move(bytes) : std::nullopt;
}

// An array of one value becomes that value.
AttributeValue as_one(const AttributeValue& value) {
  const auto* numbers = std::get_if<NumbersValue>(&value);
  if (numbers != nullptr && element_count(numbers->shape) == 1) return NumbersValue{numbers->type, {}, numbers->bytes};
  const auto* texts = std::get_if<std::vector<std::string>>(&value);
  if (texts != nullptr && texts->size() == 1) return texts->front();
  return value;
}

}  // namespace

void check_attribute(const std::string& name, const AttributeValue& value, bool as_netcdf) {
  check_name(name, name, value, as_netcdf);
  if (std::holds_alternative<NullValue>(value)) fail_argument("HDF5 has no null; expected text or numbers");
  storable("it", value, as_netcdf);
}

void write_attributes(const AttributeHolder& holder, const Attributes& attributes, bool as_netcdf) {
  for (const auto& [name, value] : attributes.entries()) {
    const std::string where = "attribute '" + name + "' of " + (holder.name.empty() ? "the file" : holder.name);
    check_name(where, name, value, as_netcdf);
    std::optional<Storable> stored;
    if (!std::holds_alternative<NullValue>(value)) stored = storable(where, value, as_netcdf);
    if (stored && name == "_FillValue" && holder.elements != nullptr) {
      const ElementType& type = *holder.elements;
      const std::vector<std::byte> element = fill_element(where, value, type);
      if (type.kind == 'S') {
        stored = texts_of({type, {}, element});
      } else {
        stored = NumbersValue{type, {}, element};
      }
    }
    try {
      replace(holder.id, name, stored, as_netcdf);
    } catch (const CallError& error) {
      fail_argument(where + ": HDF5 cannot store it (" + error.what() + ")");
    }
  }
}

void write_attribute(hid_t holder, const std::string& name, const AttributeValue& value, bool as_netcdf) {
  replace(holder, name, storable("attribute '" + name + "'", value, as_netcdf), as_netcdf);
}

void write_fixed_text(hid_t holder, const std::string& name, const std::string& text) {
  create(holder, name, fixed_text_type(std::ssize(text), H5T_CSET_ASCII), {}, text.data());
}

std::vector<std::byte> fill_element(const std::string& where, const AttributeValue& value, const ElementType& type) {
  const AttributeValue one = as_one(value);
  const auto* numbers = std::get_if<NumbersValue>(&one);
  if (type.kind == 'S') {
    const auto text = netcdf::text_or_digits_of(one);
    if (!text) refuse_fill(where, value, type);
    std::vector<std::byte> element(static_cast<size_t>(type.bytes));
    std::memcpy(element.data(), text->data(), std::min(text->size(), element.size()));
    return element;
  }
  if (numbers != nullptr && numbers->shape.empty() &&
      numbers->type.in_byte_order(type.is_big_endian) == type.in_byte_order(type.is_big_endian)) {
    std::vector<std::byte> element = numbers->bytes;
    if (numbers->type != type) swap_bytes(type, element);
    return element;
  }
  auto element = number_element(one, type);
  if (!element) refuse_fill(where, value, type);
  return *std::move(element);
}

}  // namespace swath::formats::hdf5
