#include "formats/zarr/new_metadata.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "formats/default_chunks.h"
#include "formats/zarr/arrays.h"
#include "formats/zarr/attributes.h"
#include "formats/zarr/codecs.h"
#include "formats/zarr/elements.h"

namespace swath::zarr {
namespace {

using formats::Attributes;
using formats::AttributeValue;
using formats::NewArray;

// The least bytes of a default chunk in a shard: with smaller chunks, the index would be a large part of the shard.
constexpr int64_t kSharedChunkBytesMin = int64_t{1} << 10;
constexpr int kTextLevel = 5;  // of gzip, the default for text: every reader has it

// ---- Chunks

// The largest divisor that is at most half of the length, if it is above length / 65536; else 1.
int64_t largest_part(int64_t length) {
  constexpr int64_t kDivisorMax = int64_t{1} << 16;
  for (int64_t n = 2; n <= kDivisorMax && n <= length / n; ++n) {
    if (length % n == 0) return length / n;
  }
  return 1;
}

void check_lengths(const char* words, const std::optional<Shape>& given, const Shape& shape) {
  if (!given) return;
  const bool are_positive = std::all_of(given->begin(), given->end(), [](int64_t length) { return length >= 1; });
  if (given->size() == shape.size() && are_positive) return;
  fail_argument(std::string(words) + " " + to_string(*given) + ": expected one positive length for each of " +
                to_string(shape));
}

Shape chunks_of_shard(const Shape& shard, int64_t element_bytes) {
  Shape chunks = formats::default_chunks(shard, element_bytes, kChunkBytes, largest_part);
  const int64_t bytes = formats::bytes_of_box(chunks, element_bytes);
  if (bytes < std::min(kSharedChunkBytesMin, formats::bytes_of_box(shard, element_bytes))) {
    fail_argument("shards " + to_string(shard) + ": no chunks of a good size divide them, the best have " +
                  std::to_string(bytes) + " bytes; give chunks=, or shards whose lengths have small divisors");
  }
  return chunks;
}

// The shape with 0 for the dimensions that will grow.
Shape first_shape(const NewArray& array) {
  Shape shape = array.shape;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (array.grows(axis)) shape[axis] = 0;
  }
  return shape;
}

// ---- Codecs

std::vector<Codec> codecs_of(const NewArray& array) {
  if (array.codecs) return *array.codecs;
  return {codec_of("zstd", Field(), array.type.bytes)};
}

std::vector<int> order_of(const NewArray& array) {
  return array.order.empty() ? c_order(array.shape.size()) : array.order;
}

// ---- Arrays

struct Metadata {
  Json metadata = {};
  Json::Members attributes;
};

Json bytes_codec(const ElementType& type) {
  if (!type.has_byte_order()) return Json::object({{"name", "bytes"}});
  const Json endian = type.is_big_endian ? "big" : "little";
  return Json::object({{"name", "bytes"}, {"configuration", Json::object({{"endian", endian}})}});
}

Json sharding_codec(const Shape& chunks, Json::List inner) {
  const Json little = Json::object({{"endian", "little"}});
  const Json index =
      Json::List{Json::object({{"name", "bytes"}, {"configuration", little}}), Json::object({{"name", "crc32c"}})};
  const Json settings = Json::object({{"chunk_shape", Json::integers(chunks)},
                                      {"codecs", std::move(inner)},
                                      {"index_codecs", index},
                                      {"index_location", "end"}});
  return Json::object({{"name", "sharding_indexed"}, {"configuration", settings}});
}

Json regular_grid(const Shape& chunks) {
  return Json::object(
      {{"name", "regular"}, {"configuration", Json::object({{"chunk_shape", Json::integers(chunks)}})}});
}

Json default_keys() {
  return Json::object({{"name", "default"}, {"configuration", Json::object({{"separator", "/"}})}});
}

Json with_names(Json metadata, const NewArray& array) {
  if (!array.dimensions) return metadata;
  return metadata.with("dimension_names", Json::texts(*array.dimensions));
}

Json new_v3(const NewArray& array, const Json& fill) {
  const auto [chunks, shards] = chunks_and_shards(first_shape(array), array.type.bytes, array.chunks, array.shards);
  Json::List codecs;
  if (const std::vector<int> order = order_of(array); order != c_order(array.shape.size())) {
    const Json settings = Json::object({{"order", Json::integers({order.begin(), order.end()})}});
    codecs.push_back(Json::object({{"name", "transpose"}, {"configuration", settings}}));
  }
  codecs.push_back(bytes_codec(array.type));
  std::vector<Codec> coding = codecs_of(array);
  if (array.only_registered_codecs) {
    coding = registered(coding, formats::bytes_of_box(chunks, array.type.bytes));
  }
  for (const Codec& codec : coding) codecs.push_back(codec_to_v3(codec));
  if (shards) codecs = {sharding_codec(chunks, std::move(codecs))};
  return with_names(Json::object({{"zarr_format", 3},
                                  {"node_type", "array"},
                                  {"shape", Json::integers(array.shape)},
                                  {"data_type", type_to_v3(array.type)},
                                  {"chunk_grid", regular_grid(shards ? *shards : chunks)},
                                  {"chunk_key_encoding", default_keys()},
                                  {"fill_value", fill},
                                  {"codecs", std::move(codecs)}}),
                    array);
}

// `.zarray`. Its `fill_value` is null unless a value marks missing data: xarray reads any other value as _FillValue, so
// that zeros would be missing data.
Json new_v2(const NewArray& array, const std::optional<Bytes>& missing) {
  const auto [chunks, shards] = chunks_and_shards(first_shape(array), array.type.bytes, array.chunks, array.shards);
  if (shards) fail_argument("Zarr version 2 has no shards; leave out shards=, or create version 3");
  const std::vector<int> in_c = c_order(array.shape.size());
  const std::vector<int> order = order_of(array);
  if (order != in_c && !std::equal(order.rbegin(), order.rend(), in_c.begin(), in_c.end())) {
    fail_argument("Zarr version 2 stores chunks in C or F order, not " + to_string(Shape(order.begin(), order.end())) +
                  "; create version 3");
  }
  const Json fill = missing ? fill_to_json(*missing, array.type) : Json();
  if (array.fill) {
    const Json asked = fill_to_json(*array.fill, array.type);
    if (!(asked == fill)) {
      fail_argument("Zarr version 2 has one fill value: fill= is " + to_text(asked, 0) + ", " + std::string(kFill) +
                    " among the attributes is " + to_text(fill, 0));
    }
  }
  Json::List filters;
  for (const Codec& codec : codecs_of(array)) filters.push_back(codec_to_v2(codec));
  Json compressor;
  if (!filters.empty()) {
    compressor = filters.back();
    filters.pop_back();
  }
  return Json::object({{"zarr_format", 2},
                       {"shape", Json::integers(array.shape)},
                       {"chunks", Json::integers(chunks)},
                       {"dtype", type_to_v2(array.type)},
                       {"fill_value", fill},
                       {"order", order == in_c ? "C" : "F"},
                       {"filters", filters.empty() ? Json() : Json(std::move(filters))},
                       {"compressor", compressor},
                       {"dimension_separator", "."}});
}

// The metadata of text of variable length, which has chunks unless it is a scalar.
Json new_text(const NewArray& array, int version, const Json& missing) {
  const Json shape = Json::integers(array.shape);
  const Shape chunks = array.chunks.value_or(Shape{});
  const Json gzip = Json::object({{"level", kTextLevel}});
  if (version == 2) {
    return Json::object({{"zarr_format", 2},
                         {"shape", shape},
                         {"chunks", Json::integers(chunks)},
                         {"dtype", "|O"},
                         {"fill_value", missing},
                         {"order", "C"},
                         {"filters", Json::List{Json::object({{"id", "vlen-utf8"}})}},
                         {"compressor", Json::object({{"id", "gzip"}, {"level", kTextLevel}})},
                         {"dimension_separator", "."}});
  }
  const Json codecs =
      Json::List{Json::object({{"name", "vlen-utf8"}}), Json::object({{"name", "gzip"}, {"configuration", gzip}})};
  return with_names(Json::object({{"zarr_format", 3},
                                  {"node_type", "array"},
                                  {"shape", shape},
                                  {"data_type", "string"},
                                  {"chunk_grid", regular_grid(chunks)},
                                  {"chunk_key_encoding", default_keys()},
                                  {"fill_value", ""},
                                  {"codecs", codecs}}),
                    array);
}

Metadata new_array_of_text(const NewArray& array, int version, const Attributes& own) {
  Json missing;
  if (const AttributeValue* value = array.attributes.find(std::string(kFill))) {
    const auto* text = std::get_if<std::string>(value);
    if (text == nullptr) fail_argument(std::string(kFill) + " of text is no text");
    missing = *text;
  }
  Metadata found{.attributes = attributes_to_json(own)};
  if (version == 3 && !missing.is_null()) found.attributes.emplace_back(kFill, missing);
  found.metadata = new_text(array, version, missing);
  return found;
}

Metadata new_array_of_elements(const NewArray& array, int version, const Attributes& own) {
  std::optional<Bytes> missing = array.marks_fill ? array.fill : std::nullopt;
  if (const AttributeValue* value = array.attributes.find(std::string(kFill))) missing = element_of(*value, array.type);
  Metadata found{.attributes = attributes_to_json(own)};
  if (version == 2) {
    found.metadata = new_v2(array, missing);
    return found;
  }
  const std::optional<Bytes>& filled = array.fill ? array.fill : missing;
  found.metadata =
      new_v3(array, fill_to_json(filled.value_or(Bytes(static_cast<size_t>(array.type.bytes))), array.type));
  const std::optional<Json> mark = missing ? fill_attribute(*missing, array.type) : std::nullopt;
  if (mark) found.attributes.emplace_back(kFill, *mark);
  return found;
}

}  // namespace

