#include "trace/json.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <optional>

namespace swath::trace {
namespace {

// How many bytes the UTF-8 character at the beginning of `text` has; 0 where there is none.
size_t character_bytes(std::string_view text) {
  const auto byte = [&](size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const size_t length = first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
  if (length == 0 || length > text.size()) return 0;
  for (size_t at = 1; at < length; ++at) {
    if ((byte(at) & 0xC0) != 0x80) return 0;
  }
  if (first == 0xE0 && byte(1) < 0xA0) return 0;   // longer than it need be
  if (first == 0xED && byte(1) >= 0xA0) return 0;  // a surrogate
  if (first == 0xF0 && byte(1) < 0x90) return 0;
  if (first == 0xF4 && byte(1) >= 0x90) return 0;  // beyond Unicode
  return length;
}

void append_control(std::string& text, char control) {
  std::array<char, 8> escaped{};
  std::snprintf(escaped.data(), escaped.size(), "\\u%04x", static_cast<unsigned>(static_cast<unsigned char>(control)));
  text += escaped.data();
}

}  // namespace

void append_quoted(std::string& text, std::string_view value) {
  text += '"';
  while (!value.empty()) {
    const size_t bytes = character_bytes(value);
    if (bytes == 0) {
      text += "\xEF\xBF\xBD";
    } else if (value[0] == '"' || value[0] == '\\') {
      text += '\\';
      text += value[0];
    } else if (static_cast<unsigned char>(value[0]) < 0x20) {
      append_control(text, value[0]);
    } else {
      text += value.substr(0, bytes);
    }
    value.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  text += '"';
}

std::string& JsonObject::begin(std::string_view name) {
  if (!is_empty_) text_ += ',';
  is_empty_ = false;
  append_quoted(text_, name);
  text_ += ':';
  return text_;
}

void JsonObject::put(std::string_view name, std::string_view value) { append_quoted(begin(name), value); }

void JsonObject::put(std::string_view name, int64_t value) { begin(name) += std::to_string(value); }

void JsonObject::put(std::string_view name, double value) {
  if (!std::isfinite(value)) return put_json(name, "null");
  std::array<char, 40> number{};
  std::snprintf(number.data(), number.size(), "%.9g", value);
  begin(name) += number.data();
}

void JsonObject::put_json(std::string_view name, std::string_view json) { begin(name) += json; }

}  // namespace swath::trace
