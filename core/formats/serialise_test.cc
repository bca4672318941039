#include "formats/serialise.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/error.h"

namespace swath::formats {
namespace {

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

Attributes some_attributes() {
  return {{"units", "K"},
          {"names", std::vector<std::string>{"a", ""}},
          {"limit", NumbersValue{ElementType::parse(">i2"), {}, bytes_of("ab")}},
          {"limits", NumbersValue{ElementType::parse("<f4"), {2}, bytes_of("abcdefgh")}},
          {"json", JsonValue{"{\"a\":[1]}"}},
          {"nothing", NullValue{}}};
}

Description some_description(StorageLayout layout) {
  Description description;
  description.path = "run.nc";
  description.format = "hdf5";
  description.variable = "ocean/t";
  description.shape = {3, 0, 5};
  description.type.fields = {{"x", ElementType::parse("<M8[ns]"), 8, {2, 3}}};
  description.type.bytes = 56;
  description.layout = std::move(layout);
  description.fill = bytes_of("fill");
  description.attributes = some_attributes();
  description.end = 123456789012;
  description.dimensions = {"time", "y", ""};
  description.unlimited = {true, false, true};
  description.stored_shape = Shape{2, 0, 5};
  description.other_attributes = {{"reference", "an object reference"}};
  return description;
}

std::vector<StorageLayout> all_layouts() {
  const Codec blosc{.kind = CodecKind::kShuffle,
                    .level = 7,
                    .checksum = true,
                    .element_bytes = 4,
                    .compressor = "lz4",
                    .shuffle = 2,
                    .block_bytes = 4096};
  CodedLayout coded;
  coded.path = "run.zarr/t";
  coded.chunk_shape = {1, 2, 3};
  coded.order = {2, 0, 1};
  coded.codecs = {blosc, blosc};
  std::vector<StorageLayout> all{StridedLayout{128, {40, 8, 4}}, ChunkedLayout{{2, 2, 2}, {0, -1, 512}},
                                 TiledLayout{64, {4}}, LibraryLayout{"szip", Shape{4}, std::nullopt},
                                 LibraryLayout{"text", std::nullopt, std::vector<Codec>{blosc}}};
  for (const auto& layout :
       {std::variant<ChunkTable, ChunkFiles, Shards>(ChunkTable{{5, -1}, {7, 0}, {~0U, 0}}),
        std::variant<ChunkTable, ChunkFiles, Shards>(ChunkFiles{"c/", "/", "c"}),
        std::variant<ChunkTable, ChunkFiles, Shards>(Shards{{"", ".", "0"}, {8, 8, 8}, CodecChain({blosc}), false})}) {
    coded.places = layout;
    all.emplace_back(coded);
  }
  return all;
}

TEST(SerialiseTest, ADescriptionComesBackWithEveryMember) {
  for (const StorageLayout& layout : all_layouts()) {
    const Description description = some_description(layout);
    const Description back = parse_description(serialise(description));
    EXPECT_EQ(back.layout.index(), layout.index());
    EXPECT_EQ(serialise(back), serialise(description));
    EXPECT_EQ(back.name(), "run.nc:ocean/t");
    EXPECT_EQ(back.type, description.type);
    EXPECT_EQ(back.attributes, description.attributes);
    EXPECT_EQ(back.unlimited, description.unlimited);
    EXPECT_EQ(back.stored_shape, description.stored_shape);
  }
}

TEST(SerialiseTest, ContentsComeBackInTheirOrder) {
  Contents contents("netcdf4", "netCDF-4");
  contents.add(Group{.path = "b", .attributes = some_attributes()});
  contents.add(Group{.path = "a"});
  contents.set("b", {"time", 3, true});
  contents.add(Variable{.path = "b/t",
                        .shape = {3},
                        .type = ElementType::parse("<f4"),
                        .dimensions = {"time"},
                        .chunks = Shape{1},
                        .enumeration = Enumeration{"colour", {{"red", -1}, {"blue", 2}}},
                        .same_as = "a/t"});
  contents.add(Variable{.path = "x", .unsupported = "no words"});
  contents.set_other("link", "a link into another file");
  const Contents back = parse_contents(serialise(contents));
  EXPECT_EQ(serialise(back), serialise(contents));
  ASSERT_EQ(back.groups().size(), 3);
  EXPECT_EQ(back.groups()[1].path, "b");
  EXPECT_EQ(back.variable("b/t")->enumeration->members.front().second, -1);
  EXPECT_EQ(back.dimension("b", "time")->length, 3);
  EXPECT_EQ(back.others().at("link"), "a link into another file");
  EXPECT_FALSE(back.variable("x")->type.has_value());
}

TEST(SerialiseTest, BytesThatEndTooEarlyAreRefused) {
  const auto bytes = serialise(some_description(all_layouts().back()));
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_THROW(parse_description(std::span(bytes).first(length)), Error) << length;
  }
}

}  // namespace
}  // namespace swath::formats
