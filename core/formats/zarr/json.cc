#include "formats/zarr/json.h"

#include <algorithm>
#include <charconv>
#include <clocale>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "base/error.h"
#include "formats/zarr/json_standard.h"
#include "formats/zarr/unicode.h"

namespace swath::zarr {
namespace {

constexpr size_t kShortMembers = 8;  // the members of an object that is searched one by one
// as in Python: the time of a conversion grows with the square of the length
constexpr size_t kIntegerDigitsMax = 4300;
constexpr size_t kShownMax = 100;

[[noreturn]] void fail(const std::string& file, const std::string& what) {
  throw Error(ErrorKind::kFormat, file + ": " + what);
}

// The decimal point is a point in every locale.
double double_of(const std::string& text) {
  static const locale_t c_locale = newlocale(LC_ALL_MASK, "C", nullptr);
  return strtod_l(text.c_str(), nullptr, c_locale);
}

Json number_of(const std::string& text) {
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (text == "Infinity") return std::numeric_limits<double>::infinity();
  if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
  if (text.find_first_of(".eE") != std::string::npos) return double_of(text);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) return value;
  return BigInteger{text};
}

// Builds the values that nlohmann-json parses, the innermost first.
class Builder {
 public:
  explicit Builder(const std::string& file) : file_(file) {}

  Json take() { return std::move(root_); }

  bool null() { return put(Json()); }
  bool boolean(bool value) { return put(value); }
  bool number_integer(int64_t value) { return put(value); }
  bool number_unsigned(uint64_t value) {
    const bool fits = value <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
    return put(fits ? Json(static_cast<int64_t>(value)) : Json(BigInteger{std::to_string(value)}));
  }
  bool number_float(double value, const std::string& /*text*/) { return put(value); }
  bool string(std::string& text) {
    if (is_number_in_text(text)) return put(number(number_in_text(text)));
    return put(from_standard(text));
  }
  bool binary(std::vector<uint8_t>& /*bytes*/) { return false; }  // which JSON has not

  bool start_object(size_t /*count*/) { return open(true); }
  bool start_array(size_t /*count*/) { return open(false); }
  bool key(std::string& text) {
    if (is_number_in_text(text)) fail(file_, "not JSON: a number where the key of an object is expected");
    Open& inner = open_.back();
    inner.members.emplace_back(from_standard(text), Json());
    return true;
  }
  bool end_object() {
    Json::Members members = std::move(open_.back().members);
    open_.pop_back();
    refuse_twice(members);
    return put(Json::object(std::move(members)));
  }
  bool end_array() {
    Json::List items = std::move(open_.back().items);
    open_.pop_back();
    return put(std::move(items));
  }

  bool parse_error(size_t /*place*/, const std::string& /*token*/, const nlohmann::json::exception& error) {
    std::string words = error.what();  // "[json.exception.parse_error.101] parse error at line 1, column 2: …"
    if (const size_t begin = words.find("] "); begin != std::string::npos) words.erase(0, begin + 2);
    fail(file_, "not JSON: " + valid_utf8(words));
  }

 private:
  struct Open {
    bool is_object = false;
    Json::Members members;
    Json::List items;
  };

  bool open(bool is_object) {
    if (open_.size() >= kDepthMax) {
      fail(file_, "objects and lists are nested more than " + std::to_string(kDepthMax) + " deep");
    }
    open_.push_back({.is_object = is_object});
    return true;
  }

  bool put(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (open_.back().is_object) {
      open_.back().members.back().second = std::move(value);
    } else {
      open_.back().items.push_back(std::move(value));
    }
    return true;
  }

  Json number(const std::string& text) {
    Json found = number_of(text);
    if (found.big_integer() != nullptr && text.size() > kIntegerDigitsMax) {
      fail(file_, "not JSON: an integer of more than " + std::to_string(kIntegerDigitsMax) + " digits");
    }
    return found;
  }

  void refuse_twice(const Json::Members& members) const {
    std::unordered_set<std::string_view> keys;
    for (const auto& [key, value] : members) {
      if (keys.insert(key).second) continue;
      fail(file_,
           "not JSON: an object has the key " + shown(key) + " more than once: readers differ in which they take");
    }
  }

  const std::string& file_;
  std::vector<Open> open_;
  Json root_ = {};
};

// ---- Writing

void append_escape(std::string& text, char32_t unit) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  text += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) text += kDigits[(unit >> shift) & 0xF];
}

