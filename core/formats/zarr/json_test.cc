#include "formats/zarr/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "formats/zarr/fields.h"
#include "formats/zarr/unicode.h"

namespace swath::zarr {
namespace {

std::string again(const std::string& text) { return to_text(parse_json(text, "a.json"), 0); }

std::string error_of(const std::string& text) {
  try {
    parse_json(text, "a.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kFormat);
    return error.what();
  }
  return "none";
}

TEST(ZarrJsonTest, WhatPythonTakesForJsonIsReadAndWrittenAgainAsItWas) {
  for (const std::string text :
       {"null", "true", "[]", "{}", "[1, -2, 0]", "9223372036854775807", "-9223372036854775808", "18446744073709551616",
        "-9223372036854775809", "[NaN, Infinity, -Infinity]", R"({"a": {"b": [1.5, null]}})", R"("\ud800")",
        R"("\udc00\ud800x")", R"("\ud83d\ude00")", R"("\u0001n1")", R"("\u0001")", R"("\u0001\u0001\ud801")",
        R"("\"\\\b\f\n\r\t\u001f\u007f\u00e9")"}) {
    EXPECT_EQ(again(text), text);
  }
  EXPECT_EQ(again("1e400"), "Infinity");
  EXPECT_EQ(again("-1e400"), "-Infinity");
  EXPECT_EQ(again("1e-400"), "0.0");
  EXPECT_EQ(again(std::string(400, '9') + ".0"), "Infinity");
  EXPECT_EQ(again(std::string(400, '9')), std::string(400, '9'));
  EXPECT_EQ(again("-0"), "0");
  EXPECT_EQ(again("-0.0"), "-0.0");
  EXPECT_EQ(again(" [ 1 , 2 ] "), "[1, 2]");
  EXPECT_EQ(again("\xEF\xBB\xBF[1]"), "[1]");
  EXPECT_EQ(again(R"("\u00c3\u00a9")"), R"("\u00c3\u00a9")");
}

TEST(ZarrJsonTest, DoublesAreWrittenAsPythonWritesThem) {
  // the texts are Python 3's repr() of the numbers
  const std::pair<double, const char*> cases[] = {{1.0, "1.0"},
                                                  {0.1, "0.1"},
                                                  {1e-4, "0.0001"},
                                                  {1e-5, "1e-05"},
                                                  {1.5e-7, "1.5e-07"},
                                                  {1e15, "1000000000000000.0"},
                                                  {9999999999999998.0, "9999999999999998.0"},
                                                  {1e16, "1e+16"},
                                                  {1e22, "1e+22"},
                                                  {1e23, "1e+23"},
                                                  {5e-324, "5e-324"},
                                                  {1.7976931348623157e308, "1.7976931348623157e+308"},
                                                  {-0.0, "-0.0"},
                                                  {123456.789, "123456.789"},
                                                  {1e100, "1e+100"},
                                                  {static_cast<double>(1e20F), "1.0000000200408773e+20"}};
  for (const auto& [value, text] : cases) EXPECT_EQ(to_text(value), text);
}

TEST(ZarrJsonTest, IndentedTextIsThatOfPython) {
  EXPECT_EQ(to_text(parse_json(R"({"a":[1,[]],"b":{},"c":{"d":null}})", ""), 2),
            "{\n  \"a\": [\n    1,\n    []\n  ],\n  \"b\": {},\n  \"c\": {\n    \"d\": null\n  }\n}");
}

TEST(ZarrJsonTest, WhatIsNoJsonIsRefusedInWordsThatNameTheFile) {
  for (const std::string text : {"",      "{",        "[1,]",       "NaN1",       "1NaN",     "-NaN",     "--Infinity",
                                 "nul",   "01",       "1.",         ".5",         "1e",       "\"\x01\"", "\"\\ud8\"",
                                 "[1] 2", "{NaN: 1}", "{1e400: 1}", "\xff\xfe{}", "\"\xff\"", "\"\\\"",   "// x\n1"}) {
    EXPECT_TRUE(error_of(text).starts_with("a.json: not JSON: ")) << text << ": " << error_of(text);
    EXPECT_TRUE(is_unicode(error_of(text)));
  }
  EXPECT_NE(error_of(R"({"a": 1, "a": 2})").find("the key 'a' more than once"), std::string::npos);
  EXPECT_NE(error_of(R"([{"a": 1, "\u0061": 2}])").find("more than once"), std::string::npos);
  EXPECT_NE(error_of(std::string(5000, '9')).find("more than 4300 digits"), std::string::npos);
}

TEST(ZarrJsonTest, ListsInListsAreReadAsDeepAsIsSaidAndNoDeeper) {
  const auto nested = [](int depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_EQ(again(nested(64)), nested(64));
  EXPECT_NE(error_of(nested(65)).find("nested more than 64 deep"), std::string::npos);
  EXPECT_NE(error_of(std::string(1'000'000, '[')).find("nested more than 64 deep"), std::string::npos);
}

TEST(ZarrJsonTest, MembersAreReplacedInTheirPlaceAndFoundInLongObjects) {
  Json::Members members;
  for (int i = 0; i < 1000; ++i) members.emplace_back("k" + std::to_string(i), i);
  const Json object = Json::object(std::move(members));
  EXPECT_EQ(*object.find("k999")->integer(), 999);
  EXPECT_EQ(object.find("k1000"), nullptr);
  const Json changed = object.with("k0", "x").with("new", true).without("k1");
  EXPECT_EQ(changed.members()->begin()->second, Json("x"));
  EXPECT_EQ(changed.members()->size(), 1000);
  EXPECT_EQ(*object.find("k0")->integer(), 0) << "a value never changes";
}

TEST(ZarrJsonTest, ValuesAreEqualByTypeAndValueWhateverTheOrderOfMembers) {
  EXPECT_EQ(parse_json(R"({"a": NaN, "b": [1]})", ""), parse_json(R"({"b": [1], "a": NaN})", ""));
  EXPECT_FALSE(Json(1) == Json(1.0));
  EXPECT_FALSE(Json(0.0) == Json(-0.0));
  EXPECT_FALSE(Json(1) == Json(true));
  EXPECT_FALSE(parse_json(R"({"a": 1})", "") == parse_json(R"({"b": 1})", ""));
}

TEST(ZarrJsonTest, ValuesAreShownShortInMessages) {
  EXPECT_EQ(shown(parse_json(R"({"a": [1, "x'y", true, null, Infinity]})", "")),
            R"({'a': [1, "x'y", True, None, inf]})");
  const std::string longer = shown(Json(std::string(1000, 'x')));
  EXPECT_EQ(longer, "'" + std::string(99, 'x') + " ...");
  EXPECT_EQ(shown(parse_json(R"("\ud800")", "")), R"('\ud800')");
}

TEST(ZarrUnicodeTest, NamesOfFilesBecomeJsonAndNamesAgain) {
  for (const std::string name : {"plain", "\xc3\xa9", "a\xff\x80z", "\xed\xa0\x80", ""}) {
    EXPECT_EQ(name_of_json(json_of_name(name)), name);
  }
  EXPECT_EQ(to_text(Json(json_of_name("a\xff")), 0), R"("a\udcff")") << "as Python writes os.fsdecode of it";
}

TEST(ZarrUnicodeTest, NamesAreOrderedWithoutTheirCaseAndNormalised) {
  EXPECT_EQ(casefolded("STRASSE"), casefolded("stra\xc3\x9f"
                                              "e"));
  EXPECT_EQ(casefolded("\xef\xac\x81"), casefolded("FI")) << "a ligature";
  EXPECT_EQ(casefolded("e\xcc\x81"), casefolded("\xc3\x89"));
  EXPECT_LT(casefolded("B"), casefolded("c"));
}

TEST(ZarrFieldTest, WhatIsSomethingElseIsNamedWithWhatWasExpected) {
  const Field field(parse_json(R"({"shape": [5, true], "name": "\ud800", "n": 1.0, "grid": {"name": 5}})", ""),
                    "a.json");
  const auto why = [](const auto& take) -> std::string {
    try {
      take();
    } catch (const Error& error) {
      return error.what();
    }
    return "none";
  };
  EXPECT_EQ(why([&] { field.of("shape").lengths(0); }),
            "a.json: shape[1]: expected an integer from 0 to 9223372036854775807, found True");
  EXPECT_EQ(why([&] { field.of("n").integer(3, 3); }), "a.json: n: expected 3, found 1.0");
  EXPECT_EQ(why([&] { field.of("none").text(); }), "a.json: none: expected a string, found nothing");
  EXPECT_EQ(why([&] { field.of("name").text(); }),
            "a.json: name: expected a string of Unicode, without halves of surrogate pairs, found '\\ud800'");
  EXPECT_EQ(why([&] { field.of("grid").named(); }), "a.json: grid.name: expected a string, found 5");
  EXPECT_EQ(why([&] { field.of("shape").of("x"); }), "a.json: shape: expected an object, found [5, True]");
  EXPECT_EQ(why([&] { field.of("n").text({"a", "b"}); }), "a.json: n: expected one of 'a', 'b', found 1.0");
}

}  // namespace
}  // namespace swath::zarr
