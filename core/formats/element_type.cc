#include "formats/element_type.h"

#include <algorithm>
#include <charconv>

#include "base/error.h"

namespace swath::formats {
namespace {

[[noreturn]] void fail_parse(std::string_view text) {
  throw Error(ErrorKind::kFormat, "no type of elements: '" + std::string(text) + "'; expected one such as <f4 or |S8");
}

// The bytes of one number whose order is swapped: a complex number has two such numbers, text one for each character.
int64_t bytes_turned(const ElementType& type) {
  if (type.kind == 'c') return type.bytes / 2;
  return type.kind == 'U' ? 4 : type.bytes;
}

// Swaps whole numbers only: bytes left over at the end stay as they are.
void swap_numbers(std::span<std::byte> numbers, int64_t bytes) {
  for (int64_t at = 0; at + bytes <= std::ssize(numbers); at += bytes) {
    std::reverse(numbers.begin() + at, numbers.begin() + at + bytes);
  }
}

}  // namespace

bool ElementType::has_byte_order() const {
  if (is_structure()) {
    return std::any_of(fields.begin(), fields.end(), [](const auto& field) { return field.type.has_byte_order(); });
  }
  return kind == 'U' ? bytes > 0 : std::string_view("iufcMm").find(kind) != std::string_view::npos && bytes > 1;
}

ElementType ElementType::parse(std::string_view text) {
  if (text.size() < 2 || std::string_view("<>|=").find(text[0]) == std::string_view::npos ||
      std::string_view("biufcSUVMmO").find(text[1]) == std::string_view::npos) {
    fail_parse(text);
  }
  ElementType type{.kind = text[1]};
  std::string_view rest = text.substr(2);
  if (const size_t bracket = rest.find('['); bracket != std::string_view::npos) {
    if ((type.kind != 'M' && type.kind != 'm') || rest.back() != ']') fail_parse(text);
    type.unit = std::string(rest.substr(bracket + 1, rest.size() - bracket - 2));
    rest = rest.substr(0, bracket);
  }
  int64_t count = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), count);
  const bool has_count = error == std::errc() && end == rest.data() + rest.size() && count >= 0;
  if (!has_count && (type.kind != 'O' || !rest.empty())) fail_parse(text);
  constexpr int64_t kBytesMax = int64_t{1} << 31;
  if (count > kBytesMax / 4) fail_parse(text);
  if (type.kind == 'O') return type;
  type.bytes = type.kind == 'U' ? 4 * count : count;
  if (type.has_byte_order()) type.is_big_endian = text[0] == '>' || (text[0] != '<' && kIsBigEndianHere);
  return type;
}

ElementType ElementType::in_byte_order(bool big_endian) const {
  ElementType other = *this;
  if (has_byte_order() && !is_structure()) other.is_big_endian = big_endian;
  for (ElementField& field : other.fields) field.type = field.type.in_byte_order(big_endian);
  return other;
}

std::string ElementType::to_string() const {
  if (is_structure()) {
    std::string text = "{";
    for (const ElementField& field : fields) {
      if (text.size() > 1) text += ", ";
      text += field.name + ": " + field.type.to_string();
      for (const int64_t length : field.shape) text += "[" + std::to_string(length) + "]";
    }
    return text + "}";
  }
  if (kind == 'O') return "|O";
  std::string text = !has_byte_order() ? "|" : is_big_endian ? ">" : "<";
  text += kind + std::to_string(kind == 'U' ? bytes / 4 : bytes);
  return unit.empty() ? text : text + "[" + unit + "]";
}

std::string ElementType::words() const {
  if (is_structure() || (has_byte_order() && is_big_endian != kIsBigEndianHere)) return to_string();
  const std::string bits = std::to_string(8 * bytes);
  switch (kind) {
    case 'b':
      return "bool";
    case 'i':
      return "int" + bits;
    case 'u':
      return "uint" + bits;
    case 'f':
      return "float" + bits;
    case 'c':
      return "complex" + bits;
    case 'M':
      return "datetime64" + (unit.empty() ? "" : "[" + unit + "]");
    case 'm':
      return "timedelta64" + (unit.empty() ? "" : "[" + unit + "]");
    case 'O':
      return "object";
    default:
      return to_string();
  }
}

bool ElementType::operator==(const ElementType& other) const {
  return kind == other.kind && bytes == other.bytes && is_big_endian == other.is_big_endian && unit == other.unit &&
         fields == other.fields;
}

void swap_bytes(const ElementType& type, std::span<std::byte> elements) {
  if (!type.has_byte_order() || type.bytes == 0) return;
  if (!type.is_structure()) {
    swap_numbers(elements, bytes_turned(type));
    return;
  }
  for (size_t at = 0; at + type.bytes <= elements.size(); at += type.bytes) {
    for (const ElementField& field : type.fields) {
      const int64_t bytes = element_count(field.shape) * field.type.bytes;
      swap_bytes(field.type, elements.subspan(at + field.offset, bytes));
    }
  }
}

}  // namespace swath::formats
