#include "formats/text.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace swath::formats {
namespace {

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

}  // namespace

// The first two bytes are enough to detect overlong forms, surrogates and code points beyond U+10FFFF.
size_t character_bytes(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return 1;
  const size_t bytes = first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
  if (bytes == 0 || bytes > text.size()) return 0;
  if (!std::all_of(text.begin() + 1, text.begin() + static_cast<std::ptrdiff_t>(bytes), is_continuation)) return 0;
  const auto second = static_cast<unsigned char>(text[1]);
  if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F)) return 0;
  if ((first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F)) return 0;
  return bytes;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const size_t bytes = character_bytes(text);
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

std::string text_of(std::string_view stored) {
  stored = stored.substr(0, stored.find_last_not_of('\0') + 1);
  if (is_utf8(stored)) return std::string(stored);
  std::string text;
  for (const char byte : stored) {
    const auto code = static_cast<unsigned char>(byte);
    if (code < 0x80) {
      text += byte;
    } else {
      text += static_cast<char>(0xC0 | code >> 6);
      text += static_cast<char>(0x80 | (code & 0x3F));
    }
  }
  return text;
}

std::string latin1_of(std::string_view text) {
  std::string stored;
  for (size_t at = 0; at < text.size(); ++at) {
    const auto code = static_cast<unsigned char>(text[at]);
    if (code < 0x80) {
      stored += text[at];
    } else {
      ++at;
      stored += static_cast<char>((code & 0x03) << 6 | (static_cast<unsigned char>(text[at]) & 0x3F));
    }
  }
  return stored;
}

std::string escaped(std::string_view text) {
  std::string readable;
  while (!text.empty()) {
    const size_t bytes = std::max<size_t>(character_bytes(text), 1);
    const auto first = static_cast<unsigned char>(text[0]);
    if (first < 0x20 || first == 0x7F || (first >= 0x80 && bytes == 1)) {
      std::array<char, 5> code;
      std::snprintf(code.data(), code.size(), "\\x%02x", first);
      readable += code.data();
    } else {
      readable += text.substr(0, bytes);
    }
    text.remove_prefix(bytes);
  }
  return readable;
}

std::string quoted(std::string_view text) {
  std::string readable = "'";
  for (const char byte : escaped(text)) {
    if (byte == '\'') readable += '\\';
    readable += byte;
  }
  return readable + "'";
}

}  // namespace swath::formats
