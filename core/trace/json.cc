#include "trace/json.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace swath::trace {

void append_quoted(std::string& text, std::string_view value) {
  using Library = nlohmann::json;
  text += Library(value).dump(-1, ' ', false, Library::error_handler_t::replace);
}

std::string& JsonObject::begin(std::string_view name) {
  if (!is_empty_) text_ += ',';
  is_empty_ = false;
  text_ += '"';
  text_ += name;
  text_ += "\":";
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
