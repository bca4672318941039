#include "formats/zarr/json_standard.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "formats/zarr/unicode.h"

namespace swath::zarr {
namespace {

constexpr char kMark = '\x01';
constexpr std::string_view kEscapedMark = "\\u0001";
constexpr size_t kPlainNumberMax = 18;  // characters: such a number without an exponent fits into 64 bits and a double

bool is_digit(char c) { return c >= '0' && c <= '9'; }

size_t digits_at(std::string_view text, size_t begin) {
  size_t end = begin;
  while (end < text.size() && is_digit(text[end])) ++end;
  return end - begin;
}

// Whether the text is a number in JSON's grammar: -0.5e+3, but neither 01 nor .5.
bool is_number(std::string_view text) {
  size_t at = text.starts_with('-') ? 1 : 0;
  const size_t whole = digits_at(text, at);
  if (whole == 0 || (whole > 1 && text[at] == '0')) return false;
  at += whole;
  if (at < text.size() && text[at] == '.') {
    const size_t fraction = digits_at(text, at + 1);
    if (fraction == 0) return false;
    at += 1 + fraction;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    const size_t exponent = digits_at(text, at);
    if (exponent == 0) return false;
    at += exponent;
  }
  return at == text.size();
}

// The 16 bits of an escape such as \ud800 at this position; none if there is no such escape.
std::optional<char32_t> escape_at(std::string_view text, size_t at) {
  if (text.size() < at + 6 || text[at] != '\\' || text[at + 1] != 'u') return std::nullopt;
  uint32_t unit = 0;
  const char* begin = text.data() + at + 2;
  const auto [end, error] = std::from_chars(begin, begin + 4, unit, 16);
  if (error != std::errc() || end != begin + 4) return std::nullopt;
  return unit;
}

class Standardiser {
 public:
  explicit Standardiser(std::string_view text) : text_(text) {}

  std::string take() {
    while (at_ < text_.size()) {
      if (is_in_string_) {
        in_string();
      } else {
        between_strings();
      }
    }
    if (out_.empty()) return {};
    return out_.append(text_.substr(copied_));
  }

 private:
  void in_string() {
    const char c = text_[at_];
    if (c == '"') is_in_string_ = false;
    if (c != '\\') {
      ++at_;
      return;
    }
    const std::optional<char32_t> unit = escape_at(text_, at_);
    if (!unit) {
      at_ += 2;  // the escaped character does not end the string
    } else if (*unit == static_cast<char32_t>(kMark)) {
      replace(6, std::string(kEscapedMark).append(kEscapedMark));
    } else if (is_surrogate(*unit)) {
      const std::optional<char32_t> next = escape_at(text_, at_ + 6);
      if (*unit < 0xDC00 && next && *next >= 0xDC00 && *next <= 0xDFFF) {
        at_ += 12;
      } else {
        replace(6, std::string(kEscapedMark).append(text_.substr(at_ + 2, 4)));
      }
    } else {
      at_ += 6;
    }
  }

  void between_strings() {
    const char c = text_[at_];
    if (c == '"') is_in_string_ = true;
    const std::string_view rest = text_.substr(at_);
    for (const std::string_view word : {"NaN", "Infinity", "-Infinity"}) {
      if (rest.starts_with(word)) return mark(word);
    }
    if (c != '-' && !is_digit(c)) {
      ++at_;
      return;
    }
    const std::string_view token = rest.substr(0, rest.find_first_not_of("-+.0123456789eE"));
    const bool is_plain = token.size() <= kPlainNumberMax && token.find_first_of("eE") == std::string_view::npos;
    if (is_plain || !is_number(token)) {
      at_ += token.size();
    } else {
      mark(token);
    }
  }

  void mark(std::string_view number) {
    replace(number.size(), std::string("\"").append(kEscapedMark).append("n").append(number).append("\""));
  }

  void replace(size_t count, const std::string& by) {
    out_.append(text_.substr(copied_, at_ - copied_)).append(by);
    at_ += count;
    copied_ = at_;
  }

  const std::string_view text_;
  size_t at_ = 0;
  size_t copied_ = 0;  // the part of the text before this offset is in `out_`
  bool is_in_string_ = false;
  std::string out_;
};

}  // namespace

std::string to_standard(std::string_view text) { return Standardiser(text).take(); }

bool is_number_in_text(std::string_view text) { return text.size() > 1 && text[0] == kMark && text[1] == 'n'; }

std::string number_in_text(std::string_view text) { return std::string(text.substr(2)); }

std::string from_standard(std::string text) {
  if (text.find(kMark) == std::string::npos) return text;
  std::string found;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] != kMark) {
      found += text[at];
    } else if (text[at + 1] == kMark) {
      found += kMark;
      ++at;
    } else {
      uint32_t unit = 0;
      std::from_chars(text.data() + at + 1, text.data() + at + 5, unit, 16);
      append_utf8(found, unit);
      at += 4;
    }
  }
  return found;
}

}  // namespace swath::zarr
