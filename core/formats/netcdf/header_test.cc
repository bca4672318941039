#include "formats/netcdf/header.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.h"
#include "testing/naive.h"

namespace swath::formats::netcdf {
namespace {

using swath::testing::Random;

// A header byte by byte, so that a test can make a false one.
class Bytes {
 public:
  explicit Bytes(int version) : version_(version), raw_("CDF") { raw_ += static_cast<char>(version); }

  Bytes& number(uint64_t value, int bytes) {
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) raw_ += static_cast<char>(value >> shift);
    return *this;
  }
  Bytes& count(uint64_t value) { return number(value, version_ == 5 ? 8 : 4); }
  Bytes& begin(uint64_t value) { return number(value, version_ == 1 ? 4 : 8); }
  Bytes& none() { return number(0, 4).count(0); }
  Bytes& list(uint64_t tag, uint64_t entries) { return number(tag, 4).count(entries); }
  Bytes& padded(const std::string& bytes) {
    raw_ += bytes;
    raw_.append((4 - bytes.size() % 4) % 4, '\0');
    return *this;
  }
  Bytes& name(const std::string& name) { return count(name.size()).padded(name); }
  Bytes& dimension(const std::string& of, uint64_t length) { return name(of).count(length); }
  Bytes& attribute(const std::string& of, uint64_t type, uint64_t values, const std::string& bytes) {
    return name(of).number(type, 4).count(values).padded(bytes);
  }
  // A variable without attributes.
  Bytes& variable(const std::string& of, const std::vector<uint64_t>& dimensions, uint64_t type, uint64_t at) {
    name(of).count(dimensions.size());
    for (const uint64_t index : dimensions) count(index);
    return none().number(type, 4).count(0).begin(at);
  }

  const std::string& raw() const { return raw_; }

 private:
  int version_;
  std::string raw_;
};

// The header of a file that begins with `bytes`; the rest, up to `file_bytes`, is a hole.
Header read(const std::string& bytes, std::optional<int64_t> file_bytes = std::nullopt) {
  const int64_t end = file_bytes.value_or(static_cast<int64_t>(bytes.size()));
  return read_header("a.nc", end, [&](int64_t offset, std::span<std::byte> target) {
    const int64_t wanted = static_cast<int64_t>(target.size());
    if (offset < 0 || offset > end || wanted > end - offset) ADD_FAILURE() << "read beyond the file at " << offset;
    std::memset(target.data(), 0, target.size());
    const int64_t there = std::clamp<int64_t>(static_cast<int64_t>(bytes.size()) - offset, 0, wanted);
    if (there > 0) std::memcpy(target.data(), bytes.data() + offset, static_cast<size_t>(there));
    return wanted;
  });
}

std::string error_of(const std::string& bytes, std::optional<int64_t> file_bytes = std::nullopt) {
  try {
    read(bytes, file_bytes);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kFormat);
    return error.what();
  }
  return "no error";
}

void expect_error(const std::string& bytes, const std::string& part, std::optional<int64_t> file_bytes = std::nullopt) {
  const std::string text = error_of(bytes, file_bytes);
  EXPECT_NE(text.find(part), std::string::npos) << text << "\nlacks: " << part;
}

// The header, and data from byte 400 on.
std::string with_data(const Bytes& header, size_t bytes = 100) {
  std::string file = header.raw();
  file.resize(400 + bytes);
  return file;
}

// Dimensions t (records), x (3); attributes of the file and of a variable; f is fixed, r and s have records.
Bytes full(int version) {
  Bytes header(version);
  header.count(2).list(10, 2).dimension("t", 0).dimension("x", 3);
  header.list(12, 2).attribute("title", 2, 5, "hello").attribute("empty", 2, 0, "");
  header.list(11, 3).variable("f", {1}, 5, 400);
  header.name("r").count(2).count(0).count(1).list(12, 1).attribute("n", 3, 2, std::string("\0\1\0\2", 4));
  header.number(3, 4).count(8).begin(412);
  return header.variable("s", {0}, 1, 420);
}

