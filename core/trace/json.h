// Writes the members of one JSON object into a text, in the order in which they are put: no tree is built, as an event
// of a trace may follow the last one after microseconds. nlohmann-json escapes the strings.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace swath::trace {

// Appends a JSON string: quoted, and escaped if that is needed. Bytes that are not UTF-8 become U+FFFD.
void append_quoted(std::string& text, std::string_view value);

class JsonObject {
 public:
  // Appends to `text`, which must outlive the object. The destructor closes the object.
  explicit JsonObject(std::string& text) : text_(text) { text_ += '{'; }
  ~JsonObject() { text_ += '}'; }
  JsonObject(const JsonObject&) = delete;
  JsonObject& operator=(const JsonObject&) = delete;

  // Names are literals that need no escapes.
  void put(std::string_view name, std::string_view value);
  void put(std::string_view name, int64_t value);
  // Numbers that are not finite become null: JSON has none of them.
  void put(std::string_view name, double value);
  // `json` is a JSON value already.
  void put_json(std::string_view name, std::string_view json);
  // The value of the member is appended to the returned text.
  std::string& begin(std::string_view name);

 private:
  std::string& text_;
  bool is_empty_ = true;
};

}  // namespace swath::trace
