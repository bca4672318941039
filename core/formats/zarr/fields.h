// Metadata in JSON: a reader of files of limited size, and fields whose types are checked.
//
//     const Field array = read_json("a.zarr/zarr.json").value();
//     array.of("chunk_grid").of("configuration").of("chunk_shape").lengths(1)
//
// A field of another type is an Error{kFormat} that names the file, the field, what was expected and what was found.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "formats/zarr/json.h"
#include "space/distribution.h"

namespace swath::zarr {

// The limit for the size of a file: a huge file with false metadata must not take its size in memory.
inline constexpr int64_t kMetadataBytesMax = int64_t{1} << 26;
// The limit for an array, as in NumPy.
inline constexpr size_t kDimensionsMax = 64;

// A value of a JSON file and its position, for errors. A missing value is null.
class Field {
 public:
  Field() = default;
  explicit Field(Json value, std::string file = "", std::string key = "")
      : value_(std::move(value)), file_(std::move(file)), key_(std::move(key)) {}

  const Json& value() const { return value_; }
  const std::string& file() const { return file_; }
  const std::string& key() const { return key_; }
  bool is_missing() const { return value_.is_null(); }

  // The error for a value that is not `expected`.
  Error wrong(const std::string& expected) const;
  // The value of a key in an object; null if there is no such key, or no object.
  Field of(std::string_view key) const;
  // The members of an object; none if it is missing.
  const JsonObject& members() const;
  // The fields of a list; none if it is missing.
  std::vector<Field> items() const;
  // The name and the configuration of an "extension" of version 3; a name alone has no configuration.
  std::pair<std::string, Field> named() const;
  // A string; if `allowed` is not empty, one of these; `missing` is the default for a missing value.
  std::string text(const std::vector<std::string_view>& allowed = {},
                   std::optional<std::string_view> missing = std::nullopt) const;
  int64_t integer(int64_t least, int64_t most, std::optional<int64_t> missing = std::nullopt) const;
  // True or false; 1 and 0 are accepted; false if it is missing.
  bool flag() const;
  // A list of integers of at least `least`, one for each dimension of an array.
  Shape lengths(int64_t least) const;

 private:
  Json value_ = {};
  std::string file_ = {};
  std::string key_ = {};
};

// The object in a JSON file; none if there is no such file. Throws Error{kFormat} if the file is no JSON or too large,
// Error{kStore} if the system refuses.
std::optional<Field> read_json(const std::string& path);
// The bytes of such a file.
std::optional<std::string> read_metadata(const std::string& path);
Field parse_metadata(std::string_view text, const std::string& path);

}  // namespace swath::zarr
