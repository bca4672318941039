// The positions of elements that a format reports: elements that are written there are read back after the file is
// opened again, and nothing else changes.
#include <set>

#include "formats/contract_for_tests.h"

namespace swath::formats {
namespace {

class ContractOfPlaces : public ContractTest {
 protected:
  // Arrays of several shapes and types, whose shapes the chunks do not divide; some of them grow.
  std::vector<NewArray> several() const {
    if (!can().has_names) return {array("", {5, 7})};
    std::vector<NewArray> found{
        along({"y", "x"}, array("a", {5, 7})),      along({}, array("scalar", {}, "<f8")),
        along({"one"}, array("one", {1}, "|i1")),   growing("t", {"time", "x"}, {3, 7}, "<i2"),
        growing("u", {"time", "y"}, {3, 5}, "|i1"), along({"z", "y", "x"}, array("last", {3, 5, 7}, ">i2"))};
    return found;
  }

  void make(const std::vector<NewArray>& arrays) {
    create(NewContents{.arrays = arrays});
    if (!can().has_names) return;
    change([&](FormatFile& file) {
      for (const NewArray& array : arrays) file.allocate(array.path());
    });
  }

  // The bytes of all files, with the bytes of these elements set to zero.
  static Tree without(Tree tree, const std::vector<ElementPosition>& places, int64_t bytes) {
    for (const ElementPosition& place : places) {
      std::string& content = tree[place.file];
      const auto end = static_cast<size_t>(place.offset + bytes);
      if (content.size() < end) content.resize(end);
      std::fill_n(content.begin() + place.offset, bytes, '\0');
    }
    return tree;
  }
};

TEST_P(ContractOfPlaces, ElementsAreReadWhereTheyWereWrittenAndNothingElseChanges) {
  const std::vector<NewArray> arrays = several();
  make(arrays);
  if (!places_of(described(arrays.front().path()))) GTEST_SKIP() << "its elements are coded";
  std::map<std::string, std::string> written;
  for (const NewArray& array : arrays) {
    const Description found = described(array.path());
    const auto places = places_of(found);
    ASSERT_TRUE(places) << array.path();
    const Tree before = without(tree_of(path_), *places, found.type.bytes);
    written[array.path()] = numbered(found, static_cast<int>(written.size()));
    write_elements(found, written[array.path()]);
    Tree after = without(tree_of(path_), *places, found.type.bytes);
    for (auto& [file, content] : after) {  // a chunk of a store is a file, and its end may be missing
      if (!file.empty() && before.contains(file)) content.resize(std::max(content.size(), before.at(file).size()));
    }
    EXPECT_EQ(after, before) << array.path();
  }
  for (const auto& [name, bytes] : written) EXPECT_EQ(read_elements(described(name)), bytes) << name;
}

TEST_P(ContractOfPlaces, NoTwoElementsShareAByte) {
  const std::vector<NewArray> arrays = several();
  make(arrays);
  if (!places_of(described(arrays.front().path()))) GTEST_SKIP() << "its elements are coded";
  std::set<ElementPosition> bytes;
  size_t count = 0;
  for (const NewArray& array : arrays) {
    const Description found = described(array.path());
    const auto places = places_of(found);
    ASSERT_TRUE(places) << array.path();
    for (const ElementPosition& place : *places) {
      for (int64_t i = 0; i < found.type.bytes; ++i, ++count) bytes.insert({place.file, place.offset + i});
      EXPECT_TRUE(format().is_folder() || place.offset + found.type.bytes <= found.end) << array.path();
    }
  }
  EXPECT_EQ(bytes.size(), count);
}

TEST_P(ContractOfPlaces, WhatNobodyWroteIsTheFillValueWhereItHasAPlace) {
  if (!can().has_names) GTEST_SKIP() << "it has no fill values";
  NewArray asked = growing("t", {"time", "x"}, {0, 7}, "<i2");
  asked.fill = {{std::byte{7}, std::byte{1}}};
  if (!format().fills_rows()) GTEST_SKIP() << "whoever calls it fills rows";
  create(asked);
  change([&](FormatFile& file) {
    file.set_length("time", 5);
    const Description all = file.allocate("t");
    EXPECT_EQ(all.shape, (Shape{5, 7}));
    if (!places_of(all)) return;
    std::string expected;
    for (int i = 0; i < 35; ++i) expected += "\7\1";
    EXPECT_EQ(read_elements(all), expected);
  });
  EXPECT_EQ(described("t").shape, (Shape{5, 7}));
}

TEST_P(ContractOfPlaces, CodedChunksGetPlacesThatNobodyElseHas) {
  if (!can().keeps_chunk_tables || GetParam().stored != Stored::kCoded) GTEST_SKIP() << "it keeps no table of them";
  create(NewContents{.arrays = {growing("t", {"time", "x"}, {0, 7}), array("a", {5, 7})}});
  std::vector<int64_t> offsets;
  change([&](FormatFile& file) {
    const std::vector<NewChunk> chunks{{{0, 0}, 10, 0, false}, {{1, 0}, 20, 1, false}, {{1, 2}, 7, 3, false}};
    const Tree before = tree_of(path_);
    offsets = file.place_chunks("t", {4, 7}, chunks);
    ASSERT_EQ(offsets.size(), 3);
    const Descriptor open_file(::open(path_.c_str(), O_RDWR | O_CLOEXEC));
    for (size_t i = 0; i < chunks.size(); ++i) {
      const std::string coded(static_cast<size_t>(chunks[i].bytes), static_cast<char>('A' + i));
      ASSERT_EQ(::pwrite(open_file.get(), coded.data(), coded.size(), offsets[i]), chunks[i].bytes);
    }
    file.written(Room::kChunks, "t");
  });
  const Description found = described("t");
  EXPECT_EQ(found.shape, (Shape{4, 7}));
  const auto& table = std::get<ChunkTable>(std::get<CodedLayout>(found.layout).places);
  EXPECT_EQ(table.offsets, (std::vector<int64_t>{offsets[0], -1, -1, offsets[1], -1, offsets[2]}));
  EXPECT_EQ(table.bytes[3], 20);
  EXPECT_EQ(table.skipped[5], 3);
  const std::string content = content_of(path_);
  EXPECT_EQ(content.substr(static_cast<size_t>(offsets[1]), 20), std::string(20, 'B'));
  EXPECT_EQ(content.substr(static_cast<size_t>(offsets[0]), 10), std::string(10, 'A'));
  EXPECT_EQ(described("a").shape, (Shape{5, 7}));
  // A chunk is stored again in the same number of bytes, but skips other codecs.
  change([&](FormatFile& file) {
    const std::vector<NewChunk> again{{{0, 0}, 10, 2, true}};
    file.place_chunks("t", {4, 7}, again);
  });
  EXPECT_EQ(std::get<ChunkTable>(std::get<CodedLayout>(described("t").layout).places).skipped[0], 2);
}

TEST_P(ContractOfPlaces, AFormatWithoutATableOfChunksSaysSo) {
  if (can().keeps_chunk_tables) GTEST_SKIP() << "it keeps one";
  create(array("t", {4, 6}));
  const auto place = [&] { reopened()->place_chunks("t", {4, 6}, {}); };
  EXPECT_EQ(error_thrown_by(place).kind(), ErrorKind::kUnsupported);
}

TEST_P(ContractOfPlaces, EveryUnitOfAStoreHasAFileOfItsOwn) {
  if (!format().is_folder()) GTEST_SKIP() << "it is one file";
  create(NewContents{.arrays = {array("g/t", {5, 7}), array("scalar", {})}});
  const Description found = described("g/t");
  const auto& coded = std::get<CodedLayout>(found.layout);
  EXPECT_EQ(coded.path, path_ + "/g/t");
  const auto* shards = std::get_if<Shards>(&coded.places);
  EXPECT_EQ(shards != nullptr, GetParam().stored == Stored::kShards);
  const ChunkFiles& files = shards != nullptr ? shards->files : std::get<ChunkFiles>(coded.places);
  const Shape unit = shards != nullptr ? shards->shape : coded.chunk_shape;
  EXPECT_EQ(unit, shards != nullptr ? (Shape{4, 6}) : (Shape{2, 3}));
  std::set<std::string> names;
  int64_t count = 0;
  for (int64_t row = 0; row * unit[0] < 5; ++row) {
    for (int64_t column = 0; column * unit[1] < 7; ++column, ++count) names.insert(files.name({row, column}));
  }
  EXPECT_EQ(std::ssize(names), count);
  for (const std::string& name : names) EXPECT_FALSE(std::filesystem::exists(coded.path + "/" + name)) << name;
  EXPECT_FALSE(std::get<ChunkFiles>(std::get<CodedLayout>(described("scalar").layout).places).name({}).empty());
}

INSTANTIATE_TEST_SUITE_P(Of, ContractOfPlaces, testing::ValuesIn(flavours()), name_of_flavour);

}  // namespace
}  // namespace swath::formats
