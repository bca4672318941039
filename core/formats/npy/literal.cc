#include "formats/npy/literal.h"

#include <charconv>
#include <cstddef>

#include "base/error.h"

namespace swath::formats::npy {
namespace {

constexpr int kDepthMax = 64;

void append_utf8(std::string& text, uint32_t code) {
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xC0 | (code >> 6));
    text += static_cast<char>(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    text += static_cast<char>(0xE0 | (code >> 12));
    text += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    text += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    text += static_cast<char>(0xF0 | (code >> 18));
    text += static_cast<char>(0x80 | ((code >> 12) & 0x3F));
    text += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    text += static_cast<char>(0x80 | (code & 0x3F));
  }
}

class Parser {
 public:
  explicit Parser(std::string_view source) : source_(source) {}

  Literal all() {
    Literal found = literal(0);
    skip_blanks();
    if (at_ != source_.size()) fail("nothing more");
    return found;
  }

 private:
  [[noreturn]] void fail(const std::string& expected) const {
    throw Error(ErrorKind::kFormat, "byte " + std::to_string(at_) + " of its header: expected " + expected);
  }

  void skip_blanks() {
    while (at_ < source_.size() && std::string_view(" \t\n\r\f").find(source_[at_]) != std::string_view::npos) ++at_;
  }

  // If the next characters are `word`, skips them and returns true.
  bool takes(std::string_view word) {
    skip_blanks();
    if (source_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  Literal literal(int depth) {
    if (depth > kDepthMax) fail("less nesting");
    skip_blanks();
    if (at_ == source_.size()) fail("a value, not the end");
    const char first = source_[at_];
    if (first == '{') return items(depth);
    if (first == '(') return list("(", ")", depth);
    if (first == '[') return list("[", "]", depth);
    if (takes("True")) return {true};
    if (takes("False")) return {false};
    if (first == '-' || (first >= '0' && first <= '9')) return {number()};
    return {text()};
  }

  Literal items(int depth) {
    LiteralItems found;
    takes("{");
    while (!takes("}")) {
      skip_blanks();
      std::string name = text();
      if (!takes(":")) fail("':' behind a name");
      found.push_back({std::move(name), literal(depth + 1)});
      if (takes(",")) continue;
      if (!takes("}")) fail("',' or '}'");
      break;
    }
    return {std::move(found)};
  }

  // One value in round brackets without a comma is the value itself, not a list.
  Literal list(std::string_view begin, std::string_view end, int depth) {
    LiteralList found;
    bool has_comma = false;
    takes(begin);
    while (!takes(end)) {
      found.push_back(literal(depth + 1));
      if (takes(",")) {
        has_comma = true;
        continue;
      }
      if (!takes(end)) fail("',' or '" + std::string(end) + "'");
      break;
    }
    if (begin == "(" && found.size() == 1 && !has_comma) return std::move(found.front());
    return {std::move(found)};
  }

  int64_t number() {
    int64_t value = 0;
    const char* const begin = source_.data() + at_;
    const auto [end, error] = std::from_chars(begin, source_.data() + source_.size(), value);
    if (error != std::errc()) fail("a number of at most 64 bits");
    at_ += static_cast<size_t>(end - begin);
    if (at_ < source_.size() && source_[at_] == 'L') ++at_;  // Python 2 wrote long numbers with an L
    return value;
  }

  std::string text() {
    if (at_ < source_.size() && (source_[at_] == 'u' || source_[at_] == 'b')) ++at_;
    if (at_ == source_.size() || (source_[at_] != '\'' && source_[at_] != '"')) fail("a value");
    const char quote = source_[at_++];
    std::string found;
    while (at_ < source_.size() && source_[at_] != quote) {
      if (source_[at_] == '\\') {
        ++at_;
        escape(found);
      } else {
        found += source_[at_++];
      }
    }
    if (at_ == source_.size()) fail("the end of a text");
    ++at_;
    return found;
  }

  void escape(std::string& found) {
    if (at_ == source_.size()) fail("the end of a text");
    const char kind = source_[at_++];
    switch (kind) {
      case 'n':
        found += '\n';
        return;
      case 't':
        found += '\t';
        return;
      case 'r':
        found += '\r';
        return;
      case 'x':
        return append_utf8(found, code(2));
      case 'u':
        return append_utf8(found, code(4));
      case 'U':
        return append_utf8(found, code(8));
      case '\\':
      case '\'':
      case '"':
        found += kind;
        return;
      default:
        fail("an escape that Python's repr() writes");
    }
  }

  uint32_t code(size_t digits) {
    uint32_t value = 0;
    const std::string_view hex = source_.substr(at_, digits);
    const auto [end, error] = std::from_chars(hex.data(), hex.data() + hex.size(), value, 16);
    const bool is_surrogate = value >= 0xD800 && value < 0xE000;
    if (error != std::errc() || end != hex.data() + digits || value > 0x10FFFF || is_surrogate) {
      fail("the number of a character");
    }
    at_ += digits;
    return value;
  }

  std::string_view source_;
  size_t at_ = 0;
};

}  // namespace

Literal parse_literal(std::string_view source) { return Parser(source).all(); }

std::string text_literal(std::string_view text) {
  const bool has_single = text.find('\'') != std::string_view::npos;
  const char quote = has_single && text.find('"') == std::string_view::npos ? '"' : '\'';
  std::string found(1, quote);
  for (const char c : text) {
    if (c == quote || c == '\\') found += '\\';
    if (c == '\n') {
      found += "\\n";
    } else if (c == '\t') {
      found += "\\t";
    } else if (c == '\r') {
      found += "\\r";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      constexpr std::string_view kDigits = "0123456789abcdef";
      found += std::string("\\x") + kDigits[static_cast<unsigned char>(c) >> 4] + kDigits[c & 0xF];
    } else {
      found += c;
    }
  }
  return found + quote;
}

}  // namespace swath::formats::npy
