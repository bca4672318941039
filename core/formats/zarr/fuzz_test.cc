// Damaged and false metadata of Zarr give an error or a plausible description, never a crash.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "formats/zarr/arrays.h"
#include "formats/zarr/attributes.h"
#include "formats/zarr/dimensions.h"
#include "formats/zarr/nodes.h"

namespace swath::zarr {
namespace {

// The number of inputs takes seconds; SWATH_FUZZ_INPUTS sets another one.
int64_t mutations() {
  const char* asked = std::getenv("SWATH_FUZZ_INPUTS");
  return asked == nullptr ? 20'000 : std::strtoll(asked, nullptr, 10);
}

const std::vector<std::string>& whole_texts() {
  static const std::vector<std::string> texts = {
      R"({"zarr_format": 3, "node_type": "array", "shape": [5, 4], "data_type": "float64", "chunk_grid": {"name":
      "regular", "configuration": {"chunk_shape": [2, 3]}}, "chunk_key_encoding": {"name": "default"}, "fill_value":
      "NaN", "codecs": [{"name": "transpose", "configuration": {"order": [1, 0]}}, {"name": "bytes", "configuration":
      {"endian": "little"}}, {"name": "zstd", "configuration": {"level": 3, "checksum": false}}], "attributes":
      {"_FillValue": "AAAAAAAA+D8=", "units": "K", "w": [1, 2.5, NaN], "d": {"a": [null]}}, "dimension_names":
      ["y", "x"]})",
      R"({"zarr_format": 3, "node_type": "array", "shape": [8], "data_type": {"name": "struct", "configuration":
      {"fields": [["a", "int32"], {"name": "b", "data_type": "bool"}]}}, "chunk_grid": {"name": "regular",
      "configuration": {"chunk_shape": [4]}}, "chunk_key_encoding": {"name": "v2", "configuration": {"separator":
      "."}}, "fill_value": {"a": 1, "b": true}, "codecs": [{"name": "sharding_indexed", "configuration":
      {"chunk_shape": [2], "codecs": ["bytes", {"name": "blosc", "configuration": {"cname": "lz4", "clevel": 5,
      "shuffle": "shuffle", "typesize": 5, "blocksize": 0}}], "index_codecs": [{"name": "bytes"}, {"name":
      "crc32c"}], "index_location": "end"}}]})",
      R"({"zarr_format": 3, "node_type": "array", "shape": [3], "data_type": {"name": "numpy.datetime64",
      "configuration": {"unit": "s", "scale_factor": 25}}, "chunk_grid": {"name": "regular", "configuration":
      {"chunk_shape": [1]}}, "chunk_key_encoding": "default", "fill_value": "NaT", "codecs": ["bytes"]})",
      R"({"zarr_format": 3, "node_type": "group", "attributes": {"_nc_unlimited_dimensions": ["t"], "s": "\ud800"},
      "consolidated_metadata": {"kind": "inline", "must_understand": false, "metadata": {}}})",
      R"({"zarr_format": 2, "shape": [5, 4], "chunks": [2, 3], "dtype": ">i2", "fill_value": -9, "order": "F",
      "filters": [{"id": "shuffle", "elementsize": 2}], "compressor": {"id": "zlib", "level": 4},
      "dimension_separator": "/"})",
      R"({"zarr_format": 2, "shape": [5], "chunks": [2], "dtype": [["a", "<f8"], ["", "|V4"], ["b", [["c", "|S3"]],
      [2, 2]]], "fill_value": "AAAAAAAAAAAAAAAA", "order": "C", "filters": null, "compressor": {"id": "lz4",
      "acceleration": 1}})",
      R"({"zarr_format": 2, "shape": [2], "chunks": [1], "dtype": "<U3", "fill_value": "", "order": "C", "filters":
      [{"id": "vlen-utf8"}], "compressor": null})"};
  return texts;
}

