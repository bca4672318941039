// The contents of new files of any format, and what formats refuse.
#include <cerrno>
#include <sstream>

#include "formats/contract_for_tests.h"

namespace swath::formats {
namespace {

ElementType parsed(const std::string& name, bool big_endian) {
  if (name.starts_with("structure")) {
    ElementType type{.kind = 'V', .bytes = name == "structure" ? 6 : 16};
    const auto field = [&](const char* number) { return parsed(number, big_endian); };
    type.fields = {{"a", field("f4"), 0, {}}, {"b", field("i2"), 4, {}}};
    if (name == "structure_of_arrays") type.fields.back() = {"b", field("i2"), 6, {2, 2}};
    return type;
  }
  return ElementType::parse((big_endian ? ">" : "<") + name);
}

std::vector<std::string> words_of(std::string_view text) {
  std::istringstream stream{std::string(text)};
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

class ContractOfNewFiles : public ContractTest {
 protected:
  // No file is made, and refusals() has the message that create() throws.
  void expect_refused(const NewContents& contents, const std::string& what) {
    const std::vector<std::string> why = refusals(contents);
    ASSERT_FALSE(why.empty()) << what;
    const Error error = error_thrown_by([&] { create(contents); });
    EXPECT_TRUE(error.kind() == ErrorKind::kArgument || error.kind() == ErrorKind::kUnsupported ||
                error.os_error() == EEXIST)
        << what << ": " << error.what();
    EXPECT_TRUE(std::filesystem::is_empty(folder_)) << what;
  }
  void expect_refused(const NewArray& array, const std::string& what) {
    expect_refused(NewContents{.arrays = {array}}, what);
  }
};

TEST_P(ContractOfNewFiles, ElementsOfEveryTypeAreAsTheyWereAskedForOrRefused) {
  for (const std::string& name : words_of(kAllTypes)) {
    for (const bool big_endian : {false, true}) {
      const ElementType type = parsed(name, big_endian);
      if (type.is_text() && GetParam().stored != Stored::kContiguous) continue;  // text has no chunks of bytes
      NewArray asked = array("t", {4, 3});
      asked.type = type;
      if (asked.codecs && !asked.codecs->empty()) asked.codecs->front().element_bytes = type.bytes;
      if (!stores(name)) {
        expect_refused(asked, name);
        continue;
      }
      EXPECT_TRUE(refusals({.arrays = {asked}}).empty()) << name;
      create(asked);
      const Description found = described("t");
      EXPECT_EQ(found.type, stored_type(type)) << name << " " << found.type.to_string();
      EXPECT_EQ(found.shape, (Shape{4, 3})) << name;
      EXPECT_TRUE(type.is_text() || std::ssize(found.fill) == type.bytes) << name;
      const auto file = reopened();
      EXPECT_EQ(variable_of(file->contents(), "t").type, stored_type(type)) << name;
      std::filesystem::remove_all(path_);
    }
  }
}

TEST_P(ContractOfNewFiles, ShapesOfEveryKindAreAsTheyWereAskedFor) {
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{1, 1, 1}, Shape{7}, Shape{6, 4}, Shape{5, 3, 7}}) {
    create(array("t", shape));
    const Description found = described("t");
    EXPECT_EQ(found.shape, shape);
    EXPECT_TRUE(found.dimensions.empty() || found.dimensions.size() == shape.size());
    EXPECT_EQ(variable_of(reopened()->contents(), "t").shape, shape);
    EXPECT_TRUE(format().is_folder() || found.end <= std::ssize(tree_of(path_).at("")));
    std::filesystem::remove_all(path_);
  }
}

TEST_P(ContractOfNewFiles, DimensionsMayHaveNoLength) {
  for (const Shape& shape : {Shape{0}, Shape{3, 0}, Shape{0, 4}}) {
    NewArray asked = array("t", shape);
    if (asked.chunks) asked.chunks = Shape(shape.size(), 2);
    if (!can().has_no_length && shape.back() == 0 && shape.size() > 1) {
      expect_refused(asked, to_string(shape));
      continue;
    }
    create(asked);
    EXPECT_EQ(described("t").shape, shape);
    EXPECT_EQ(places_of(described("t")).value_or(std::vector<ElementPosition>{}).size(), 0);
    std::filesystem::remove_all(path_);
  }
}

TEST_P(ContractOfNewFiles, ANameThatIsTakenStaysAsItIs) {
  create(array("t", {3, 2}));
  const Tree before = tree_of(path_);
  const Error error = error_thrown_by([&] { create(array("t", {4, 4})); });
  EXPECT_EQ(error.kind(), ErrorKind::kStore);
  EXPECT_EQ(error.os_error(), EEXIST);
  EXPECT_EQ(tree_of(path_), before);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_P(ContractOfNewFiles, AFileIsFoundByItsFirstBytesAndOneThatIsNotThereByNothing) {
  create(array("t", {3, 2}));
  if (format().describes_itself()) {
    const std::string start = format().is_folder() ? "" : content_of(path_).substr(0, 8);
    EXPECT_TRUE(format_of(path_).matches(path_, start));
    EXPECT_EQ(format_of(path_).is_folder(), format().is_folder());
    EXPECT_EQ(format_of(path_).open(path_, nullptr)->contents().variables().size(), 1);
  } else {
    EXPECT_EQ(error_thrown_by([&] { format_of(path_); }).kind(), ErrorKind::kFormat);
    EXPECT_EQ(error_thrown_by([&] { format().open(path_, nullptr); }).kind(), ErrorKind::kArgument);
  }
  const Error error = error_thrown_by([&] { format_of(path_ + ".none"); });
  EXPECT_EQ(error.kind(), ErrorKind::kStore);
  EXPECT_EQ(error.os_error(), ENOENT);
  for (const std::string_view suffix : format().suffixes()) {
    const auto [found, flavour] = format_for("a" + std::string(suffix), "");
    EXPECT_EQ(found->name(), format().name()) << suffix;
    EXPECT_TRUE(flavour.empty());
  }
}

TEST_P(ContractOfNewFiles, AFileThatEndsTooEarlyIsAnErrorThatNamesIt) {
  if (format().is_folder()) GTEST_SKIP() << "it is many files";
  create(array("t", {30, 20}));
  const int64_t bytes = described("t").end;
  if (bytes == 0) GTEST_SKIP() << "nothing of its chunks is stored yet";
  std::filesystem::resize_file(path_, static_cast<uintmax_t>(bytes - 1));
  const Error error = error_thrown_by([&] { described("t"); });
  EXPECT_EQ(error.kind(), ErrorKind::kFormat);
  EXPECT_NE(std::string(error.what()).find(path_), std::string::npos) << error.what();
}

TEST_P(ContractOfNewFiles, OrdersThatAreNotStoredAreRefused) {
  const std::map<std::string, std::vector<int>> orders = {{"C", {0, 1, 2}}, {"F", {2, 1, 0}}, {"any", {1, 0, 2}}};
  for (const auto& [name, order] : orders) {
    NewArray asked = array("t", {4, 3, 5});
    asked.order = order;
    if (can().orders != "any" && can().orders.find(name) == std::string_view::npos) {
      expect_refused(asked, name);
      continue;
    }
    create(asked);
    const auto places = places_of(described("t"));
    if (places) {  // neighbours along the fastest dimension are neighbours in the file
      const std::vector<int64_t> steps = {15, 5, 1};
      const auto next = static_cast<size_t>(steps[static_cast<size_t>(order.back())]);
      EXPECT_EQ((*places)[next].offset - (*places)[0].offset, 4) << name;
    }
    std::filesystem::remove_all(path_);
  }
}

TEST_P(ContractOfNewFiles, ChunksShardsAndCodecsThatItHasNotAreRefused) {
  const Stored stored = GetParam().stored;
  if (stored != Stored::kContiguous || can().keeps_chunk_tables) GTEST_SKIP() << "it has chunks";
  NewArray asked = array("t", {6, 4});
  asked.chunks = Shape{2, 2};
  expect_refused(asked, "chunks");
  asked.chunks.reset();
  asked.shards = Shape{4, 4};
  expect_refused(asked, "shards");
  asked.shards.reset();
  asked.codecs = std::vector<Codec>{{.kind = CodecKind::kZlib}};
  expect_refused(asked, "codecs");
}

TEST_P(ContractOfNewFiles, ChunksThatCannotBeAreRefused) {
  if (GetParam().stored == Stored::kContiguous) GTEST_SKIP() << "it has no chunks";
  for (const Shape& chunks : {Shape{2}, Shape{2, 0}, Shape{2, -1}, Shape{}}) {
    NewArray asked = array("t", {6, 4});
    asked.chunks = chunks;
    expect_refused(asked, to_string(chunks));
  }
}

TEST_P(ContractOfNewFiles, AChunkAtAnEdgeIsStoredWhole) {
  if (GetParam().stored == Stored::kContiguous) GTEST_SKIP() << "it has no chunks";
  create(array("t", {5, 7}));
  const Description found = described("t");
  EXPECT_EQ(reopened()->contents().variable("t")->chunks, (Shape{2, 3}));
  if (const auto* coded = std::get_if<CodedLayout>(&found.layout)) {
    EXPECT_EQ(coded->chunk_shape, (Shape{2, 3}));
    EXPECT_EQ(coded->codecs.size(), GetParam().stored == Stored::kChunks ? 0 : 2);
  } else {
    const auto& layout = std::get<ChunkedLayout>(found.layout);
    EXPECT_EQ(layout.chunk_shape, (Shape{2, 3}));
    EXPECT_EQ(layout.offsets.size(), 9);
  }
}

TEST_P(ContractOfNewFiles, AFillValueIsSaidWithItsType) {
  NewArray asked = array("t", {4, 3}, "<i2");
  asked.fill = {{std::byte{7}, std::byte{1}}};
  create(asked);
  const Description found = described("t");
  std::vector<std::byte> expected = *asked.fill;
  if (!can().has_names) {
    EXPECT_EQ(found.fill, std::vector<std::byte>(2)) << "it has nowhere to say so";
    return;
  }
  if (!can().has_byte_orders) swap_bytes(asked.type, expected);
  const bool is_said = can().says_fill_of_stored || !places_of(found);
  EXPECT_TRUE(!is_said || found.fill == expected);
  const AttributeValue* said = found.attributes.find("_FillValue");
  ASSERT_NE(said, nullptr);
  EXPECT_EQ(element_count(std::get<NumbersValue>(*said).shape), 1);
  EXPECT_EQ(std::get<NumbersValue>(*said).type.in_byte_order(false), asked.type);
}

TEST_P(ContractOfNewFiles, AFileOfOneArrayHoldsNothingElse) {
  if (can().has_names) GTEST_SKIP() << "it holds many";
  EXPECT_FALSE(format().holds_many());
  const NewArray plain = array("", {3, 2});
  expect_refused(NewContents{}, "none");
  expect_refused(NewContents{.arrays = {plain, plain}}, "two");
  NewArray asked = plain;
  asked.variable = "t";
  expect_refused(asked, "a name");
  asked = along({"y", "x"}, plain);
  expect_refused(asked, "dimensions");
  asked = plain;
  asked.attributes = {{"units", "K"}};
  expect_refused(asked, "attributes");
  asked = plain;
  asked.unlimited = {true, false};
  expect_refused(asked, "growing");
  asked = plain;
  asked.fill = {{std::byte{1}}};
  expect_refused(asked, "a fill value that is no element");
  create(plain);
  EXPECT_EQ(error_thrown_by([&] { reopened()->describe("t"); }).kind(), ErrorKind::kArgument);
}

INSTANTIATE_TEST_SUITE_P(Of, ContractOfNewFiles, testing::ValuesIn(flavours()), name_of_flavour);

}  // namespace
}  // namespace swath::formats