class EveryVersion : public ::testing::TestWithParam<int> {};

TEST_P(EveryVersion, AHeaderIsTakenApart) {
  const Header header = read(with_data(full(GetParam())));
  EXPECT_EQ(header.version, GetParam());
  ASSERT_EQ(header.dimensions.size(), 2);
  EXPECT_EQ(header.dimensions[0].name, "t");
  EXPECT_EQ(header.dimensions[0].length, 0);
  EXPECT_EQ(header.dimensions[1].name, "x");
  EXPECT_EQ(header.dimensions[1].length, 3);
  ASSERT_EQ(header.attributes.size(), 2);
  EXPECT_EQ(header.attributes[0].name, "title");
  EXPECT_EQ(header.attributes[0].type, Type::kChar);
  EXPECT_EQ(header.attributes[0].values, "hello");
  EXPECT_EQ(header.attributes[1].values, "");
  EXPECT_EQ(header.records, 2);
  EXPECT_EQ(header.record_bytes, 8 + 4);

  ASSERT_EQ(header.variables.size(), 3);
  const auto& [f, r, s] = std::tie(header.variables[0], header.variables[1], header.variables[2]);
  EXPECT_EQ(f.name, "f");
  EXPECT_FALSE(f.is_record);
  EXPECT_EQ(f.type, Type::kFloat);
  EXPECT_EQ(f.begin, 400);
  EXPECT_EQ(f.slab_bytes, 12);
  EXPECT_EQ(f.dimensions, std::vector<int64_t>({1}));
  EXPECT_EQ(header.shape_of(f), std::vector<int64_t>({3}));
  EXPECT_TRUE(r.is_record);
  EXPECT_EQ(r.slab_bytes, 6);
  EXPECT_EQ(r.padded_bytes(), 8);
  EXPECT_EQ(header.shape_of(r), std::vector<int64_t>({2, 3}));
  ASSERT_EQ(r.attributes.size(), 1);
  EXPECT_EQ(r.attributes[0].type, Type::kShort);
  EXPECT_EQ(r.attributes[0].values, std::string("\0\1\0\2", 4));
  EXPECT_EQ(s.begin, 420);
  EXPECT_EQ(s.slab_bytes, 1);
  EXPECT_EQ(s.padded_bytes(), 4);
}

TEST_P(EveryVersion, AFileMayHoldNothing) {
  const Header header = read(Bytes(GetParam()).count(0).none().none().none().raw());
  EXPECT_TRUE(header.dimensions.empty());
  EXPECT_TRUE(header.attributes.empty());
  EXPECT_TRUE(header.variables.empty());
  EXPECT_EQ(header.record_bytes, 0);
  // An empty list may have its tag.
  EXPECT_TRUE(read(Bytes(GetParam()).count(0).list(10, 0).list(12, 0).list(11, 0).raw()).variables.empty());
}

TEST_P(EveryVersion, AVariableWithoutDimensionsIsOneValue) {
  const Header header = read(with_data(Bytes(GetParam()).count(0).none().none().list(11, 1).variable("v", {}, 6, 400)));
  EXPECT_EQ(header.variables[0].slab_bytes, 8);
  EXPECT_TRUE(header.shape_of(header.variables[0]).empty());
}

TEST_P(EveryVersion, RecordsOfASingleVariableAreNotPadded) {
  Bytes one(GetParam());
  one.count(7).list(10, 2).dimension("t", 0).dimension("x", 3).none().list(11, 1).variable("v", {0, 1}, 1, 400);
  EXPECT_EQ(read(with_data(one)).record_bytes, 3);
  Bytes two(GetParam());
  two.count(7).list(10, 2).dimension("t", 0).dimension("x", 3).none();
  two.list(11, 2).variable("v", {0, 1}, 1, 400).variable("w", {0, 1}, 3, 404);
  EXPECT_EQ(read(with_data(two)).record_bytes, 4 + 8);
}