void append_string(std::string& text, std::string_view value) {
  text += '"';
  for (const char32_t point : code_points(value)) {
    constexpr std::string_view kShort = "\"\\\b\f\n\r\t";
    constexpr std::string_view kLetters = "\"\\bfnrt";
    if (const size_t at = point < 0x80 ? kShort.find(static_cast<char>(point)) : std::string_view::npos;
        at != std::string_view::npos) {
      text += {'\\', kLetters[at]};
    } else if (point >= 0x20 && point < 0x7F) {
      text += static_cast<char>(point);
    } else if (point < 0x10000) {
      append_escape(text, point);
    } else {
      append_escape(text, 0xD800 + ((point - 0x10000) >> 10));
      append_escape(text, 0xDC00 + ((point - 0x10000) & 0x3FF));
    }
  }
  text += '"';
}

class Writer {
 public:
  explicit Writer(int indent) : indent_(indent) {}

  std::string take() { return std::move(text_); }

  void write(const Json& value) {
    if (value.is_null()) {
      text_ += "null";
    } else if (const bool* flag = value.flag()) {
      text_ += *flag ? "true" : "false";
    } else if (const int64_t* integer = value.integer()) {
      text_ += std::to_string(*integer);
    } else if (const double* number = value.number()) {
      text_ += to_text(*number);
    } else if (const BigInteger* big = value.big_integer()) {
      text_ += big->digits;
    } else if (const std::string* text = value.text()) {
      append_string(text_, *text);
    } else if (const Json::List* items = value.list()) {
      write_all(*items, "[]", [&](const Json& item) { write(item); });
    } else {
      write_all(*value.members(), "{}", [&](const Json::Member& member) {
        append_string(text_, member.first);
        text_ += ": ";
        write(member.second);
      });
    }
  }

 private:
  template <class Items, class One>
  void write_all(const Items& items, const char* brackets, const One& one) {
    text_ += brackets[0];
    if (!items.empty()) {
      ++level_;
      bool is_first = true;
      for (const auto& item : items) {
        if (!is_first) text_ += indent_ > 0 ? "," : ", ";
        is_first = false;
        new_line();
        one(item);
      }
      --level_;
      new_line();
    }
    text_ += brackets[1];
  }

  void new_line() {
    if (indent_ > 0) text_.append(1, '\n').append(static_cast<size_t>(indent_) * level_, ' ');
  }

  const int indent_;
  size_t level_ = 0;
  std::string text_;
};

// ---- For messages

void show(std::string& text, const Json& value);

void show_text(std::string& text, std::string_view value) {
  const bool has_quote = value.find('\'') != std::string_view::npos;
  const char quote = has_quote && value.find('"') == std::string_view::npos ? '"' : '\'';
  text += quote;
  for (const char32_t point : code_points(value.substr(0, 4 * (kShownMax + 1)))) {
    constexpr std::string_view kShort = "\\\n\r\t";
    constexpr std::string_view kLetters = "\\nrt";
    const size_t at = point < 0x80 ? kShort.find(static_cast<char>(point)) : std::string_view::npos;
    if (at != std::string_view::npos) {
      text += {'\\', kLetters[at]};
    } else if (point == static_cast<char32_t>(quote)) {
      text += {'\\', quote};
    } else if (point < 0x20 || point == 0x7F || is_surrogate(point)) {
      append_escape(text, point);
    } else {
      append_utf8(text, point);
    }
  }
  text += quote;
}

template <class Items, class One>
void show_all(std::string& text, const Items& items, const char* brackets, const One& one) {
  text += brackets[0];
  bool is_first = true;
  for (const auto& item : items) {
    if (text.size() > 4 * kShownMax) break;
    if (!is_first) text += ", ";
    is_first = false;
    one(item);
  }
  text += brackets[1];
}

void show(std::string& text, const Json& value) {
  if (value.is_null()) {
    text += "None";
  } else if (const bool* flag = value.flag()) {
    text += *flag ? "True" : "False";
  } else if (const double* number = value.number()) {
    text += std::isnan(*number) ? "nan" : std::isinf(*number) ? (*number > 0 ? "inf" : "-inf") : to_text(*number);
  } else if (const BigInteger* big = value.big_integer()) {
    text += big->digits.substr(0, 4 * kShownMax);
  } else if (const int64_t* integer = value.integer()) {
    text += std::to_string(*integer);
  } else if (const std::string* inner = value.text()) {
    show_text(text, *inner);
  } else if (const Json::List* items = value.list()) {
    show_all(text, *items, "[]", [&](const Json& item) { show(text, item); });
  } else {
    show_all(text, *value.members(), "{}", [&](const Json::Member& member) {
      show_text(text, member.first);
      text += ": ";
      show(text, member.second);
    });
  }
}

}  // namespace

// ---- Values

