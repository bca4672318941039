#include "formats/zarr/zarr.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "base/error.h"
#include "formats/zarr/codecs.h"
#include "formats/zarr/elements.h"
#include "formats/zarr/new_metadata.h"

namespace swath::zarr {
namespace {

namespace fs = std::filesystem;

using formats::Attributes;
using formats::Description;
using formats::ElementType;
using formats::NewArray;
using formats::NewContents;
using formats::NumbersValue;

// Records its calls.
class NotedJournal : public StoreJournal {
 public:
  explicit NotedJournal(std::vector<std::string>& told) : told_(told) {}
  void adds(const std::string& relative) override { told_.push_back("adds " + relative); }
  void replaces_all(std::span<const std::string> relative) override {
    for (const std::string& name : relative) told_.push_back("replaces " + name);
  }

 private:
  std::vector<std::string>& told_;
};

class ZarrTest : public testing::TestWithParam<const char*> {
 protected:
  ZarrTest() {
    std::string pattern = (fs::temp_directory_path() / "swath-zarr-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    path_ = folder_ + "/a.zarr";
  }
  ~ZarrTest() override { fs::remove_all(folder_); }

  std::unique_ptr<ZarrFile> open() { return std::make_unique<ZarrFile>(path_, nullptr); }
  std::unique_ptr<ZarrFile> open_to_change() {
    return std::make_unique<ZarrFile>(path_, std::make_unique<NotedJournal>(told_));
  }
  void start() { format().create(path_, {.flavour = GetParam()}); }
  bool is_v2() const { return std::string(GetParam()) == "v2"; }

  std::string text_of(const std::string& name) const {
    std::ifstream file(path_ + "/" + name);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories(fs::path(path_ + "/" + name).parent_path());
    std::ofstream(path_ + "/" + name) << text;
  }

  std::vector<std::string> told_;
  std::string folder_;
  std::string path_;
};

NewArray array(const std::string& name, Shape shape, std::vector<std::string> dimensions, const char* type = "<f4") {
  NewArray made{.shape = std::move(shape), .type = ElementType::parse(type), .variable = name};
  if (!dimensions.empty()) made.dimensions = std::move(dimensions);
  return made;
}

NewArray growing(const std::string& name, Shape shape, std::vector<std::string> dimensions) {
  NewArray made = array(name, std::move(shape), std::move(dimensions));
  made.unlimited.assign(made.shape.size(), false);
  made.unlimited[0] = true;
  return made;
}

std::string error_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

INSTANTIATE_TEST_SUITE_P(Versions, ZarrTest, testing::Values("v2", "v3"));

TEST_P(ZarrTest, AnArrayThatIsMadeIsDescribedAsItWasAsked) {
  NewArray asked = array("ocean/t", {5, 4}, {"y", "x"}, ">i2");
  asked.fill = std::vector<std::byte>{std::byte{0xFF}, std::byte{0xFE}};
  asked.chunks = Shape{2, 3};
  asked.attributes = {{"units", "K"}, {"weights", NumbersValue{ElementType::parse("<f8"), {1}, Bytes(8)}}};
  asked.codecs = std::vector<Codec>{};
  format().create(path_, {.flavour = GetParam(), .arrays = {asked}});
  const Description found = open()->describe("ocean/t");
  EXPECT_EQ(found.shape, Shape({5, 4}));
  EXPECT_EQ(found.type.to_string(), ">i2");
  EXPECT_EQ(found.fill, *asked.fill);
  EXPECT_EQ(found.dimensions, (std::vector<std::string>{"y", "x"}));
  EXPECT_EQ(found.attributes.text("units"), "K");
  EXPECT_EQ(std::get<NumbersValue>(*found.attributes.find("weights")).shape, Shape({1}));
  EXPECT_EQ(std::get<NumbersValue>(*found.attributes.find("_FillValue")).shape, Shape({}));
  const auto& layout = std::get<formats::CodedLayout>(found.layout);
  EXPECT_EQ(layout.path, path_ + "/ocean/t");
  EXPECT_EQ(layout.chunk_shape, Shape({2, 3}));
  EXPECT_EQ(std::get<ChunkFiles>(layout.places).name({1, 2}), is_v2() ? "1.2" : "c/1/2");
  const formats::Contents contents = open()->contents();
  EXPECT_EQ(contents.group("ocean")->dimensions.size(), 2);
  EXPECT_FALSE(contents.variable("ocean/t")->is_coordinate);
}

TEST_P(ZarrTest, WhatIsAddedAppearsAtOnceAndInConsolidatedMetadataLast) {
  start();
  open()->consolidate();
  Nodes nodes(path_);
  NotedJournal journal(told_);
  Edit edit(nodes, journal);
  const int version = is_v2() ? 2 : 3;
  edit.put(new_array(path_, "ice/deep/t", version, growing("ice/deep/t", {0}, {"z"})));
  edit.put(new_group(path_, "ice/deep", version, {"z"}));
  edit.put(new_group(path_, "ice", version));
  std::vector<std::string> names;
  for (const auto& [name, value] : edit.files()) names.push_back(name);
  const std::vector<std::string> in_v3 = {"ice/deep/t/zarr.json", "ice/deep/zarr.json", "ice/zarr.json", "zarr.json"};
  const std::vector<std::string> in_v2 = {"ice/deep/t/.zattrs", "ice/deep/t/.zarray", "ice/deep/.zattrs",
                                          "ice/deep/.zgroup",   "ice/.zattrs",        "ice/.zgroup",
                                          ".zmetadata"};
  EXPECT_EQ(names, is_v2() ? in_v2 : in_v3);
  open_to_change()->add(growing("t", {0}, {"z"}));
  const std::vector<std::string> told_v3 = {"adds t", "replaces zarr.json"};
  const std::vector<std::string> told_v2 = {"adds t", "replaces .zattrs", "replaces .zmetadata"};
  EXPECT_EQ(told_, is_v2() ? told_v2 : told_v3);
}

TEST_P(ZarrTest, WhatOthersChangedIsNoticedBeforeTheNextChange) {
  start();
  const auto file = open_to_change();
  const auto other = open_to_change();
  file->add(array("a", {3}, {"x"}));
  EXPECT_NE(error_of([&] { other->add(array("a", {3}, {"x"})); }).find("there is an array 'a' already"),
            std::string::npos);
  other->add(array("b", {4}, {"y"}));
  EXPECT_NE(error_of([&] { file->add(array("c", {5}, {"y"})); }).find("has the length 4, not 5"), std::string::npos);
  other->set_length("y", 5);
  EXPECT_EQ(file->add(array("c", {5}, {"y"})).shape, Shape({5}));
  EXPECT_EQ(file->describe("b").shape, Shape({5}));
  file->set_attributes("b", {{"units", "m"}});
  EXPECT_EQ(open()->describe("b").shape, Shape({5})) << "an attribute has not taken the length back";
}

TEST_P(ZarrTest, AChangeThatFailsLeavesNothingBehind) {
  start();
  const auto file = open_to_change();
  file->add(array("t", {3}, {"x"}));
  write("notes/readme", "x");
  std::vector<std::string> before;
  for (const auto& entry : fs::recursive_directory_iterator(path_)) before.push_back(entry.path());
  NewArray strange = array("ocean/s", {3}, {"x"});
  strange.attributes = {{"_ARRAY_DIMENSIONS", "x"}};
  EXPECT_NE(error_of([&] { file->add(strange); }).find("give dimensions="), std::string::npos);
  EXPECT_NE(error_of([&] { file->add(array("t/below", {3}, {})); }).find("holds no others"), std::string::npos);
  EXPECT_NE(error_of([&] { file->add(array("notes", {3}, {})); }).find("something else than an array"),
            std::string::npos);
  EXPECT_NE(error_of([&] { file->add(array("../b", {3}, {})); }).find("no name '../b'"), std::string::npos);
  EXPECT_NE(error_of([&] { file->set_length("none", 3); }).find("there are: x"), std::string::npos);
  EXPECT_NE(error_of([&] { file->set_attributes("none", {}); }).find("no group and no array 'none'"),
            std::string::npos);
  if (::geteuid() != 0) {  // permissions do not stop root
    ::chmod(path_.c_str(), 0500);
    EXPECT_NE(error_of([&] { file->add(array("u", {3}, {"x"})); }), "none");
    ::chmod(path_.c_str(), 0700);
  }
  std::vector<std::string> after;
  for (const auto& entry : fs::recursive_directory_iterator(path_)) after.push_back(entry.path());
  EXPECT_EQ(after, before);
}

TEST_P(ZarrTest, ConsolidatedMetadataThatCannotBeTrueAreLeftAside) {
  start();
  open_to_change()->add(array("t", {3}, {"x"}));
  open()->consolidate();
  const std::string name = is_v2() ? ".zmetadata" : "zarr.json";
  const std::string whole = text_of(name);
  EXPECT_EQ(open()->contents().variables().size(), 1);
  std::string lying = whole;
  const size_t at = lying.rfind(is_v2() ? "t/.zarray" : "\"t\"") + (is_v2() ? 0 : 1);
  lying.replace(at, 1, "g/t");
  write(name, lying);
  EXPECT_NE(open()->contents().variable("t"), nullptr) << "no group g: the nodes themselves are looked at";
}

TEST_P(ZarrTest, AStoreOfManyArraysIsReadOnceAndNotForEachChange) {
  NewContents contents{.flavour = GetParam(), .groups = {formats::Group{}}};
  for (int i = 0; i < 300; ++i) contents.arrays.push_back(array("a" + std::to_string(i), {2}, {"x"}));
  format().create(path_, contents);
  // Files that were just written are read again: clocks of file systems are coarse.
  ::usleep(30'000);
  Nodes nodes(path_);
  EXPECT_EQ(nodes.walk().size(), 301);
  EXPECT_EQ(nodes.files_read(), is_v2() ? 602 : 301);
  ZarrFile(path_, std::make_unique<NoJournal>()).add(array("new", {2}, {"x"}));
  EXPECT_EQ(nodes.walk().size(), 302);
  EXPECT_EQ(nodes.files_read(), is_v2() ? 604 : 303)
      << "those that are new, and the root with all metadata of version 3";
}

TEST_P(ZarrTest, TypesAndFillValuesAreWrittenAndReadAgain) {
  const int version = is_v2() ? 2 : 3;
  for (const char* spelled : {"|b1", "|i1", "<i2", ">u4", "<u8", ">f2", "<f4", ">f8", "<c8", ">c16", "|S3", "<U2",
                              "|V4", "<M8[25s]", ">m8[ns]"}) {
    const ElementType type = ElementType::parse(spelled);
    Bytes fill(static_cast<size_t>(type.bytes), std::byte{0});
    fill[0] = std::byte{1};
    if (type.kind == 'U') fill = {std::byte{0xE9}, {}, {}, {}, {}, {}, {}, {}};
    const Json stored = version == 2 ? type_to_v2(type) : type_to_v3(type);
    const ElementType found = version == 2 ? type_of_v2(Field(stored)) : type_of_v3(Field(stored));
    EXPECT_EQ(found, version == 2 ? type : type.in_byte_order(false)) << spelled;
    EXPECT_EQ(fill_of(Field(fill_to_json(fill, type)), type), fill) << spelled;
  }
}

TEST(ZarrElementsTest, FillValuesAreThoseOfTheSpecifications) {
  const auto fill = [](const std::string& text, const char* type) {
    std::string bytes;
    for (const std::byte byte : fill_of(Field(parse_json(text, "")), ElementType::parse(type))) {
      bytes += static_cast<char>(byte);
    }
    return bytes;
  };
  EXPECT_EQ(fill("\"0x7fc00001\"", "<f4"), std::string("\x01\0\xc0\x7f", 4));
  EXPECT_EQ(fill("\"0x7fc00001\"", ">f4"), std::string("\x7f\xc0\0\x01", 4));
  EXPECT_EQ(fill("\"-Infinity\"", "<f2"), std::string("\0\xfc", 2));
  EXPECT_EQ(fill("65504", "<f2"), std::string("\xff\x7b", 2));
  EXPECT_EQ(fill("65520", "<f2"), std::string("\0\x7c", 2)) << "too large: infinite";
  EXPECT_EQ(fill("5.9604644775390625e-08", "<f2"), std::string("\x01\0", 2)) << "the smallest there is";
  EXPECT_EQ(fill("1.00048828125", "<f2"), std::string("\0\x3c", 2)) << "halfway: to the even one";
  EXPECT_EQ(fill("1e300", "<f4"), std::string("\0\0\x80\x7f", 4));
  EXPECT_EQ(fill("18446744073709551615", "<u8"), std::string(8, '\xff'));
  EXPECT_EQ(fill("-1", "<i8"), std::string(8, '\xff'));
  EXPECT_EQ(fill("3.0", "|i1"), "\x03");
  EXPECT_EQ(fill("\"NaT\"", ">M8[s]"), std::string("\x80\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(fill("null", "<f8"), std::string(8, '\0'));
  EXPECT_EQ(fill("\"YWI=\"", "|S3"), std::string("ab\0", 3));
  EXPECT_EQ(fill("[1, true]", "|V2"), "\x01\x01");
  for (const auto& [text, type] : std::vector<std::pair<const char*, const char*>>{{"1.5", "<i4"},
                                                                                   {"true", "<f8"},
                                                                                   {"128", "|i1"},
                                                                                   {"-1", "|u1"},
                                                                                   {"2", "|b1"},
                                                                                   {"\"abc\"", "<f8"},
                                                                                   {"\"0x00\"", "<f4"},
                                                                                   {"[1, 2, 3]", "<c8"},
                                                                                   {"\"YWI\"", "|S3"},
                                                                                   {"\"YWJjZA==\"", "|S3"},
                                                                                   {"[256]", "|V2"},
                                                                                   {"1e400", "<i8"},
                                                                                   {"1.5", "<M8[s]"},
                                                                                   {"[]", "<U1"},
                                                                                   {"18446744073709551616", "<u8"}}) {
    EXPECT_NE(error_of([&] { fill(text, type); }).find("expected a value of dtype"), std::string::npos) << text << type;
  }
}

TEST(ZarrElementsTest, AnElementThatClaimsMoreMemoryThanAnyHasIsRefused) {
  const auto fill_bytes = [](const char* type) {
    return std::to_string(fill_of(Field(parse_json("null", "")), ElementType::parse(type)).size());
  };
  EXPECT_EQ(fill_bytes("|V16777216"), "16777216");
  EXPECT_NE(error_of([&] {
              fill_bytes("|V16777217");
            }).find("elements of 16,777,217 bytes; Swath reads elements of at most 16,777,216 bytes"),
            std::string::npos);
  EXPECT_NE(error_of([&] { fill_bytes("<U536870911"); }).find("2,147,483,644 bytes"), std::string::npos);
}

TEST(ZarrCodecsTest, CodecsThatAreNotRegisteredBecomeThoseThatAre) {
  const auto made = [](const std::vector<Codec>& codecs) {
    std::string text;
    for (const Codec& codec : registered(codecs, 1000)) text += to_text(codec_to_v3(codec), 0);
    return text;
  };
  const auto codec = [](const char* name, const char* settings = "{}") {
    return codec_of(name, Field(parse_json(settings, "")), 4);
  };
  EXPECT_EQ(made({codec("zlib", R"({"level": 9})")}), R"({"name": "gzip", "configuration": {"level": 9}})");
  EXPECT_EQ(made({codec("fletcher32"), codec("gzip")}),
            R"({"name": "crc32c"}{"name": "gzip", "configuration": {"level": 5}})");
  EXPECT_EQ(made({codec("shuffle", R"({"elementsize": 4})")}), "");
  EXPECT_EQ(made({codec("zstd")}), R"({"name": "zstd", "configuration": {"level": 0, "checksum": false}})");
}

TEST(ZarrChunksTest, ChunksOfAShardDivideItAndAreNotSmall) {
  EXPECT_EQ(chunks_and_shards({6000, 6000}, 8, {}, {}).first, Shape({375, 750}));
  EXPECT_EQ(chunks_and_shards({0, 500, 500}, 4, {}, {}).first, Shape({1, 500, 500}));
  EXPECT_EQ(chunks_and_shards({0}, 4, {}, {}).first, Shape({1024}));
  EXPECT_EQ(chunks_and_shards({int64_t{1} << 40}, 8, {}, Shape{int64_t{1} << 40}).first, Shape({1 << 19}));
  EXPECT_NE(
      error_of([] { chunks_and_shards({2147483647}, 8, {}, Shape{2147483647}); }).find("no chunks of a good size"),
      std::string::npos);
  EXPECT_NE(error_of([] { chunks_and_shards({4}, 8, Shape{3}, Shape{4}); }).find("not whole chunks"),
            std::string::npos);
  EXPECT_NE(error_of([] { chunks_and_shards({4}, 8, Shape{0}, {}); }).find("one positive length"), std::string::npos);
}

}  // namespace
}  // namespace swath::zarr
