// JSON as Python reads and writes it: nlohmann-json parses the grammar, and this file adds what Zarr's metadata have
// beyond it.
//
//     const Json metadata = parse_json(text, "run.zarr/zarr.json");
//     metadata.find("shape")->list()
//     to_text(metadata.with("shape", shape), 2)      // as json.dumps(…, indent=2) writes it
//
// Beyond the standard, as other libraries write such metadata: NaN, Infinity and -Infinity; integers of any length;
// numbers that are too large for a double, which become infinite; strings with halves of surrogate pairs, which are
// kept as three bytes each ("WTF-8").
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace swath::zarr {

class Json;
class JsonObject;

// The digits of an integer that does not fit into 64 bits.
struct BigInteger {
  std::string digits = {};
  bool operator==(const BigInteger& other) const = default;
};

// A value that never changes: copies share its content.
class Json {
 public:
  using List = std::vector<Json>;
  using Member = std::pair<std::string, Json>;
  using Members = std::vector<Member>;

  Json() = default;  // null
  Json(bool value) : value_(value) {}
  Json(int64_t value) : value_(value) {}
  Json(int value) : value_(int64_t{value}) {}
  Json(double value) : value_(value) {}
  Json(std::string value) : value_(std::make_shared<const std::string>(std::move(value))) {}
  Json(std::string_view value) : Json(std::string(value)) {}
  Json(const char* value) : Json(std::string(value)) {}
  Json(BigInteger value) : value_(std::make_shared<const BigInteger>(std::move(value))) {}
  Json(List items) : value_(std::make_shared<const List>(std::move(items))) {}
  static Json object(Members members);  // the keys must differ
  static Json object(std::initializer_list<Member> members) { return object(Members(members)); }
  static Json integers(const std::vector<int64_t>& numbers);
  static Json texts(const std::vector<std::string>& texts);

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  // true and false are not integers
  bool is_integer() const { return integer() != nullptr || big_integer() != nullptr; }
  bool is_number() const { return is_integer() || number() != nullptr; }
  // Each returns null if the value has another type.
  const bool* flag() const { return std::get_if<bool>(&value_); }
  const int64_t* integer() const { return std::get_if<int64_t>(&value_); }
  const double* number() const { return std::get_if<double>(&value_); }
  const BigInteger* big_integer() const { return shared<BigInteger>(); }
  const std::string* text() const { return shared<std::string>(); }
  const List* list() const { return shared<List>(); }
  const JsonObject* members() const { return shared<JsonObject>(); }

  // The value of a key in an object; null if there is no such key, or no object.
  const Json* find(std::string_view key) const;
  // The object with another value for a key: a new key is appended.
  Json with(std::string_view key, Json value) const;
  Json without(std::string_view key) const;

  // Equal values have the same type; NaN equals NaN. The order of an object's members does not matter.
  bool operator==(const Json& other) const;

 private:
  template <class T>
  const T* shared() const {
    const auto* found = std::get_if<std::shared_ptr<const T>>(&value_);
    return found == nullptr ? nullptr : found->get();
  }

  std::variant<std::monostate, bool, int64_t, double, std::shared_ptr<const BigInteger>,
               std::shared_ptr<const std::string>, std::shared_ptr<const List>, std::shared_ptr<const JsonObject>>
      value_ = {};
};

// In the order of the text. A key is found in constant time.
class JsonObject {
 public:
  explicit JsonObject(Json::Members members);
  JsonObject(const JsonObject&) = delete;
  JsonObject& operator=(const JsonObject&) = delete;

  const Json* find(std::string_view key) const;
  size_t size() const { return members_.size(); }
  bool empty() const { return members_.empty(); }
  auto begin() const { return members_.begin(); }
  auto end() const { return members_.end(); }

 private:
  const Json::Members members_;
  std::unordered_map<std::string_view, size_t> places_ = {};  // for objects that are not short
};

// The maximum of the levels of nested lists and objects.
inline constexpr int kDepthMax = 64;

// Throws Error{kFormat}, which names the file, if the text is no JSON, if an object has a key twice, or if lists and
// objects are nested more than kDepthMax deep.
Json parse_json(std::string_view text, const std::string& file);

// The text that Python's json.dumps writes, in ASCII. `indent`: spaces for each level; 0: one line.
std::string to_text(const Json& value, int indent);
// The value for messages, as Python shows it, at most about 100 characters.
std::string shown(const Json& value);
// "an object", "a list", "a string" and so on.
std::string_view kind_in_words(const Json& value);
// A double as Python writes it: 1.0, 1e-05, 1e+16, NaN.
std::string to_text(double value);

}  // namespace swath::zarr