Json Json::object(Members members) {
  Json made;
  made.value_ = std::make_shared<const JsonObject>(std::move(members));
  return made;
}

Json Json::integers(const std::vector<int64_t>& numbers) { return List(numbers.begin(), numbers.end()); }

Json Json::texts(const std::vector<std::string>& texts) { return List(texts.begin(), texts.end()); }

const Json* Json::find(std::string_view key) const {
  const JsonObject* object = members();
  return object == nullptr ? nullptr : object->find(key);
}

Json Json::with(std::string_view key, Json value) const {
  const JsonObject* object = members();
  Members changed = object == nullptr ? Members{} : Members(object->begin(), object->end());
  const auto there = std::find_if(changed.begin(), changed.end(), [&](const Member& one) { return one.first == key; });
  if (there == changed.end()) {
    changed.emplace_back(key, std::move(value));
  } else {
    there->second = std::move(value);
  }
  return Json::object(std::move(changed));
}

Json Json::without(std::string_view key) const {
  const JsonObject* object = members();
  Members kept = object == nullptr ? Members{} : Members(object->begin(), object->end());
  std::erase_if(kept, [&](const Member& one) { return one.first == key; });
  return Json::object(std::move(kept));
}

bool Json::operator==(const Json& other) const {
  if (value_.index() != other.value_.index()) return false;
  if (const double* here = number()) {
    const double there = *other.number();
    return *here == there ? std::signbit(*here) == std::signbit(there) : std::isnan(*here) && std::isnan(there);
  }
  if (const BigInteger* big = big_integer()) return *big == *other.big_integer();
  if (const std::string* inner = text()) return *inner == *other.text();
  if (const List* items = list()) return items == other.list() || *items == *other.list();
  if (const JsonObject* object = members()) {
    const JsonObject& theirs = *other.members();
    return object == &theirs ||
           (object->size() == theirs.size() && std::all_of(object->begin(), object->end(), [&](const Member& member) {
              const Json* there = theirs.find(member.first);
              return there != nullptr && *there == member.second;
            }));
  }
  return value_ == other.value_;
}

JsonObject::JsonObject(Json::Members members) : members_(std::move(members)) {
  if (members_.size() <= kShortMembers) return;
  places_.reserve(members_.size());
  for (size_t i = 0; i < members_.size(); ++i) places_.emplace(members_[i].first, i);
}

const Json* JsonObject::find(std::string_view key) const {
  if (places_.empty()) {
    const auto found =
        std::find_if(members_.begin(), members_.end(), [&](const Json::Member& one) { return one.first == key; });
    return found == members_.end() ? nullptr : &found->second;
  }
  const auto found = places_.find(key);
  return found == places_.end() ? nullptr : &members_[found->second].second;
}

// ---- To and from text

Json parse_json(std::string_view text, const std::string& file) {
  Builder builder(file);
  const std::string standard = to_standard(text);
  const std::string_view parsed = standard.empty() ? text : std::string_view(standard);
  nlohmann::json::sax_parse(parsed.begin(), parsed.end(), &builder);
  return builder.take();
}

std::string to_text(const Json& value, int indent) {
  Writer writer(indent);
  writer.write(value);
  return writer.take();
}

std::string to_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  char digits[32];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value, std::chars_format::scientific);
  // the fewest digits that identify the number, as in Python
  const std::string_view shortest(digits, static_cast<size_t>(end - digits));
  const size_t letter = shortest.find('e');
  const int64_t exponent = std::strtol(std::string(shortest.substr(letter + 1)).c_str(), nullptr, 10);
  // "1e-05"; both languages write at least two digits
  if (exponent < -4 || exponent >= 16) return std::string(shortest);
  char fixed[400];
  const auto [fixed_end, fixed_error] = std::to_chars(fixed, fixed + sizeof fixed, value, std::chars_format::fixed);
  std::string text(fixed, fixed_end);
  return text.find('.') == std::string::npos ? text + ".0" : text;
}

std::string shown(const Json& value) {
  std::string text;
  show(text, value);
  const std::u32string points = code_points(text);
  if (points.size() <= kShownMax) return text;
  std::string cut;
  for (const char32_t point : std::u32string_view(points).substr(0, kShownMax)) append_utf8(cut, point);
  return cut + " ...";
}

std::string_view kind_in_words(const Json& value) {
  if (value.is_null()) return "null";
  if (value.flag() != nullptr) return "true or false";
  if (value.is_integer()) return "integer";
  if (value.number() != nullptr) return "float";
  if (value.text() != nullptr) return "string";
  return value.list() != nullptr ? "list" : "object";
}

}  // namespace swath::zarr
