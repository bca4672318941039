#include "formats/npy/npy.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "base/error.h"
#include "formats/npy/literal.h"

namespace swath::formats::npy {
namespace {

using std::string_literals::operator""s;

class NpyTest : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::remove(path_); }
  void TearDown() override { std::filesystem::remove(path_); }

  std::string bytes() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(std::string_view bytes) const { std::ofstream(path_, std::ios::binary) << bytes; }
  Description describe() const { return format().open(path_, nullptr)->describe(std::nullopt); }
  Description created(const NewArray& array) const {
    NewContents contents;
    contents.arrays = {array};
    format().create(path_, contents);
    return describe();
  }

  const std::string path_ = testing::TempDir() + "swath_npy_" + std::to_string(getpid()) + ".npy";
};

// numpy.lib.format.write_array(file, numpy.zeros((3, 4), "<f8"))
const std::string kOfNumPy = "\x93NUMPY\x01\x00\x76\x00{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }"s +
                             std::string(58, ' ') + "\n";

TEST_F(NpyTest, AHeaderIsThatOfNumPy) {
  const Description made = created({.shape = {3, 4}, .type = ElementType::parse("<f8")});
  EXPECT_EQ(bytes().substr(0, 128), kOfNumPy);
  EXPECT_EQ(bytes().size(), 128 + 96);
  EXPECT_EQ(std::get<StridedLayout>(made.layout).offset, 128);
  EXPECT_EQ(std::get<StridedLayout>(made.layout).strides, std::vector<int64_t>({32, 8}));
  EXPECT_EQ(made.end, 224);
}

TEST_F(NpyTest, FortranOrderAndAnArrayWithoutDimensionsComeBack) {
  const Description fortran = created({.shape = {3, 4}, .type = ElementType::parse(">i2"), .order = {1, 0}});
  EXPECT_EQ(std::get<StridedLayout>(fortran.layout).strides, std::vector<int64_t>({2, 6}));
  EXPECT_TRUE(fortran.type.is_big_endian);
  std::filesystem::remove(path_);
  const Description scalar = created({.shape = {}, .type = ElementType::parse("|S5")});
  EXPECT_TRUE(scalar.shape.empty());
  EXPECT_EQ(scalar.end, 128 + 5);
}

TEST_F(NpyTest, AStructureComesBackWithItsPadding) {
  ElementType type{.bytes = 24};
  type.fields = {{"a", ElementType::parse("<f4"), 0, {}}, {"b", ElementType::parse(">i2"), 8, {2, 3}, "a title"}};
  const Description made = created({.shape = {2}, .type = type});
  EXPECT_NE(bytes().find("[('a', '<f4'), ('', '|V4'), (('a title', 'b'), '>i2', (2, 3)), ('', '|V4')]"),
            std::string::npos);
  EXPECT_EQ(made.type, type);
}

TEST_F(NpyTest, NamesThatAreNotLatinMakeVersion3AndLongHeadersVersion2) {
  ElementType type{.bytes = 4};
  type.fields = {{"\u0416", ElementType::parse("<f4"), 0, {}}};
  EXPECT_EQ(created({.shape = {2}, .type = type}).type, type);
  EXPECT_EQ(bytes()[6], 3);
  std::filesystem::remove(path_);
  type.fields = {{"\u00e9", ElementType::parse("<f4"), 0, {}}};
  EXPECT_EQ(created({.shape = {2}, .type = type}).type, type);
  EXPECT_EQ(bytes()[6], 1);
  std::filesystem::remove(path_);
  type.fields = {{std::string(70000, 'x'), ElementType::parse("<f4"), 0, {}}};
  EXPECT_EQ(created({.shape = {2}, .type = type}).type, type);
  EXPECT_EQ(bytes()[6], 2);
}

TEST_F(NpyTest, AFileThatEndsTooEarlyIsRefused) {
  created({.shape = {3, 4}, .type = ElementType::parse("<f8")});
  const std::string whole = bytes();
  for (size_t length = 6; length < whole.size(); ++length) {
    write(whole.substr(0, length));
    EXPECT_THROW(describe(), Error) << length;
  }
  write(whole);
  EXPECT_EQ(describe().shape, Shape({3, 4}));
}

TEST_F(NpyTest, AHeaderOfAnyBytesIsAnErrorOrADescription) {
  std::mt19937 chance(1);
  const char* const more = std::getenv("SWATH_TEST_HEADERS");
  const int count = more == nullptr ? 2000 : static_cast<int>(std::strtol(more, nullptr, 10));
  int described = 0;
  for (int i = 0; i < count; ++i) {
    std::string text = kOfNumPy + std::string(96, '\0');
    for (auto edits = 1 + chance() % 3; edits > 0; --edits) text[chance() % 70] = static_cast<char>(chance());
    write(text);
    try {
      describe();
      ++described;
    } catch (const Error& error) {
      EXPECT_NE(error.kind(), ErrorKind::kInternal);
    }
  }
  EXPECT_GT(described, 0);
}

TEST(LiteralTest, EscapesAndNestingAreThoseOfPython) {
  EXPECT_EQ(*parse_literal("'a\\x41\\u00e9\\'\"'").text(), "aA\u00e9'\"");
  EXPECT_EQ(parse_literal("(1, 2,)").list()->size(), 2);
  EXPECT_EQ(*parse_literal("(1)").number(), 1);
  EXPECT_EQ(parse_literal("()").list()->size(), 0);
  EXPECT_EQ(*parse_literal("-12L").number(), -12);
  EXPECT_EQ(text_literal("it's \"x\"\\\n"), "'it\\'s \"x\"\\\\\\n'");
  EXPECT_EQ(text_literal("it's"), "\"it's\"");
  for (const auto* const text :
       {"", "(1", "'a", "{'a' 1}", "{1: 2}", "[1 2]", "'\\q'", "'\\ud800'", "99999999999999999999", "1 2"}) {
    EXPECT_THROW(parse_literal(text), Error) << text;
  }
  EXPECT_THROW(parse_literal(std::string(1000, '[')), Error);
}

}  // namespace
}  // namespace swath::formats::npy
