#include "formats/zarr/elements.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <exception>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "base/base64.h"
#include "base/error.h"
#include "base/units.h"
#include "formats/zarr/unicode.h"

namespace swath::zarr {
namespace {

using formats::ElementField;

constexpr int64_t kElementBytesMax = (int64_t{1} << 31) - 1;  // NumPy's limit
// The limit for elements with a fill value: false metadata may state any size, and the fill value takes that memory.
constexpr int64_t kFillBytesMax = int64_t{16} << 20;

struct NamedType {
  std::string_view name;
  char kind;
  int64_t bytes;
};

constexpr std::array<NamedType, 14> kNumbers = {{{"bool", 'b', 1},
                                                 {"int8", 'i', 1},
                                                 {"int16", 'i', 2},
                                                 {"int32", 'i', 4},
                                                 {"int64", 'i', 8},
                                                 {"uint8", 'u', 1},
                                                 {"uint16", 'u', 2},
                                                 {"uint32", 'u', 4},
                                                 {"uint64", 'u', 8},
                                                 {"float16", 'f', 2},
                                                 {"float32", 'f', 4},
                                                 {"float64", 'f', 8},
                                                 {"complex64", 'c', 8},
                                                 {"complex128", 'c', 16}}};
constexpr std::array<NamedType, 2> kTimes = {{{"numpy.datetime64", 'M', 8}, {"numpy.timedelta64", 'm', 8}}};
// The bytes of these types are those of one character, times their length.
constexpr std::array<NamedType, 3> kTexts = {
    {{"null_terminated_bytes", 'S', 1}, {"raw_bytes", 'V', 1}, {"fixed_length_utf32", 'U', 4}}};
constexpr std::array<std::string_view, 14> kUnits = {"Y",  "M",  "W",  "D",  "h",  "m",  "s",
                                                     "ms", "us", "ns", "ps", "fs", "as", "μs"};

template <class Types, class Wanted>
const NamedType* find_type(const Types& types, Wanted is_wanted) {
  const auto found = std::find_if(types.begin(), types.end(), is_wanted);
  return found == types.end() ? nullptr : &*found;
}

template <class Types>
const NamedType* named(const Types& types, std::string_view name) {
  return find_type(types, [&](const NamedType& one) { return one.name == name; });
}

// "25s", or "s" for one, as NumPy writes it; none if the text is no unit.
std::optional<std::string> unit_of(std::string_view text) {
  if (text == "generic") return "";
  uint64_t scale = 1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), scale);
  const std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  if (end == text.data()) scale = 1;
  if ((end != text.data() && error != std::errc()) || scale < 1 || scale > std::numeric_limits<int32_t>::max() ||
      std::find(kUnits.begin(), kUnits.end(), unit) == kUnits.end()) {
    return std::nullopt;
  }
  const std::string_view own = unit == "μs" ? "us" : unit;
  return scale == 1 ? std::string(own) : std::to_string(scale) + std::string(own);
}

bool is_size(char kind, int64_t count) {
  switch (kind) {
    case 'b':
      return count == 1;
    case 'i':
    case 'u':
      return count == 1 || count == 2 || count == 4 || count == 8;
    case 'f':
      return count == 2 || count == 4 || count == 8 || count == 16;
    case 'c':
      return count == 8 || count == 16;
    case 'M':
    case 'm':
      return count == 8;
    case 'U':
      return count <= kElementBytesMax / 4;
    default:
      return count <= kElementBytesMax;
  }
}

// A type in NumPy's notation: "<f8", "|S5", "<M8[25s]", "float64", "|O". None if the text is no type.
std::optional<ElementType> spelled_type(std::string_view text) {
  if (const NamedType* found = named(kNumbers, text)) return ElementType{.kind = found->kind, .bytes = found->bytes};
  if (text == "object" || text == "|O" || text == "O") return ElementType::text();
  const bool is_big_endian = text.starts_with('>');
  if (!text.empty() && std::string_view("<>|=").find(text[0]) != std::string_view::npos) text.remove_prefix(1);
  if (text.empty() || std::string_view("biufcSUVMm").find(text[0]) == std::string_view::npos) return std::nullopt;
  ElementType type{.kind = text[0]};
  text.remove_prefix(1);
  if (type.kind == 'M' || type.kind == 'm') {
    if (const size_t bracket = text.find('['); bracket != std::string_view::npos) {
      const std::string_view inside = text.substr(bracket + 1);
      const std::optional<std::string> unit =
          inside.ends_with(']') ? unit_of(inside.substr(0, inside.size() - 1)) : std::nullopt;
      if (!unit) return std::nullopt;
      type.unit = *unit;
      text = text.substr(0, bracket);
    }
  }
  int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size() || count < 0 || !is_size(type.kind, count)) {
    return std::nullopt;
  }
  type.bytes = type.kind == 'U' ? 4 * count : count;
  type.is_big_endian = type.has_byte_order() && is_big_endian;
  return type;
}