int version_of(std::string_view flavour) { return flavour == "v2" ? 2 : 3; }

std::pair<Shape, std::optional<Shape>> chunks_and_shards(const Shape& shape, int64_t element_bytes,
                                                         const std::optional<Shape>& chunks,
                                                         const std::optional<Shape>& shards) {
  check_lengths("chunks", chunks, shape);
  check_lengths("shards", shards, shape);
  if (!shards) return {chunks ? *chunks : formats::default_chunks(shape, element_bytes, kChunkBytes), std::nullopt};
  Shape chunk = chunks ? *chunks : chunks_of_shard(*shards, element_bytes);
  for (size_t i = 0; i < chunk.size(); ++i) {
    if ((*shards)[i] % chunk[i] == 0) continue;
    fail_argument("shards " + to_string(*shards) + " are not whole chunks of " + to_string(chunk));
  }
  return {std::move(chunk), shards};
}

Node new_group(const std::string& path, const std::string& name, int version, const Names& grows) {
  const Json metadata =
      version == 2 ? Json::object({{"zarr_format", 2}}) : Json::object({{"zarr_format", 3}, {"node_type", "group"}});
  Json::Members attributes;
  if (!grows.empty()) attributes.emplace_back(kUnlimited, Json::texts({grows.begin(), grows.end()}));
  return {path, name, version, false, Field(metadata), Field(Json::object(std::move(attributes)))};
}