constexpr std::array<std::string_view, 34> kWords = {"null",
                                                     "true",
                                                     "0",
                                                     "-1",
                                                     "3",
                                                     "1.5",
                                                     "1e400",
                                                     "NaN",
                                                     "-Infinity",
                                                     "2147483648",
                                                     "9223372036854775807",
                                                     "18446744073709551616",
                                                     "1e-400",
                                                     "\"\"",
                                                     "\"x\"",
                                                     "\"\\ud800\"",
                                                     "\"bytes\"",
                                                     "\"|O\"",
                                                     "\"<M8[9999999999s]\"",
                                                     "\"0x\"",
                                                     "\"|V2147483647\"",
                                                     "\"string\"",
                                                     "[]",
                                                     "[1]",
                                                     "[[]]",
                                                     "[1099511627776, 1099511627776]",
                                                     "[[\"a\", \"<f8\", [1000000000000]]]",
                                                     "{}",
                                                     "{\"name\": 5}",
                                                     "{\"id\": \"pickle\"}",
                                                     "\"r64\"",
                                                     "\"transpose\"",
                                                     "\"sharding_indexed\"",
                                                     "{\"name\": \"bytes\", \"configuration\": 5}"};

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed) {}

  std::string next() {
    std::string text = whole_texts()[below(whole_texts().size())];
    for (size_t times = 1 + below(3); times > 0; --times) mutate(text);
    return text;
  }

 private:
  size_t below(size_t count) { return count == 0 ? 0 : random_() % count; }

  // Replaces the text between a colon, comma or bracket and the next one: at most one value.
  void replace_value(std::string& text) {
    const size_t begin = text.find_first_of(":,[", below(text.size()));
    if (begin == std::string::npos) return;
    const size_t end = text.find_first_of(",]}", begin + 1);
    if (end != std::string::npos) text.replace(begin + 1, end - begin - 1, kWords[below(kWords.size())]);
  }

  void mutate(std::string& text) {
    const size_t at = below(text.size());
    switch (below(8)) {
      case 0:
        if (!text.empty()) text[at] = static_cast<char>(random_());
        break;
      case 1:
        text.erase(at, below(20));
        break;
      case 2:
        text.insert(at, text.substr(below(text.size()), below(40)));
        break;
      case 3:
        text.insert(at, std::string(below(200), below(2) == 0 ? '[' : '9'));
        break;
      default:
        replace_value(text);
    }
  }

  std::mt19937_64 random_;
};

void check(const formats::Description& found) {
  ASSERT_LE(found.shape.size(), kDimensionsMax);
  for (const int64_t length : found.shape) ASSERT_GE(length, 0);
  ASSERT_TRUE(found.dimensions.empty() || found.dimensions.size() == found.shape.size());
  const auto* coded = std::get_if<formats::CodedLayout>(&found.layout);
  if (coded == nullptr) return;
  ASSERT_GT(found.type.bytes, 0);
  ASSERT_EQ(static_cast<int64_t>(found.fill.size()), found.type.bytes);
  ASSERT_EQ(coded->chunk_shape.size(), found.shape.size());
  ASSERT_EQ(coded->order.size(), found.shape.size());
  for (const int64_t length : coded->chunk_shape) ASSERT_GE(length, 1);
}

// Does with one metadata file what a read of the store does.
bool is_described(const std::string& text) {
  const Field metadata = parse_metadata(text, "a.zarr/zarr.json");
  const bool is_v2 = metadata.value().find("chunks") != nullptr;
  if (!is_v2) metadata.of("zarr_format").integer(3, 3);
  const bool is_array = is_v2 || metadata.of("node_type").text({"array", "group"}) == "array";
  const Node node{"a.zarr", "", is_v2 ? 2 : 3, is_array, metadata, is_v2 ? Field() : metadata.of("attributes")};
  if (!is_array) {
    typed_attributes(node);
    node.unlimited();
    return true;
  }
  variables_of({node});
  Dimensions({node}).paths();
  const formats::Description found = describe(node, std::nullopt);
  check(found);
  return true;
}

TEST(ZarrFuzzTest, MutatedMetadataAreAnErrorOrADescriptionThatCanBe) {
  const auto attempt = [](const std::string& text) {
    try {
      return is_described(text);
    } catch (const Error& error) {
      EXPECT_TRUE(error.kind() == ErrorKind::kFormat || error.kind() == ErrorKind::kUnsupported) << error.what();
      EXPECT_LT(std::string(error.what()).size(), 2000) << text;
      return false;
    }
  };
  for (const std::string& text : whole_texts()) EXPECT_TRUE(attempt(text)) << text;
  Mutator mutator(26);
  int64_t described = 0;
  const int64_t count = mutations();
  for (int64_t i = 0; i < count; ++i) {
    const std::string text = mutator.next();
    described += attempt(text) ? 1 : 0;
    if (HasFatalFailure() || HasNonfatalFailure()) FAIL() << "mutation " << i << ": " << text;
  }
  EXPECT_GT(described, count / 50) << "a mutation is small";
  EXPECT_LT(described, count);
}

}  // namespace
}  // namespace swath::zarr