// A structure of fields without gaps; a field without a name is padding. `stored`: its metadata, for errors.
ElementType structure_of(std::vector<ElementField> fields, const Field& stored) {
  ElementType type{.kind = 'V'};
  for (ElementField& field : fields) {
    int64_t count = 1;
    for (const int64_t length : field.shape) {
      if (length != 0 && count > kElementBytesMax / length) throw stored.wrong("a structure of less than 2 GiB");
      count *= length;
    }
    if (field.type.bytes > 0 && count > (kElementBytesMax - type.bytes) / field.type.bytes) {
      throw stored.wrong("a structure of less than 2 GiB");
    }
    field.offset = type.bytes;
    type.bytes += count * field.type.bytes;
    if (field.name.empty()) continue;
    const bool is_there = std::any_of(type.fields.begin(), type.fields.end(),
                                      [&](const ElementField& one) { return one.name == field.name; });
    if (is_there) throw stored.wrong("a structure whose fields have different names");
    type.fields.push_back(std::move(field));
  }
  if (type.fields.empty()) throw stored.wrong("a structure that has fields");
  return type;
}

bool has_objects(const ElementType& type) {
  return type.is_text() || std::any_of(type.fields.begin(), type.fields.end(),
                                       [](const ElementField& field) { return has_objects(field.type); });
}

std::vector<Field> pair_of(const Field& field) {
  std::vector<Field> found = field.items();
  if (found.size() != 2) throw field.wrong("a name and a type");
  return found;
}

// A field in version 3: {"name": …, "data_type": …}, or [name, type].
ElementField field_of_v3(const Field& stored, size_t place) {
  ElementField field;
  if (stored.value().members() != nullptr) {
    field.name = stored.of("name").text();
    field.type = type_of_v3(stored.of("data_type"));
  } else {
    const std::vector<Field> pair = pair_of(stored);
    field.name = pair[0].text();
    field.type = type_of_v3(pair[1]);
  }
  if (field.name.empty()) field.name = "f" + std::to_string(place);  // the name that NumPy gives
  return field;
}

ElementType structure_of_v2(const Field& stored) {
  std::vector<ElementField> fields;
  for (const Field& one : stored.items()) {
    const std::vector<Field> parts = one.items();
    if (parts.size() != 2 && parts.size() != 3) throw one.wrong("a name, a type and at most a shape");
    ElementField field;
    field.name = parts[0].text();
    if (parts[1].value().list() != nullptr) {
      field.type = structure_of_v2(parts[1]);
    } else {
      const std::optional<ElementType> type = spelled_type(parts[1].text());
      if (!type) throw parts[1].wrong("a dtype such as <f8 or |S5");
      field.type = *type;
    }
    if (parts.size() == 3) field.shape = parts[2].lengths(0);
    const bool is_padding = field.type.kind == 'V' && !field.type.is_structure();
    if (field.name.empty() && !is_padding) throw one.wrong("a name of the field");
    fields.push_back(std::move(field));
  }
  return structure_of(std::move(fields), stored);
}

Json padding_of(int64_t bytes) { return Json::List{"", "|V" + std::to_string(bytes)}; }

// ---- Fill values

// A description of what a value should have been.
struct NoElement : std::exception {
  explicit NoElement(std::string words) : why(std::move(words)) {}
  std::string why;
};

[[noreturn]] void fail_kind(const Json& stored) { throw NoElement{"a " + std::string(kind_in_words(stored))}; }

Bytes padded(Bytes raw, int64_t bytes) {
  if (static_cast<int64_t>(raw.size()) > bytes) throw NoElement{std::to_string(raw.size()) + " bytes"};
  raw.resize(static_cast<size_t>(bytes));
  return raw;
}

