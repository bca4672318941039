#include "formats/zarr/fields.h"

#include <algorithm>
#include <limits>

#include "formats/zarr/files.h"
#include "formats/zarr/unicode.h"

namespace swath::zarr {

Error Field::wrong(const std::string& expected) const {
  const std::string found = is_missing() ? "nothing" : shown(value_);
  std::string where;
  for (const std::string& part : {file_, key_}) {
    if (!part.empty()) where += part + ": ";
  }
  return {ErrorKind::kFormat, where + "expected " + expected + ", found " + found};
}

Field Field::of(std::string_view key) const {
  const Json* found = members().find(key);
  return Field(found == nullptr ? Json() : *found, file_,
               key_.empty() ? std::string(key) : key_ + "." + std::string(key));
}

const JsonObject& Field::members() const {
  static const JsonObject none{Json::Members{}};
  if (is_missing()) return none;
  if (value_.members() == nullptr) throw wrong("an object");
  return *value_.members();
}

std::vector<Field> Field::items() const {
  if (is_missing()) return {};
  if (value_.list() == nullptr) throw wrong("a list");
  std::vector<Field> found;
  for (const Json& item : *value_.list()) {
    found.emplace_back(item, file_, key_ + "[" + std::to_string(found.size()) + "]");
  }
  return found;
}

std::pair<std::string, Field> Field::named() const {
  if (value_.text() != nullptr) return {text(), Field(Json(), file_, key_ + ".configuration")};
  Field settings = of("configuration");
  settings.members();  // throws if it is neither an object nor missing
  return {of("name").text(), std::move(settings)};
}

std::string Field::text(const std::vector<std::string_view>& allowed, std::optional<std::string_view> missing) const {
  if (is_missing() && missing) return std::string(*missing);
  std::string expected = allowed.empty() ? "a string" : "one of ";
  for (const std::string_view one : allowed) {
    expected += (one == allowed.front() ? "'" : ", '") + std::string(one) + "'";
  }
  const std::string* found = value_.text();
  if (found == nullptr || (!allowed.empty() && std::find(allowed.begin(), allowed.end(), *found) == allowed.end())) {
    throw wrong(expected);
  }
  if (!is_unicode(*found)) throw wrong("a string of Unicode, without halves of surrogate pairs");
  return *found;
}

int64_t Field::integer(int64_t least, int64_t most, std::optional<int64_t> missing) const {
  if (is_missing() && missing) return *missing;
  const int64_t* found = value_.integer();
  if (found == nullptr || *found < least || *found > most) {
    throw wrong(least < most ? "an integer from " + std::to_string(least) + " to " + std::to_string(most)
                             : std::to_string(least));
  }
  return *found;
}

bool Field::flag() const {
  if (is_missing()) return false;
  if (const bool* found = value_.flag()) return *found;
  const int64_t* found = value_.integer();
  if (found == nullptr || (*found != 0 && *found != 1)) throw wrong("true or false");
  return *found == 1;
}

Shape Field::lengths(int64_t least) const {
  if (value_.list() == nullptr || value_.list()->size() > kDimensionsMax) {
    throw wrong("a list of integers, one a dimension, of which there are at most " + std::to_string(kDimensionsMax));
  }
  Shape found;
  for (const Field& item : items()) found.push_back(item.integer(least, std::numeric_limits<int64_t>::max()));
  return found;
}

Field parse_metadata(std::string_view text, const std::string& path) {
  Json value = parse_json(text, path);
  if (value.members() == nullptr) {
    throw Error(ErrorKind::kFormat, path + ": expected an object of JSON, not " + std::string(kind_in_words(value)));
  }
  return Field(std::move(value), path);
}

std::optional<std::string> read_metadata(const std::string& path) {
  std::optional<ReadFile> found = read_file(path, kMetadataBytesMax);
  if (!found) return std::nullopt;
  if (found->size > kMetadataBytesMax) {
    throw Error(ErrorKind::kFormat, path + ": " + std::to_string(found->size) +
                                        " bytes are more than metadata take (at most " +
                                        std::to_string(kMetadataBytesMax) + ")");
  }
  return std::move(found->bytes);
}

std::optional<Field> read_json(const std::string& path) {
  const std::optional<std::string> text = read_metadata(path);
  if (!text) return std::nullopt;
  return parse_metadata(*text, path);
}

}  // namespace swath::zarr
