#include "formats/contents.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace swath::formats {
namespace {

std::span<std::byte> bytes_of(std::string& text) { return std::as_writable_bytes(std::span(text)); }

TEST(ElementTypeTest, TextsAreParsedAndSaidAgain) {
  for (const std::string text :
       {"<f4", ">f8", "|i1", "|u1", ">i2", "|S8", "<U3", "|V16", "<c16", "<M8[ns]", "|b1", "|O"}) {
    EXPECT_EQ(ElementType::parse(text).to_string(), text);
  }
  EXPECT_EQ(ElementType::parse("<U3").bytes, 12);
  EXPECT_EQ(ElementType::parse(">u1"), ElementType::parse("|u1"));
  EXPECT_NE(ElementType::parse(">u2"), ElementType::parse("<u2"));
  EXPECT_EQ(ElementType::parse(">c8").in_byte_order(false).to_string(), "<c8");
  for (const std::string text : {"", "f4", "<q4", "<f", "<f-1", "<f4[ns]", "|S99999999999", "<M8[ns"}) {
    EXPECT_THROW(ElementType::parse(text), Error) << text;
  }
}

TEST(ElementTypeTest, MessagesSayTypesAsNumpyDoes) {
  const std::string here = ElementType::parse("=f4").to_string().substr(0, 1);
  const std::string other = here == "<" ? ">" : "<";
  EXPECT_EQ(ElementType::parse(here + "f4").words(), "float32");
  EXPECT_EQ(ElementType::parse(other + "f4").words(), other + "f4");
  EXPECT_EQ(ElementType::parse(here + "c16").words(), "complex128");
  EXPECT_EQ(ElementType::parse("|u1").words(), "uint8");
  EXPECT_EQ(ElementType::parse("|b1").words(), "bool");
  EXPECT_EQ(ElementType::parse(here + "M8[ns]").words(), "datetime64[ns]");
  EXPECT_EQ(ElementType::parse("|S8").words(), "|S8");
  EXPECT_EQ(ElementType::text().words(), "object");
}

TEST(ElementTypeTest, BytesOfEveryNumberAreTurnedRound) {
  std::string numbers = "abcdefgh";
  swap_bytes(ElementType::parse(">i4"), bytes_of(numbers));
  EXPECT_EQ(numbers, "dcbahgfe");
  std::string complex = "abcdefgh";
  swap_bytes(ElementType::parse(">c8"), bytes_of(complex));
  EXPECT_EQ(complex, "dcbahgfe");
  std::string plain = "abcd";
  swap_bytes(ElementType::parse("|S4"), bytes_of(plain));
  EXPECT_EQ(plain, "abcd");
  ElementType structure{.kind = 'V', .bytes = 8};
  structure.fields = {{"a", ElementType::parse(">i2"), 1, {}}, {"b", ElementType::parse("<u2"), 4, {2}}};
  std::string elements = "0ab3cdef0AB3CDEF";
  swap_bytes(structure, bytes_of(elements));
  EXPECT_EQ(elements, "0ba3dcfe0BA3DCFE");
  EXPECT_EQ(structure.to_string(), "{a: >i2, b: <u2[2]}");
}

TEST(AttributesTest, OnesThatAreSetKeepTheirPlaceAndNullRemoves) {
  Attributes attributes{{"units", "K"}, {"note", "x"}};
  const Attributes changes{{"units", "degC"}, {"note", NullValue{}}, {"new", std::vector<std::string>{"a", "b"}}};
  const Attributes changed = attributes.with(changes);
  ASSERT_EQ(changed.entries().size(), 2);
  EXPECT_EQ(changed.entries()[0].first, "units");
  EXPECT_EQ(changed.text("units"), "degC");
  EXPECT_EQ(changed.text("new"), "");
  EXPECT_EQ(changed.find("note"), nullptr);
}

TEST(ContentsTest, ADimensionIsThatOfTheNearestGroupAbove) {
  Contents contents("netcdf4");
  contents.add(Group{.path = "ocean"});
  contents.add(Group{.path = "ocean/deep"});
  contents.set("", {"x", 3, false});
  contents.set("ocean", {"x", 5, false});
  contents.set("", {"time", 0, true});
  EXPECT_EQ(contents.dimension("ocean/deep", "x")->length, 5);
  EXPECT_EQ(contents.path_of("ocean/deep", "x"), "ocean/x");
  EXPECT_EQ(contents.path_of("ocean/deep", "time"), "time");
  EXPECT_EQ(contents.path_of("ocean/deep", "new"), "ocean/deep/new");
  EXPECT_EQ(contents.dimension("ocean", "new"), nullptr);
}

TEST(ContentsTest, ADimensionThatGetsLongerTakesItsVariablesAlongAndNoOthers) {
  Contents contents("netcdf4");
  contents.add(Group{.path = "ocean"});
  contents.set("", {"time", 0, true});
  contents.set("ocean", {"time", 2, true});
  contents.add(Variable{.path = "t", .shape = {0, 4}, .dimensions = {"time", "x"}});
  contents.add(Variable{.path = "ocean/t", .shape = {2}, .dimensions = {"time"}});
  contents.set_length("time", 7);
  EXPECT_EQ(contents.variable("t")->shape, Shape({7, 4}));
  EXPECT_EQ(contents.variable("ocean/t")->shape, Shape({2}));
  contents.set_length("ocean/time", 3);
  EXPECT_EQ(contents.variable("/ocean/t/")->shape, Shape({3}));
  EXPECT_EQ(contents.dimension("", "time")->length, 7);
}

TEST(ContentsTest, AttributesAreThoseOfAGroupOrAVariable) {
  Contents contents("zarr");
  contents.add(Variable{.path = "t", .shape = {1}});
  contents.set_attributes("", {{"title", "run"}});
  contents.set_attributes("t", {{"units", "K"}});
  EXPECT_EQ(contents.group("")->attributes.text("title"), "run");
  EXPECT_EQ(contents.variable("t")->attributes.text("units"), "K");
  EXPECT_THROW(contents.set_attributes("nothing", {}), Error);
}

}  // namespace
}  // namespace swath::formats
