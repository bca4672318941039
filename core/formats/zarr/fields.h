// Metadata in JSON: a file that is read within bounds, and fields that are taken as what they are expected to be.
//
//     const Field array = read_json("a.zarr/zarr.json").value();
//     array.of("chunk_grid").of("configuration").of("chunk_shape").lengths(1)
//
// Whatever is there instead is an Error{kFormat} that names the file, the field, what was expected and what was found.
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

// Bytes of the largest file that is read: a lie in a large file must not take its size in memory.
inline constexpr int64_t kMetadataBytesMax = int64_t{1} << 26;
// Of an array: NumPy has no more.
inline constexpr size_t kDimensionsMax = 64;

// A value of a JSON file, and where it stands. One that is missing is null.
class Field {
 public:
  Field() = default;
  explicit Field(Json value, std::string file = "", std::string key = "")
      : value_(std::move(value)), file_(std::move(file)), key_(std::move(key)) {}

  const Json& value() const { return value_; }
  const std::string& file() const { return file_; }
  const std::string& key() const { return key_; }
  bool is_missing() const { return value_.is_null(); }

  // What to throw where the value is not `expected`.
  Error wrong(const std::string& expected) const;
  // What an object has under a key; null where there is no object either.
  Field of(std::string_view key) const;
  // The values of an object by their keys; none where it is missing.
  const JsonObject& members() const;
  // The fields of a list; none where it is missing.
  std::vector<Field> items() const;
  // The name and the configuration of what Zarr's version 3 calls an extension; a name alone has none.
  std::pair<std::string, Field> named() const;
  // A string, one of those allowed where any are named; `missing` where it is missing and that is given.
  std::string text(const std::vector<std::string_view>& allowed = {},
                   std::optional<std::string_view> missing = std::nullopt) const;
  int64_t integer(int64_t least, int64_t most, std::optional<int64_t> missing = std::nullopt) const;
  // True or false, which may be written 1 or 0; false where it is missing.
  bool flag() const;
  // A list of integers from `least` on, one a dimension of an array.
  Shape lengths(int64_t least) const;

 private:
  Json value_ = {};
  std::string file_ = {};
  std::string key_ = {};
};

// The object that a file of JSON holds; none where there is no such file. Throws Error{kFormat} for what is no JSON, or
// more than metadata can be, Error{kStore} where the system refuses.
std::optional<Field> read_json(const std::string& path);
// The bytes of such a file.
std::optional<std::string> read_metadata(const std::string& path);
Field parse_metadata(std::string_view text, const std::string& path);

}  // namespace swath::zarr