TEST_P(EveryVersion, AStreamingFileHasTheRecordsThatFit) {
  const auto records = [&](size_t data_bytes) {
    Bytes header(GetParam());
    header.count(UINT64_MAX).list(10, 2).dimension("t", 0).dimension("x", 3).none();
    return read(with_data(header.list(11, 1).variable("v", {0, 1}, 3, 400), data_bytes)).records;
  };
  EXPECT_EQ(records(0), 0);
  EXPECT_EQ(records(5), 0);
  EXPECT_EQ(records(6), 1);
  EXPECT_EQ(records(17), 2);
  EXPECT_EQ(records(18), 3);
  // A file without record variables has no records.
  EXPECT_EQ(read(Bytes(GetParam()).count(UINT64_MAX).list(10, 1).dimension("t", 0).none().none().raw()).records, 0);
}

TEST_P(EveryVersion, EveryTruncationNamesAnOffset) {
  const std::string header = full(GetParam()).raw();
  for (size_t bytes = 0; bytes < header.size(); ++bytes) {
    const std::string text = error_of(header.substr(0, bytes));
    const std::string start = "a.nc: netCDF header at byte ";
    ASSERT_TRUE(text.starts_with(start)) << bytes << ": " << text;
    const int64_t offset = std::strtoll(text.c_str() + start.size(), nullptr, 10);
    EXPECT_LE(offset, static_cast<int64_t>(bytes)) << text;
    EXPECT_TRUE(text.find("it is truncated or the header is damaged") != std::string::npos ||
                text.find(" are left") != std::string::npos)
        << bytes << ": " << text;
  }
}

TEST_P(EveryVersion, AFileThatShrinksMeanwhileIsToldSo) {
  const std::string header = full(GetParam()).raw();
  const ReadAt half = [&](int64_t offset, std::span<std::byte> target) {
    const int64_t there = std::max<int64_t>(0, static_cast<int64_t>(header.size() / 2) - offset);
    const auto part = static_cast<size_t>(std::min(there, static_cast<int64_t>(target.size())));
    std::memcpy(target.data(), header.data() + offset, part);
    return static_cast<int64_t>(part);
  };
  try {
    read_header("a.nc", 1000, half);
    FAIL() << "nothing was missed";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("could be read: the file shrank meanwhile"), std::string::npos);
  }
}

