#include "formats/zarr/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "base/error.h"

namespace swath::zarr {
namespace {

struct Decoded {
  char32_t point;
  size_t bytes;
};

Decoded decode_at(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  const Decoded stray{0xDC00U + first, 1};
  if (first < 0x80) return {first, 1};
  const size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() - at < bytes) return stray;
  char32_t point = first & (0x7FU >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return stray;
    point = (point << 6) | (byte(at + i) & 0x3F);
  }
  const char32_t least = bytes == 4 ? 0x10000 : bytes == 3 ? 0x800 : 0x80;
  return point < least || point > 0x10FFFF ? stray : Decoded{point, bytes};
}

std::string mapped(std::string_view text, int options) {
  utf8proc_uint8_t* made = nullptr;
  const utf8proc_ssize_t bytes =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()), static_cast<utf8proc_ssize_t>(text.size()),
                   &made, static_cast<utf8proc_option_t>(options));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(made, &std::free);
  if (bytes < 0)
    throw Error(ErrorKind::kInternal, std::string("a name cannot be normalised: ") + utf8proc_errmsg(bytes));
  return {reinterpret_cast<const char*>(made), static_cast<size_t>(bytes)};
}

}  // namespace

std::u32string code_points(std::string_view text) {
  std::u32string points;
  points.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const auto [point, bytes] = decode_at(text, at);
    points += point;
    at += bytes;
  }
  return points;
}

void append_utf8(std::string& text, char32_t point) {
  if (point < 0x80) {
    text += static_cast<char>(point);
    return;
  }
  const int more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
  constexpr unsigned char kFirst[] = {0, 0xC0, 0xE0, 0xF0};
  text += static_cast<char>(kFirst[more] | (point >> (6 * more)));
  for (int i = more - 1; i >= 0; --i) text += static_cast<char>(0x80 | ((point >> (6 * i)) & 0x3F));
}

bool is_unicode(std::string_view text) {
  const std::u32string points = code_points(text);
  return std::none_of(points.begin(), points.end(), is_surrogate);
}

std::string valid_utf8(std::string_view text) {
  std::string valid;
  for (const char32_t point : code_points(text)) append_utf8(valid, is_surrogate(point) ? U'?' : point);
  return valid;
}

std::string json_of_name(std::string_view name) {
  std::string text;
  for (const char32_t point : code_points(name)) append_utf8(text, point);
  return text;
}

std::string name_of_json(std::string_view text) {
  std::string name;
  for (const char32_t point : code_points(text)) {
    if (point >= 0xDC80 && point <= 0xDCFF) {
      name += static_cast<char>(point - 0xDC00);
    } else {
      append_utf8(name, point);
    }
  }
  return name;
}

std::u32string casefolded(std::string_view name) {
  if (!is_unicode(name)) return code_points(name);
  const std::string normal = mapped(name, UTF8PROC_STABLE | UTF8PROC_COMPAT | UTF8PROC_COMPOSE);
  return code_points(mapped(normal, UTF8PROC_CASEFOLD));
}

}  // namespace swath::zarr