Node new_array(const std::string& path, const std::string& name, int version, const NewArray& array) {
  Attributes own = array.attributes;
  own.remove(std::string(kFill));
  Metadata made =
      array.type.is_text() ? new_array_of_text(array, version, own) : new_array_of_elements(array, version, own);
  if (version == 2 && array.dimensions) made.attributes.emplace_back(kDimensionsOfV2, Json::texts(*array.dimensions));
  return {path, name, version, true, Field(made.metadata), Field(Json::object(std::move(made.attributes)))};
}

Node with_fill(const Node& node, const AttributeValue& value) {
  const Stored where = stored(node);
  if (!where.type || where.type->is_text()) {
    throw Error(ErrorKind::kUnsupported,
                node.folder() + ": Swath sets no " + std::string(kFill) + " of text of variable length");
  }
  std::optional<Bytes> fill;
  if (!std::holds_alternative<formats::NullValue>(value)) fill = element_of(value, *where.type);
  const Json attributes = node.attributes.value().without(kFill);
  if (node.version == 3) {
    const std::optional<Json> mark = fill ? fill_attribute(*fill, *where.type) : std::nullopt;
    return node.with_attributes(mark ? attributes.with(kFill, *mark) : attributes);
  }
  const Json encoded = fill ? fill_to_json(*fill, *where.type) : Json();
  return node.with_attributes(attributes).with_metadata(node.metadata.value().with("fill_value", encoded));
}

}  // namespace swath::zarr