TEST_P(EveryVersion, LongHeadersAreReadInBlocks) {
  Bytes header(GetParam());
  header.count(0).list(10, 9000);
  for (int i = 0; i < 9000; ++i) header.dimension("dimension_" + std::to_string(i), 3);
  const std::string value(300'000, 'v');
  header.list(12, 1).attribute("long", 2, value.size(), value).none();
  int reads = 0;
  const Header found =
      read_header("a.nc", static_cast<int64_t>(header.raw().size()), [&](int64_t offset, std::span<std::byte> target) {
        ++reads;
        std::memcpy(target.data(), header.raw().data() + offset, target.size());
        return static_cast<int64_t>(target.size());
      });
  ASSERT_EQ(found.dimensions.size(), 9000);
  for (size_t i = 0; i < 9000; ++i) ASSERT_EQ(found.dimensions[i].name, "dimension_" + std::to_string(i));
  EXPECT_EQ(found.attributes[0].values, value);
  EXPECT_LE(reads, static_cast<int>(header.raw().size() / 65536) + 1);
}

TEST_P(EveryVersion, LiesAreRefusedWithTheirField) {
  const int version = GetParam();
  const auto start = [&] { return std::move(Bytes(version).count(2)); };
  const auto dimensions = [&] { return std::move(start().list(10, 2).dimension("t", 0).dimension("x", 3)); };
  const auto variables = [&](uint64_t entries) { return std::move(dimensions().none().list(11, entries)); };

  expect_error(start().list(11, 1).raw(), "the tag of the dimensions is 11; expected 10, or 0 for none");
  expect_error(start().list(10, 1000).raw(), "the number of dimensions is 1000, which needs ");
  expect_error(start().list(0, 1).raw() + std::string(40, '\0'), "1 dimensions follow a tag that says there are none");
  expect_error(start().list(10, 1).count(0).raw() + std::string(40, '\0'), "the name of dimension 0 is empty");
  expect_error(start().list(10, 1).dimension(std::string(3, '\0'), 1).raw(), "the name of dimension 0 is empty");
  expect_error(start().list(10, 2).dimension("t", 0).dimension("x", 0).raw(),
               "dimension x has length 0, but there is a record dimension already");
  expect_error(start().list(10, 2).dimension("x", 3).dimension("x", 4).raw(), "there are two dimensions x");
  const std::string hole = dimensions().list(12, 1).name("a").number(2, 4).count(uint64_t{1} << 30).raw();
  expect_error(hole, "attribute a of the file takes 1073741824 bytes; no header needs more than 67108864",
               int64_t{1} << 40);
  expect_error(with_data(variables(1).variable("v", {2}, 3, 400)), "variable v has dimension 2; the file has only 2");
  expect_error(with_data(variables(1).variable("v", {1, 0}, 3, 400)),
               "variable v has the record dimension at a place other than the first");
  expect_error(with_data(variables(1).variable("v", {0, 0}, 3, 400)), "at a place other than the first");
  expect_error(with_data(variables(1).variable("v", std::vector<uint64_t>(1025, 1), 3, 20000), 20000),
               "variable v has 1025 dimensions; netCDF allows 1024");
  expect_error(with_data(variables(1).variable("v", {1}, 0, 400)), "the type of v is 0; expected 1 to ");
  expect_error(with_data(variables(1).variable("v", {1}, version == 5 ? 12 : 7, 400)),
               version == 5 ? "is 12; expected 1 to 11" : "is 7; expected 1 to 6");
  expect_error(with_data(variables(1).variable("v", {1}, 3, 8)), "data of v begin at byte 8, inside the header");
  expect_error(with_data(variables(2).variable("v", {1}, 3, 400).variable("v", {1}, 3, 410)),
               "there are two variables v");
  expect_error(with_data(variables(2).variable("v", {1}, 3, 400).variable("w", {1}, 3, 400)),
               "places v up to byte 406, and w from 400 on");
  expect_error(with_data(variables(2).variable("v", {0, 1}, 1, 400).variable("w", {0, 1}, 1, 500)),
               "places w across the records, which are 8 bytes each from byte 400 on");
}

INSTANTIATE_TEST_SUITE_P(NetcdfClassic, EveryVersion, ::testing::Values(1, 2, 5));

TEST(NetcdfClassic, OtherFilesAndVersionsAreRefused) {
  expect_error("", "the magic number takes 4 bytes, but the file ends after 0 more");
  expect_error(std::string("\x89HDF\r\n\x1a\n", 8), "the file begins with \"\\x89HDF\"; expected CDF");
  expect_error(Bytes(3).raw(), "version 3 of netCDF classic is unknown; expected 1, 2 or 5");
}

TEST(NetcdfClassic, WhatIsBeyond64BitOffsetsIsRefused) {
  const auto three = [](uint64_t records, uint64_t x, uint64_t y, const std::vector<uint64_t>& of, uint64_t begin) {
    Bytes header(5);
    header.count(records).list(10, 3).dimension("t", 0).dimension("x", x).dimension("y", y).none();
    return with_data(header.list(11, 1).variable("v", of, 6, begin));
  };
  const uint64_t many = uint64_t{1} << 62;
  expect_error(three(0, uint64_t{1} << 63, 1, {1}, 400), "dimension x of length 9223372036854775808 is beyond 64-bit");
  expect_error(three(0, many, many, {1, 2}, 400),
               "variable v of shape (4611686018427387904, 4611686018427387904) is beyond 64-bit offsets");
  expect_error(three(0, many, 1, {1}, 400), "variable v of shape (4611686018427387904,) is beyond 64-bit offsets");
  expect_error(three(0, 1, 1, {1}, UINT64_MAX), "begin at byte 18446744073709551615 and end beyond 64-bit offsets");
  expect_error(three(0, 1, 1, {1}, INT64_MAX - 7), "begin at byte 9223372036854775800 and end beyond 64-bit offsets");
  expect_error(three(uint64_t{1} << 63, 1, 1, {0}, 400), "9223372036854775808 records of 8 bytes are too many");
  expect_error(three(uint64_t{1} << 60, 1, 1, {0}, 400), "1152921504606846976 records of 8 bytes are too many");
  expect_error(three((uint64_t{1} << 60) - 1, 1, 1, {0}, 400), "1152921504606846975 records of 8 bytes are too many");
  EXPECT_EQ(read(three((uint64_t{1} << 60) - 51, 1, 1, {0}, 400)).records, (int64_t{1} << 60) - 51);
  EXPECT_EQ(read(three(0, 1, 1, {1}, INT64_MAX - 8)).variables[0].begin, INT64_MAX - 8);
}

TEST(NetcdfClassic, RecordsThatTogetherAreBeyond64BitOffsetsAreRefused) {
  Bytes header(5);
  header.count(0).list(10, 2).dimension("t", 0).dimension("x", uint64_t{1} << 62).none();
  header.list(11, 2).variable("v", {0, 1}, 1, 400).variable("w", {0, 1}, 1, 500);
  expect_error(with_data(header), "one record of all variables is beyond 64-bit offsets");
}

TEST(NetcdfClassic, HugeCountsInAHugeFileTakeNoMemory) {
  const int64_t huge = int64_t{1} << 62;
  expect_error(Bytes(5).count(0).list(10, uint64_t{1} << 50).raw(), "the name of dimension 0 is empty", huge);
  expect_error(Bytes(5).count(0).none().list(12, uint64_t{1} << 50).raw(), "the name of attribute 0 of the file is",
               huge);
  expect_error(Bytes(5).count(0).none().none().list(11, uint64_t{1} << 50).raw(), "the name of variable 0 is empty",
               huge);
  expect_error(Bytes(5).count(0).list(10, UINT64_MAX).raw(), "needs more than 18446744073709551615 bytes", huge);
  expect_error(Bytes(5).count(0).list(10, 1).count(uint64_t{1} << 61).raw(), "the name of dimension 0 takes ", huge);
}

TEST(NetcdfClassic, NamesEndAtTheirFirstZeroByteAndNeedNotBeUtf8) {
  const auto name_of = [](const std::string& stored) {
    return read(Bytes(1).count(0).list(10, 1).dimension(stored, 1).none().none().raw()).dimensions.front().name;
  };
  EXPECT_EQ(name_of(std::string("t\0\0\0\0", 5)), "t");
  EXPECT_EQ(name_of(std::string("ab\0cd", 5)), "ab");
  EXPECT_EQ(name_of("temp\xe9rature"), "température");
  const std::string twice = Bytes(1).count(0).list(10, 2).dimension("x", 1).dimension(std::string("x\0", 2), 1).raw();
  expect_error(twice, "there are two dimensions x");
}

TEST(NetcdfClassic, ANameInUtf8AndInLatin1CannotBeToldApart) {
  const std::string twice =
      Bytes(1).count(0).list(10, 2).dimension("gr\xfc\xdf", 1).dimension("grüß", 1).none().none().raw();
  expect_error(twice, "a.nc: netCDF header has the name 'grüß' in UTF-8 and in Latin-1: they cannot be told apart");
}

TEST_P(EveryVersion, WhatWasReadIsWrittenAgainByteForByte) {
  const auto written = [](const std::string& stored) { return to_bytes(read(stored)); };
  Bytes none = Bytes(GetParam()).count(0).none().none().none();
  EXPECT_EQ(written(none.raw()), none.raw());
  Bytes header(GetParam());
  header.count(2).list(10, 2).dimension("t", 0).dimension("gr\xfc\xdf", 3);
  header.list(12, 2).attribute("title", 2, 5, "hello").attribute("empty", 2, 0, "");
  header.list(11, 1).name("größe").count(2).count(0).count(1).list(12, 1);
  header.attribute("n", 3, 2, std::string("\0\1\0\2", 4)).number(3, 4).count(8).begin(400);
  const std::string file = with_data(header);
  const Header found = read(file);
  EXPECT_EQ(found.header_bytes, std::ssize(header.raw()));
  EXPECT_EQ(found.latin1_names, (std::set<std::string>{"grüß"}));
  EXPECT_EQ(to_bytes(found), header.raw());
}

TEST(NetcdfClassic, MessagesEscapeWhatIsNotUtf8AsUnicodeDefinesIt) {
  const auto is_shown = [](const std::string& name) {
    const std::string twice = Bytes(1).count(0).list(10, 2).dimension(name, 1).dimension(name, 1).raw();
    return error_of(twice).ends_with("there are two dimensions " + name);
  };
  for (const char* good : {"a", "größe", "温度", "\U0001F30A", "\U0010FFFF", "\uFFFF", "\u0800", "\u07FF", "\uD7FF"}) {
    EXPECT_TRUE(is_shown(good)) << good;
  }
  for (const char* bad : {"\x80", "\xC1\xBF", "a\xC3", "\xC3(", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xE2\x82",
                          "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xF0\x9F\x8C", "\xFF"}) {
    EXPECT_FALSE(is_shown(bad));
  }
}

TEST(NetcdfClassic, MessagesShowControlCharactersAndCutLongNames) {
  expect_error(Bytes(1)
                   .count(0)
                   .list(10, 1)
                   .name("a\x01"
                         "b\nc")
                   .raw(),
               "the length of dimension a\\x01b\\x0ac takes 4 bytes");
  const std::string text = error_of(Bytes(1).count(0).list(10, 1).name(std::string(100'000, 'n')).raw());
  EXPECT_LT(text.size(), 500);
  EXPECT_NE(text.find("nnn… takes 4 bytes"), std::string::npos);
}

// ---- mutated headers ------------------------------------------------------------------------------------------------

std::string mutated(std::string bytes, Random& random) {
  constexpr unsigned char kTelling[] = {0, 1, 2, 3, 4, 5, 10, 11, 12, 0x7F, 0x80, 0xFF};
  for (int64_t change = random.between(1, 6); change > 0; --change) {
    const auto at = static_cast<size_t>(random.between(4, static_cast<int64_t>(bytes.size()) - 1));
    const auto value = static_cast<char>(random.chance(50) ? kTelling[random.between(0, 11)] : random.between(0, 255));
    const auto length = static_cast<size_t>(random.between(1, 8));
    switch (random.between(0, 5)) {
      case 0:
        bytes.insert(at, length, value);
        break;
      case 1:
        if (bytes.size() > 40) bytes.erase(at, length);
        break;
      case 2:
        std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), std::min(length, bytes.size() - at), value);
        break;
      default:
        bytes[at] = value;
    }
  }
  if (random.chance(10)) bytes.resize(static_cast<size_t>(random.between(0, static_cast<int64_t>(bytes.size()))));
  return bytes;
}

// Checks what is true of every header that is accepted.
void check(const Header& header, int64_t file_bytes) {
  int64_t told_bytes = 0;
  const auto add = [&](const std::vector<StoredAttribute>& attributes) {
    for (const StoredAttribute& attribute : attributes) {
      ASSERT_FALSE(attribute.name.empty());
      ASSERT_EQ(static_cast<int64_t>(attribute.values.size()) % type_bytes(attribute.type), 0);
      told_bytes += static_cast<int64_t>(attribute.name.size() + attribute.values.size());
    }
  };
  int64_t record_dimensions = 0;
  for (const StoredDimension& dimension : header.dimensions) {
    ASSERT_FALSE(dimension.name.empty());
    ASSERT_GE(dimension.length, 0);
    if (dimension.length == 0) ++record_dimensions;
    told_bytes += static_cast<int64_t>(dimension.name.size());
  }
  ASSERT_LE(record_dimensions, 1);
  add(header.attributes);
  for (const StoredVariable& variable : header.variables) {
    told_bytes += static_cast<int64_t>(variable.name.size());
    add(variable.attributes);
    int64_t bytes = type_bytes(variable.type);
    for (const int64_t index : variable.dimensions) {
      ASSERT_LT(static_cast<size_t>(index), header.dimensions.size());
    }
    const auto shape = header.shape_of(variable);
    for (size_t d = variable.is_record ? 1 : 0; d < shape.size(); ++d) {
      ASSERT_GT(shape[d], 0);
      ASSERT_FALSE(__builtin_mul_overflow(bytes, shape[d], &bytes));
    }
    ASSERT_EQ(bytes, variable.slab_bytes);
    int64_t end = 0;
    ASSERT_FALSE(__builtin_add_overflow(variable.begin, variable.slab_bytes, &end));
    if (!variable.is_record || header.records == 0) continue;
    int64_t before = 0;
    ASSERT_FALSE(__builtin_mul_overflow(header.records - 1, header.record_bytes, &before));
    ASSERT_FALSE(__builtin_add_overflow(before, end, &end));
  }
  ASSERT_LE(told_bytes, 2 * file_bytes);  // Latin-1 takes half the bytes of UTF-8
}

// A header that was accepted is the same after it is written and read. `vsize` may differ: no reader uses it.
void check_written(const Header& header, int64_t file_bytes) {
  const std::string written = to_bytes(header);
  ASSERT_LE(std::ssize(written), header.header_bytes);  // names may end early
  const Header again = read(written, std::max<int64_t>(file_bytes, std::ssize(written)));
  ASSERT_EQ(again.records, header.records);
  ASSERT_EQ(again.dimensions, header.dimensions);
  ASSERT_EQ(again.variables.size(), header.variables.size());
  ASSERT_EQ(to_bytes(again), written);
}

// The number of inputs takes seconds; SWATH_FUZZ_INPUTS sets another one.
int64_t inputs_wanted() {
  const char* asked = std::getenv("SWATH_FUZZ_INPUTS");
  return asked == nullptr ? 200'000 : std::strtoll(asked, nullptr, 10);
}

TEST(NetcdfClassic, MutatedHeadersAreRefusedOrConsistent) {
  std::vector<std::string> valid;
  for (const int version : {1, 2, 5}) {
    valid.push_back(with_data(full(version)));
    valid.push_back(full(version).raw());
    valid.push_back(Bytes(version).count(0).none().none().none().raw());
  }
  Random random(25);
  int64_t refused = 0;
  const int64_t inputs = inputs_wanted();
  for (int64_t i = 0; i < inputs; ++i) {
    const std::string bytes = mutated(valid[static_cast<size_t>(random.between(0, 8))], random);
    // A hole after the header makes space for any size that it states.
    const int64_t hole = random.chance(30)  ? random.between(0, 4096)
                         : random.chance(3) ? int64_t{1} << random.between(16, 61)
                                            : 0;
    const int64_t file_bytes = std::ssize(bytes) + hole;
    try {
      const Header header = read(bytes, file_bytes);
      check(header, file_bytes);
      check_written(header, file_bytes);
    } catch (const Error& error) {
      ++refused;
      ASSERT_EQ(error.kind(), ErrorKind::kFormat) << error.what();
      ASSERT_TRUE(std::string(error.what()).starts_with("a.nc: netCDF header ")) << error.what();
    }
    if (HasFatalFailure()) FAIL() << "input " << i;
  }
  EXPECT_GT(refused, inputs / 4);
  EXPECT_LT(refused, inputs);
}

}  // namespace
}  // namespace swath::formats::netcdf
