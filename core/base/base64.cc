#include "base/base64.h"

#include <algorithm>
#include <cstdint>

namespace swath {
namespace {

constexpr std::string_view kBase64Letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string to_base64(std::span<const std::byte> bytes) {
  std::string text;
  for (size_t at = 0; at < bytes.size(); at += 3) {
    uint32_t group = 0;
    for (size_t i = 0; i < 3; ++i)
      group = (group << 8) | (at + i < bytes.size() ? std::to_integer<uint32_t>(bytes[at + i]) : 0);
    const size_t letters = std::min<size_t>(3, bytes.size() - at) + 1;
    for (size_t i = 0; i < 4; ++i) text += i < letters ? kBase64Letters[(group >> (18 - 6 * i)) & 0x3F] : '=';
  }
  return text;
}

std::optional<std::vector<std::byte>> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  const size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  text.remove_suffix(padding);
  std::vector<std::byte> bytes;
  uint32_t group = 0;
  size_t bits = 0;
  for (const char letter : text) {
    const size_t value = kBase64Letters.find(letter);
    if (value == std::string_view::npos) return std::nullopt;
    group = (group << 6) | static_cast<uint32_t>(value);
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes.push_back(static_cast<std::byte>((group >> bits) & 0xFF));
    }
  }
  return bytes;
}

}  // namespace swath