Bytes raw_fill(const Json& stored, int64_t bytes) {
  if (const Json::List* numbers = stored.list()) {
    Bytes raw;
    for (const Json& number : *numbers) {
      const int64_t value = number.flag() != nullptr ? int64_t{*number.flag()}
                            : number.integer()       ? *number.integer()
                                                     : -1;
      if (value < 0 || value > 255) throw NoElement{"bytes are integers from 0 to 255"};
      raw.push_back(static_cast<std::byte>(value));
    }
    return padded(std::move(raw), bytes);
  }
  if (const std::string* text = stored.text()) {
    std::optional<Bytes> raw = from_base64(*text);
    if (!raw) throw NoElement{"no base64"};
    return padded(std::move(*raw), bytes);
  }
  const bool is_false = stored.flag() != nullptr && !*stored.flag();
  if (is_false || (stored.is_number() && double_of(stored) == 0.0)) return Bytes(static_cast<size_t>(bytes));
  throw NoElement{"neither bytes nor their base64"};
}

// Parses text like Python's float(): also "nan" and "-Infinity".
double float_of_text(const std::string& text) {
  constexpr std::string_view kSpaces = " \t\n\v\f\r";
  const size_t begin = text.find_first_not_of(kSpaces);
  if (begin == std::string::npos) throw NoElement{"no number"};
  std::string word = text.substr(begin, text.find_last_not_of(kSpaces) - begin + 1);
  std::transform(word.begin(), word.end(), word.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
  const bool is_negative = word.starts_with('-');
  const std::string size = word.starts_with('-') || word.starts_with('+') ? word.substr(1) : word;
  if (size == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (size == "inf" || size == "infinity") return (is_negative ? -1 : 1) * std::numeric_limits<double>::infinity();
  double value = 0;
  const auto [end, error] = std::from_chars(size.data(), size.data() + size.size(), value);
  if (size.empty() || end != size.data() + size.size() || error == std::errc::invalid_argument) {
    throw NoElement{"no number"};
  }
  if (error == std::errc::result_out_of_range) value = size.find("e-") == std::string::npos ? INFINITY : 0;
  return is_negative ? -value : value;
}

Bytes float_fill(const Json& stored, const ElementType& type) {
  if (const std::string* text = stored.text()) {
    if (!text->starts_with("0x")) return float_bytes(float_of_text(*text), type);
    Bytes bits;
    for (size_t at = 2; at < text->size(); at += 2) {
      uint8_t byte = 0;
      const char* digits = text->data() + at;
      const char* stop = text->data() + std::min(at + 2, text->size());
      const auto [end, error] = std::from_chars(digits, stop, byte, 16);
      if (error != std::errc() || end != digits + 2) throw NoElement{"no hexadecimal digits"};
      bits.push_back(static_cast<std::byte>(byte));
    }
    if (static_cast<int64_t>(bits.size()) != type.bytes) throw NoElement{std::to_string(bits.size()) + " bytes"};
    if (!type.is_big_endian) std::reverse(bits.begin(), bits.end());
    return bits;
  }
  const std::optional<double> value = stored.is_number() ? double_of(stored) : std::nullopt;
  if (!value) fail_kind(stored);
  return float_bytes(*value, type);
}

Bytes complex_fill(const Json& stored, const ElementType& type) {
  const Json::List parts = stored.list() != nullptr ? *stored.list() : Json::List{stored, 0};
  if (parts.size() != 2) throw NoElement{std::to_string(parts.size()) + " parts of a complex number"};
  Bytes bytes = float_fill(parts[0], part_of(type));
  const Bytes imaginary = float_fill(parts[1], part_of(type));
  bytes.insert(bytes.end(), imaginary.begin(), imaginary.end());
  return bytes;
}

Bytes integer_fill(const Json& stored, const ElementType& type) {
  const std::optional<Integer> value = stored.is_number() ? integer_of(stored) : std::nullopt;
  if (!value) fail_kind(stored);
  std::optional<Bytes> bytes = integer_bytes(*value, type);
  if (!bytes) throw NoElement{"out of bounds"};
  return std::move(*bytes);
}

Bytes time_fill(const Json& stored, const ElementType& type) {
  if (const std::string* text = stored.text()) {
    if (*text != "NaT") throw NoElement{"a time is an integer, or NaT"};
    return *integer_bytes(Integer::of(std::numeric_limits<int64_t>::min()), type);
  }
  if (!stored.is_integer()) fail_kind(stored);
  return integer_fill(stored, type);
}

Bytes text_fill(const Json& stored, const ElementType& type) {
  std::u32string points;
  if (stored.text() != nullptr) {
    points = code_points(*stored.text());
  } else if (!stored.is_number() || double_of(stored) != 0.0) {
    fail_kind(stored);
  }
  points.resize(static_cast<size_t>(type.bytes / 4));  // longer text is cut
  Bytes bytes;
  const ElementType unit{.kind = 'u', .bytes = 4, .is_big_endian = type.is_big_endian};
  for (const char32_t point : points) {
    const Bytes one = *integer_bytes(Integer::of_unsigned(point), unit);
    bytes.insert(bytes.end(), one.begin(), one.end());
  }
  return bytes;
}

Bytes fill_from(const Json& stored, const ElementType& type);

Bytes structure_fill(const Json& stored, const ElementType& type) {
  if (stored.members() == nullptr) return raw_fill(stored, type.bytes);
  Bytes element(static_cast<size_t>(type.bytes));
  for (const ElementField& field : type.fields) {
    const Json* value = stored.find(field.name);
    if (value == nullptr) throw NoElement{"no field '" + field.name + "'"};
    const Bytes bytes = field.shape.empty() ? fill_from(*value, field.type)
                                            : raw_fill(*value, element_count(field.shape) * field.type.bytes);
    std::copy(bytes.begin(), bytes.end(), element.begin() + field.offset);
  }
  return element;
}

Bytes fill_from(const Json& stored, const ElementType& type) {
  if (type.is_structure()) return structure_fill(stored, type);
  switch (type.kind) {
    case 'S':
    case 'V':
      return raw_fill(stored, type.bytes);
    case 'c':
      return complex_fill(stored, type);
    case 'f':
      return float_fill(stored, type);
    case 'b': {
      if (stored.flag() != nullptr) return {std::byte{*stored.flag()}};
      const std::optional<Integer> value = stored.is_number() ? integer_of(stored) : std::nullopt;
      if (!value || value->magnitude > 1 || value->is_negative) fail_kind(stored);
      return {static_cast<std::byte>(value->magnitude)};
    }
    case 'M':
    case 'm':
      return time_fill(stored, type);
    case 'U':
      return text_fill(stored, type);
    default:
      return integer_fill(stored, type);
  }
}

Json float_to_json(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
}

Json text_to_json(std::span<const std::byte> fill, const ElementType& type) {
  const ElementType unit{.kind = 'u', .bytes = 4, .is_big_endian = type.is_big_endian};
  std::string text;
  std::string zeros;  // zero bytes at the end do not belong to the text
  for (size_t at = 0; at < fill.size(); at += 4) {
    const auto point = static_cast<char32_t>(integer_in(fill.subspan(at, 4), unit).magnitude);
    if (point == 0) {
      zeros += '\0';
    } else {
      text += std::exchange(zeros, "");
      append_utf8(text, point > 0x10FFFF ? U'�' : point);
    }
  }
  return text;
}

}  // namespace

// ---- Types

ElementType type_of_v3(const Field& data_type) {
  const auto [name, settings] = data_type.named();
  if (const NamedType* found = named(kNumbers, name)) return {.kind = found->kind, .bytes = found->bytes};
  if (const NamedType* found = named(kTimes, name)) {
    const int64_t scale = settings.of("scale_factor").integer(1, std::numeric_limits<int32_t>::max());
    const std::string word = settings.of("unit").text();
    const std::optional<std::string> unit = word == "generic" ? std::nullopt : unit_of(std::to_string(scale) + word);
    if (!unit) throw data_type.wrong("a dtype (the unit '" + word + "' is none of a time)");
    return {.kind = found->kind, .bytes = found->bytes, .unit = *unit};
  }
  if (const NamedType* found = named(kTexts, name)) {
    const int64_t bytes = settings.of("length_bytes").integer(1, kElementBytesMax) / found->bytes * found->bytes;
    if (bytes == 0) throw data_type.wrong("a dtype (of at least one character)");
    return {.kind = found->kind, .bytes = bytes};
  }
  if (name == "structured" || name == "struct") {
    std::vector<ElementField> fields;
    for (const Field& field : settings.of("fields").items()) fields.push_back(field_of_v3(field, fields.size()));
    return structure_of(std::move(fields), data_type);
  }
  int64_t bits = 0;
  if (name.starts_with('r') && name.size() > 1 && name.size() < 13) {
    const auto [end, error] = std::from_chars(name.data() + 1, name.data() + name.size(), bits);
    const bool are_digits = error == std::errc() && end == name.data() + name.size() && name[1] != '-';
    if (are_digits && bits % 8 == 0) {
      if (bits == 0 || bits / 8 > kElementBytesMax) throw data_type.wrong("a dtype (of at least one byte)");
      return {.kind = 'V', .bytes = bits / 8};
    }
  }
  throw Error(ErrorKind::kUnsupported, data_type.file() + ": elements of data_type " + shown(Json(name)) +
                                           " are not numbers, or a fixed number of bytes that NumPy knows; read it "
                                           "with zarr");
}

Json type_to_v3(const ElementType& type) {
  if (!type.is_structure()) {
    const auto is_same = [&](const NamedType& one) { return one.kind == type.kind && one.bytes == type.bytes; };
    const auto is_of_kind = [&](const NamedType& one) { return one.kind == type.kind; };
    if (const NamedType* found = find_type(kNumbers, is_same)) return found->name;
    if (const NamedType* found = find_type(kTimes, is_of_kind); found != nullptr && !type.unit.empty()) {
      int64_t scale = 1;
      const char* end = type.unit.data() + type.unit.size();
      const auto [rest, error] = std::from_chars(type.unit.data(), end, scale);
      const std::string unit(rest, end);
      return Json::object(
          {{"name", found->name}, {"configuration", Json::object({{"unit", unit}, {"scale_factor", scale}})}});
    }
    if (const NamedType* found = find_type(kTexts, is_of_kind)) {
      return Json::object({{"name", found->name}, {"configuration", Json::object({{"length_bytes", type.bytes}})}});
    }
  }
  fail_argument("Zarr version 3 has no data type for dtype " + type_in_words(type) +
                "; it has bool, integers, float16 to float64, complex numbers, times with a unit, and fixed-length "
                "strings");
}

ElementType type_of_v2(const Field& stored) {
  std::optional<ElementType> type;
  if (stored.value().list() != nullptr) {
    type = structure_of_v2(stored);
  } else {
    type = spelled_type(stored.text());
    if (!type) throw stored.wrong("a dtype such as <f8 or |S5");
  }
  if (has_objects(*type) || type->bytes == 0) {
    throw Error(ErrorKind::kUnsupported, stored.file() + ": elements of dtype " + shown(stored.value()) +
                                             " are not a fixed number of bytes; read it with zarr");
  }
  return *type;
}

Json type_to_v2(const ElementType& type) {
  if (!type.is_structure()) {
    const std::string spelled = type.to_string();
    if (!spelled_type(spelled)) fail_argument("Zarr version 2 has no dtype " + spelled);
    return spelled;
  }
  Json::List fields;
  int64_t end = 0;
  for (const ElementField& field : type.fields) {
    if (!field.title.empty()) {
      fail_argument("Zarr version 2 stores no titles of fields; that of " + field.name + " is " + field.title +
                    ": leave it out, or choose .npy");
    }
    if (field.offset < end) {
      fail_argument("Zarr version 2 stores the fields of a structure one behind the other; those of " +
                    type.to_string() +
                    " overlap, or lie in another order than they are named in: choose another dtype, or create a raw "
                    "file");
    }
    if (field.offset > end) fields.push_back(padding_of(field.offset - end));
    Json::List one{field.name, type_to_v2(field.type)};
    if (!field.shape.empty()) one.push_back(Json::integers(field.shape));
    fields.emplace_back(std::move(one));
    end = field.offset + element_count(field.shape) * field.type.bytes;
  }
  if (type.bytes > end) fields.push_back(padding_of(type.bytes - end));
  return fields;
}

// ---- Fill values

Bytes fill_of(const Field& stored, const ElementType& type) {
  if (type.bytes > kFillBytesMax) {
    throw Error(ErrorKind::kUnsupported, stored.file() + ": elements of " + with_commas(type.bytes) +
                                             " bytes; Swath reads elements of at most " + with_commas(kFillBytesMax) +
                                             " bytes: use a smaller dtype and one more dimension");
  }
  if (stored.is_missing()) return Bytes(static_cast<size_t>(type.bytes));
  try {
    return fill_from(stored.value(), type);
  } catch (const NoElement& error) {
    throw stored.wrong("a value of dtype " + type_in_words(type) + " (" + error.why + ")");
  }
}

Json fill_to_json(std::span<const std::byte> fill, const ElementType& type) {
  switch (type.is_structure() ? 'V' : type.kind) {
    case 'b':
      return fill[0] != std::byte{};
    case 'i':
    case 'u':
    case 'M':
    case 'm':
      return integer_in(fill, type).as_json();
    case 'f':
      return float_to_json(float_in(fill, type));
    case 'c': {
      const ElementType part = part_of(type);
      const size_t half = fill.size() / 2;
      return Json::List{float_to_json(float_in(fill.first(half), part)),
                        float_to_json(float_in(fill.subspan(half), part))};
    }
    case 'U':
      return text_to_json(fill, type);
    default:
      return to_base64(fill);
  }
}

}  // namespace swath::zarr
