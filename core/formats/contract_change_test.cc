// Files of any format get more variables, attributes and rows: every reader sees the changes, and a change that fails
// changes no byte.
#include "formats/contract_for_tests.h"

namespace swath::formats {
namespace {

const std::string kLong(30'000, 'a');

class ContractOfChanges : public ContractTest {
 protected:
  // Attributes of each kind that this flavour has.
  static Attributes attributes() {
    Attributes found{{"text", "größe"}, {"empty text", ""}, {"long", kLong}};
    found.add("number", numbers("<f8", {}, std::vector<double>{0.5}));
    found.add("small", numbers("|i1", {}, std::vector<int8_t>{-3}));
    found.add("numbers", numbers("<i4", {3}, std::vector<int32_t>{1, -2, 3}));
    found.add("floats", numbers("<f4", {2}, std::vector<float>{1.5F, -2}));
    found.add("big", numbers(">i2", {2}, std::vector<int16_t>{0x0100, 0x0200}));  // 1 and 2
    found.add("list of one", numbers("<i4", {1}, std::vector<int32_t>{7}));
    found.add("no numbers", numbers("<i4", {0}, std::vector<int32_t>{}));
    if (can().has_text_lists) found.add("texts", std::vector<std::string>{"a", "größe"});
    return found;
  }

  // The values of numbers of any type.
  static std::vector<double> values_of(const AttributeValue& value) {
    const auto* json = std::get_if<JsonValue>(&value);
    EXPECT_TRUE(json == nullptr || json->text == "[]");
    const auto* numbers = std::get_if<NumbersValue>(&value);
    std::vector<double> found;
    if (numbers == nullptr) return found;
    std::vector<std::byte> bytes = numbers->bytes;
    if (numbers->type.is_big_endian) swap_bytes(numbers->type, bytes);
    const auto each = static_cast<size_t>(numbers->type.bytes);
    for (size_t at = 0; at < bytes.size(); at += each) {
      int64_t integer = 0;
      float single = 0;
      double number = 0;
      if (numbers->type.kind == 'f') {
        each == 4 ? std::memcpy(&single, &bytes[at], 4) : std::memcpy(&number, &bytes[at], 8);
        found.push_back(each == 4 ? single : number);
        continue;
      }
      std::memcpy(&integer, &bytes[at], each);
      const auto unused = 64 - 8 * static_cast<int>(each);
      found.push_back(static_cast<double>(static_cast<int64_t>(static_cast<uint64_t>(integer) << unused) >> unused));
    }
    return found;
  }

  void expect_has(const Attributes& found, const Attributes& asked) {
    for (const auto& [name, value] : asked.entries()) {
      const AttributeValue* there = found.find(name);
      ASSERT_NE(there, nullptr) << name;
      const auto* numbers = std::get_if<NumbersValue>(&value);
      if (numbers == nullptr) {
        EXPECT_EQ(*there, value) << name;
        continue;
      }
      EXPECT_EQ(values_of(*there), values_of(value)) << name;
      const auto* stored = std::get_if<NumbersValue>(there);
      if (stored == nullptr) continue;  // an empty list has no type
      EXPECT_TRUE(!can().has_typed_numbers || stored->type.in_byte_order(false) == numbers->type.in_byte_order(false))
          << name << " " << stored->type.to_string();
      const bool is_one = !can().has_lists_of_one && numbers->shape == Shape{1};
      EXPECT_EQ(stored->shape, is_one ? Shape() : numbers->shape) << name;
    }
  }

  // A file for changes: two variables that grow, and one that does not.
  void start() {
    NewArray t = growing("t", {"time", "x"}, {0, 7});
    t.attributes = {{"units", "K"}};
    create(NewContents{
        .groups = {{.attributes = {{"title", "run"}}}},
        .arrays = {along({"y", "x"}, array("a", {5, 7}, "<i2")), t, growing("u", {"time", "y"}, {0, 5}, "|i1")}});
  }

  // One impossible change of each kind.
  std::vector<std::pair<std::string, std::function<void(FormatFile&)>>> wrong_changes() const {
    NewArray other_length = along({"y", "x"}, array("v", {5, 8}));
    NewArray other_growth = growing("v", {"x"}, {0});
    NewArray bad_type = array("v", {3});
    bad_type.type = ElementType{.kind = 'f', .bytes = 3};
    NewArray bad_name = array("a//b", {3});
    return {{"a name that is taken", [this](FormatFile& file) { file.add(array("a", {2})); }},
            {"another length of a dimension", [=](FormatFile& file) { file.add(other_length); }},
            {"a dimension that does not grow", [=](FormatFile& file) { file.add(other_growth); }},
            {"a type that is none", [=](FormatFile& file) { file.add(bad_type); }},
            {"a name that is none", [=](FormatFile& file) { file.add(bad_name); }},
            {"attributes of nothing", [](FormatFile& file) { file.set_attributes("none", {{"a", "b"}}); }},
            {"rows of nothing", [](FormatFile& file) { file.extend("none", 3, std::nullopt); }},
            {"a dimension that is not there", [](FormatFile& file) { file.set_length("none", 3); }}};
  }
};

TEST_P(ContractOfChanges, AFileOfOneArrayIsNotChanged) {
  if (can().has_names) GTEST_SKIP() << "it holds many";
  create(array("", {5, 7}));
  const Tree before = tree_of(path_);
  const auto file = reopened();
  const auto kind_of = [&](const auto& work) { return error_thrown_by(work).kind(); };
  EXPECT_EQ(kind_of([&] { file->add(array("", {2})); }), ErrorKind::kUnsupported);
  EXPECT_EQ(kind_of([&] { file->set_attributes("", {{"a", "b"}}); }), ErrorKind::kUnsupported);
  EXPECT_EQ(kind_of([&] { file->extend("", 8, std::nullopt); }), ErrorKind::kUnsupported);
  EXPECT_EQ(kind_of([&] { file->set_length("x", 8); }), ErrorKind::kUnsupported);
  EXPECT_EQ(file->allocate("").shape, (Shape{5, 7}));
  EXPECT_EQ(tree_of(path_), before);
}

TEST_P(ContractOfChanges, AFileThatWasOpenedToBeReadRefusesThem) {
  if (!can().has_names) GTEST_SKIP() << "it is never changed";
  start();
  const Tree before = tree_of(path_);
  const auto file = reopened();
  const auto kind_of = [&](const auto& work) { return error_thrown_by(work).kind(); };
  EXPECT_EQ(kind_of([&] { file->add(array("v", {2})); }), ErrorKind::kArgument);
  EXPECT_EQ(kind_of([&] { file->set_attributes("", {{"a", "b"}}); }), ErrorKind::kArgument);
  EXPECT_EQ(kind_of([&] { file->set_length("time", 8); }), ErrorKind::kArgument);
  EXPECT_EQ(tree_of(path_), before);
}

TEST_P(ContractOfChanges, AttributesOfEveryKindAreKeptUntilTheyAreRemoved) {
  if (!can().has_names) GTEST_SKIP() << "it has no attributes";
  NewArray made = array("t", {4, 3});
  made.attributes = attributes();
  create(NewContents{.groups = {{.attributes = attributes()}}, .arrays = {made}});
  expect_has(reopened()->contents().group("")->attributes, attributes());
  expect_has(reopened()->contents().variable("t")->attributes, attributes());
  expect_has(described("t").attributes, attributes());
  change([&](FormatFile& file) {
    for (const char* holder : {"", "t"}) {
      file.set_attributes(holder, {{"text", "m"}, {"new", kLong}, {"number", "now text"}});
      file.set_attributes(holder, {{"numbers", NullValue{}}, {"not there", NullValue{}}});
    }
    expect_has(file.contents().group("")->attributes, {{"text", "m"}, {"new", kLong}});
  });
  Attributes rest = attributes();
  rest.remove("numbers");
  for (const char* name : {"text", "number"}) rest.set(name, name == std::string("text") ? "m" : "now text");
  rest.set("new", kLong);
  for (const Attributes& found : {reopened()->contents().group("")->attributes, described("t").attributes}) {
    expect_has(found, rest);
    EXPECT_EQ(found.find("numbers"), nullptr);
    EXPECT_EQ(found.find("not there"), nullptr);
  }
}

TEST_P(ContractOfChanges, AttributesThatItHasNotAreRefused) {
  if (!can().has_names) GTEST_SKIP() << "it has none";
  const std::map<std::string, std::pair<bool, AttributeValue>> values = {
      {"texts", {can().has_text_lists, std::vector<std::string>{"a", "b"}}}, {"null", {can().has_null, NullValue{}}}};
  for (const auto& [name, value] : values) {
    NewArray made = array("t", {4, 3});
    made.attributes.add(name, value.second);
    EXPECT_EQ(refusals({.arrays = {made}}).size(), value.first ? 0 : 1) << name;
    const NewContents of_file{.groups = {{.attributes = made.attributes}}};
    EXPECT_EQ(refusals(of_file).size(), value.first ? 0 : 1) << name;
  }
}

TEST_P(ContractOfChanges, DimensionsAndVariablesAreAddedForEverybody) {
  if (!can().has_names) GTEST_SKIP() << "it holds one";
  start();
  const auto expect_all = [&](const Contents& found) {
    EXPECT_EQ(found.group("")->attributes.text("title"), "run");
    EXPECT_EQ(found.format(), format().name());
    EXPECT_EQ(found.variable("t")->dimensions, (std::vector<std::string>{"time", "x"}));
    EXPECT_EQ(found.variable("t")->attributes.text("units"), "K");
    EXPECT_EQ(found.variable("a")->type, stored_type(ElementType::parse("<i2")));
    EXPECT_EQ(found.variable("later")->shape, (Shape{0, 5}));
    EXPECT_EQ(found.variable("wide")->shape, (Shape{5, 9}));
    EXPECT_FALSE(found.variable("a")->is_coordinate);
    EXPECT_TRUE(found.variable("time")->is_coordinate);
    EXPECT_EQ(*found.dimension("", "time"), (Dimension{"time", 0, true}));
    EXPECT_EQ(*found.dimension("", "x"), (Dimension{"x", 7, false}));
    EXPECT_EQ(*found.dimension("", "w"), (Dimension{"w", 9, false}));
  };
  change([&](FormatFile& file) {
    file.contents();
    EXPECT_EQ(file.add(growing("later", {"time", "y"}, {0, 5}, "<f8")).dimensions,
              (std::vector<std::string>{"time", "y"}));
    EXPECT_EQ(file.add(along({"y", "w"}, array("wide", {5, 9}))).variable, "wide");
    file.add(growing("time", {"time"}, {0}, "<f8"));
    expect_all(file.contents());
    expect_all(reopened()->contents());  // readers see it before the commit, too
  });
  expect_all(reopened()->contents());
}

TEST_P(ContractOfChanges, GroupsAreMadeByWhatIsInThem) {
  if (!can().has_names) GTEST_SKIP() << "it holds one";
  if (!can().has_groups) {
    const NewContents asked{.groups = {{}, {.path = "g"}}};
    EXPECT_EQ(refusals(asked).size(), 1);
    EXPECT_EQ(error_thrown_by([&] { create(asked); }).kind(), ErrorKind::kArgument);
    return;
  }
  create(
      NewContents{.groups = {{.dimensions = {{"x", 7, false}}}, {.path = "ocean", .attributes = {{"depth", "deep"}}}},
                  .arrays = {along({"x"}, array("ocean/t", {7}))}});
  change([&](FormatFile& file) {
    file.add(along({"x", "own"}, array("ice/thin/u", {7, 2})));
    file.set_attributes("ice/thin", {{"age", "old"}});
    EXPECT_NE(file.contents().group("ice/thin"), nullptr);
  });
  const auto file = reopened();
  const Contents& found = file->contents();
  EXPECT_EQ(found.group("ocean")->attributes.text("depth"), "deep");
  EXPECT_EQ(found.group("ice/thin")->attributes.text("age"), "old");
  EXPECT_NE(found.group("ice"), nullptr);
  EXPECT_EQ(found.variable("ocean/t")->dimensions, std::vector<std::string>{"x"});
  EXPECT_EQ(found.dimension("ice/thin", "x")->length, 7) << "it is seen from there";
  EXPECT_EQ(described("ice/thin/u").shape, (Shape{7, 2}));
}

TEST_P(ContractOfChanges, RowsAreAddedAndTakenAwayAgain) {
  if (!can().has_names) GTEST_SKIP() << "it does not grow";
  start();
  std::string written;
  change([&](FormatFile& file) {
    for (int64_t row = 0; row < 5; ++row) {
      const Description longer = file.extend("t", row + 1, row);
      EXPECT_EQ(longer.shape, (Shape{row + 1, 7}));
      if (places_of(longer)) {
        written = row == 0 ? "" : read_elements(longer).substr(0, static_cast<size_t>(28 * row));
        written += numbered(longer, static_cast<int>(row)).substr(0, 28);
        write_elements(longer, written);
      }
      file.set_length("time", row + 1);
      file.written(Room::kRows, "t");
      EXPECT_EQ(file.describe("u").shape, (Shape{row + 1, 5})) << "it lies along the same dimension";
      EXPECT_EQ(file.contents().dimension("", "time")->length, row + 1);
    }
    file.extend("t", 7, 5);
    EXPECT_EQ(file.extend("t", 5, std::nullopt).shape, (Shape{5, 7}));
  });
  EXPECT_EQ(described("t").shape, (Shape{5, 7}));
  EXPECT_EQ(described("u").shape, (Shape{5, 5}));
  EXPECT_EQ(described("a").shape, (Shape{5, 7}));
  EXPECT_TRUE(!places_of(described("t")) || read_elements(described("t")) == written);
}

TEST_P(ContractOfChanges, AnyDimensionGrowsOrNoneButTheFirst) {
  if (!can().has_names) GTEST_SKIP() << "it does not grow";
  NewArray asked = growing("t", {"time", "x"}, {0, 0});
  asked.unlimited = {true, true};
  if (asked.chunks) asked.chunks = Shape{2, 2};
  if (!can().grows_anywhere) {
    EXPECT_EQ(refusals({.arrays = {asked}}).size(), 1);
    EXPECT_EQ(error_thrown_by([&] { create(asked); }).kind(), ErrorKind::kArgument);
    return;
  }
  create(asked);
  change([&](FormatFile& file) {
    file.set_length("x", 4);
    file.set_length("time", 3);
    EXPECT_EQ(file.describe("t").shape, (Shape{3, 4}));
  });
  EXPECT_EQ(described("t").unlimited, (std::vector<bool>{true, true}));
  EXPECT_EQ(*reopened()->contents().dimension("", "x"), (Dimension{"x", 4, true}));
}

TEST_P(ContractOfChanges, WhatFailsChangesNoByteAndTheFileIsChangedOn) {
  if (!can().has_names) GTEST_SKIP() << "it is never changed";
  start();
  const Tree before = tree_of(path_);
  Changes changes(path_, {});
  const auto file = format_of(path_).open(path_, &changes);
  file->contents();
  for (const auto& [what, work] : wrong_changes()) {
    const Error error = error_thrown_by([&] { work(*file); });
    EXPECT_TRUE(error.kind() == ErrorKind::kArgument || error.os_error() == EEXIST) << what << ": " << error.what();
    EXPECT_EQ(tree_of(path_), before) << what;
    EXPECT_EQ(file->contents().variables().size(), 3) << what;
  }
  file->set_length("time", 2);
  file->set_attributes("t", {{"units", "degC"}});
  changes.commit();
  EXPECT_EQ(described("t").shape, (Shape{2, 7}));
  EXPECT_EQ(described("t").attributes.text("units"), "degC");
}

INSTANTIATE_TEST_SUITE_P(Of, ContractOfChanges, testing::ValuesIn(flavours()), name_of_flavour);

}  // namespace
}  // namespace swath::formats
