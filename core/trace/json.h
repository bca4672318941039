// Writes the members of a JSON object directly into a text, in the order of the calls. It builds no tree, since events
// may be microseconds apart. nlohmann-json escapes the strings.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace swath::trace {

// Appends a JSON string, quoted and escaped. Bytes that are not UTF-8 become U+FFFD.
void append_quoted(std::string& text, std::string_view value);

class JsonObject {
 public:
  // Appends to `text`, which must outlive the object. The destructor closes the object.
  explicit JsonObject(std::string& text) : text_(text) { text_ += '{'; }
  ~JsonObject() { text_ += '}'; }
  JsonObject(const JsonObject&) = delete;
  JsonObject& operator=(const JsonObject&) = delete;

  // Names are string literals that need no escapes.
  void put(std::string_view name, std::string_view value);
  void put(std::string_view name, int64_t value);
  // Infinities and NaN become null, since JSON has no such numbers.
  void put(std::string_view name, double value);
  // `json` is a JSON value already.
  void put_json(std::string_view name, std::string_view json);
  // Begins a member; the caller appends its value to the returned text.
  std::string& begin(std::string_view name);

 private:
  std::string& text_;
  bool is_empty_ = true;
};

}  // namespace swath::trace
