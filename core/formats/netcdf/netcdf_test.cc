#include "formats/netcdf/netcdf.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/error.h"
#include "formats/netcdf/define.h"
#include "formats/netcdf/move.h"
#include "formats/netcdf/values.h"
#include "formats/netcdf/whole.h"
#include "journal/changes.h"
#include "testing/naive.h"

namespace swath::formats::netcdf {
namespace {

using swath::testing::Random;
namespace fs = std::filesystem;

class NetcdfFiles : public ::testing::Test {
 protected:
  NetcdfFiles() : folder_(fs::temp_directory_path() / ("swath-netcdf-" + std::to_string(getpid()))) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~NetcdfFiles() override {
    moved_bytes_max = int64_t{4} << 20;
    fs::remove_all(folder_);
  }

  std::string path(const std::string& name = "a.nc") const { return (folder_ / name).string(); }
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(folder_)) found.push_back(entry.path().filename());
    std::sort(found.begin(), found.end());
    return found;
  }

  const fs::path folder_;
};

NewArray new_array(const std::string& name, Shape shape, const std::string& type,
                   std::optional<std::vector<std::string>> dimensions = std::nullopt) {
  NewArray array;
  array.variable = name;
  array.shape = std::move(shape);
  array.type = ElementType::parse(type);
  array.dimensions = std::move(dimensions);
  if (!array.shape.empty() && array.shape.front() == 0) {
    array.unlimited.assign(array.shape.size(), false);
    array.unlimited.front() = true;
  }
  return array;
}

std::string read_file(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY));
  std::string bytes(static_cast<size_t>(lseek(file.get(), 0, SEEK_END)), '\0');
  EXPECT_EQ(pread(file.get(), bytes.data(), bytes.size(), 0), std::ssize(bytes));
  return bytes;
}

// The elements of a variable, in order; bytes after the end of the file are zeros.
std::string elements(const Description& described) {
  std::string bytes = read_file(described.path);
  if (std::ssize(bytes) < described.end) bytes.resize(static_cast<size_t>(described.end));
  const auto& layout = std::get<StridedLayout>(described.layout);
  int64_t slab = described.type.bytes;
  for (size_t axis = 1; axis < described.shape.size(); ++axis) slab *= described.shape[axis];
  const int64_t rows = described.shape.empty() ? 1 : described.shape.front();
  std::string found;
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t at = layout.offset + (described.shape.empty() ? 0 : row * layout.strides.front());
    found += bytes.substr(static_cast<size_t>(at), static_cast<size_t>(slab));
  }
  return found;
}

void write_elements(const Description& described, const std::string& bytes) {
  const auto& layout = std::get<StridedLayout>(described.layout);
  const Descriptor file(open(described.path.c_str(), O_RDWR));
  const int64_t rows = described.shape.empty() ? 1 : described.shape.front();
  const int64_t slab = rows == 0 ? 0 : std::ssize(bytes) / rows;
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t at = layout.offset + (described.shape.empty() ? 0 : row * layout.strides.front());
    ASSERT_EQ(pwrite(file.get(), bytes.data() + row * slab, static_cast<size_t>(slab), at), slab);
  }
}

std::string error_of(const auto& work, ErrorKind kind = ErrorKind::kArgument) {
  try {
    work();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  return "no error";
}

NewContents empty_file(const std::string& flavour = "") { return {flavour, {Group{}}, {}}; }

// Makes a file of two fixed variables and two with records, all of odd sizes; returns their elements.
std::map<std::string, std::string> make_with_records(const std::string& path, const std::string& flavour = "") {
  classic_format().create(path, empty_file(flavour));
  std::map<std::string, std::string> held;
  Changes changes(path, {});
  const auto file = classic_format().open(path, &changes);
  file->add(new_array("fixed", {3, 5}, ">i2", {{"y", "x"}}));
  file->add(new_array("last", {5}, "|i1", {{"x"}}));
  file->add(new_array("short", {0, 3}, ">i2", {{"time", "y"}}));
  file->add(new_array("byte", {0, 5}, "|i1", {{"time", "x"}}));
  file->set_length("time", 3);
  char value = 1;
  for (const auto& [name, bytes] : {std::pair{"fixed", 30}, {"last", 5}, {"short", 18}, {"byte", 15}}) {
    std::string content(static_cast<size_t>(bytes), '\0');
    for (char& byte : content) byte = value++;
    write_elements(file->describe(name), content);
    held[name] = content;
  }
  changes.commit();
  return held;
}

void expect_holds(const std::string& path, const std::map<std::string, std::string>& held) {
  const auto file = classic_format().open(path, nullptr);
  for (const auto& [name, bytes] : held) EXPECT_EQ(elements(file->describe(name)), bytes) << name;
}

const std::string kLong(30'000, 'a');

TEST_F(NetcdfFiles, WhatCannotBeHeldIsNamedAtOnceAndNothingIsMade) {
  NewContents wanted{"cdf1", {Group{.attributes = {{"a", NullValue{}}}}, Group{.path = "g"}}, {}};
  NewArray array = new_array("v", {3}, "<u2");
  array.attributes = {{"b", std::vector<std::string>{"one", "two"}}};
  wanted.arrays = {array, new_array("g/w", {3}, "<i2"), new_array("ok", {3}, "<i2")};
  const std::vector<std::string> expected = {
      "attribute a: netCDF classic stores text and numbers, not null", "group g: netCDF classic has no groups",
      "v: attribute b: netCDF classic stores one text or numbers, not ['one', 'two']; join texts to one, or choose "
      "netCDF-4 or HDF5",
      "v: netCDF classic (CDF-1) cannot store dtype uint16; it stores int8, S1, int16, int32, float32, float64"};
  EXPECT_EQ(classic_format().refusals(wanted), expected);
  error_of([&] { classic_format().create(path(), wanted); });
  EXPECT_TRUE(names().empty());
}

TEST_F(NetcdfFiles, NamesAreNormalisedAndThoseThatNetcdfForbidsAreRefused) {
  EXPECT_EQ(checked_name("e\xCC\x81"), "\xC3\xA9");  // e and its accent become one character
  for (const std::string name : {"", "a/b", "a ", " a", "-a", "a\nb", "a\x7f"}) {
    EXPECT_NE(error_of([&] { checked_name(name); }).find("netCDF allows no name"), std::string::npos) << name;
  }
  error_of([] { checked_name(std::string(257, 'y')); });
  EXPECT_EQ(checked_name(std::string(256, 'y')).size(), 256);
  EXPECT_NE(error_of([] { checked_name("a\xff"); }).find("cannot be stored as UTF-8"), std::string::npos);
}

TEST_F(NetcdfFiles, FillValuesAreConvertedAsNumpyConvertsThem) {
  const auto number = [](double value) {
    const auto bytes = std::as_bytes(std::span(&value, 1));
    return AttributeValue(NumbersValue{ElementType::parse("=f8"), {}, {bytes.begin(), bytes.end()}});
  };
  const auto first = [](const std::vector<std::byte>& bytes) {
    std::string text;
    for (const std::byte byte : bytes) text += static_cast<char>(byte);
    return text;
  };
  const ElementType i2 = ElementType::parse(">i2");
  const AttributeValue three = number(3.7);
  EXPECT_EQ(first(fill_of(i2, &three)), std::string("\0\3", 2));
  const AttributeValue large = number(1e6);
  EXPECT_EQ(first(fill_of(i2, &large)), "\x80\x01");  // it is no value of the type: netCDF's default is used
  EXPECT_EQ(first(fill_of(i2, nullptr)), "\x80\x01");
  const AttributeValue text = std::string("-2");
  EXPECT_EQ(first(fill_of(i2, &text)), "\xff\xfe");
  const AttributeValue words = std::string("none");
  EXPECT_EQ(first(fill_of(i2, &words)), "\x80\x01");
  EXPECT_EQ(first(fill_of(ElementType::parse("|S1"), &words)), "n");
  EXPECT_EQ(first(fill_of(ElementType::parse(">u8"), nullptr)), "\xff\xff\xff\xff\xff\xff\xff\xfe");
  EXPECT_EQ(first(fill_of(ElementType::parse(">f4"), nullptr)), std::string("\x7c\xf0\0\0", 4));
  EXPECT_NE(error_of([&] { checked_fill(number(3.5), i2); }).find("3.5 is not a value of dtype >i2"),
            std::string::npos);
  error_of([&] { checked_fill(number(1e300), ElementType::parse(">f4")); });
  EXPECT_EQ(checked_fill(number(7), i2),
            AttributeValue(NumbersValue(
                {ElementType::parse("=i2"), {}, std::get<NumbersValue>(checked_fill(number(7), i2)).bytes})));
}

TEST_F(NetcdfFiles, WhatIsAddedLeavesAllElseAsItWas) {
  for (const std::string flavour : {"cdf1", "cdf2", "cdf5"}) {
    const std::string file = path(flavour);
    std::map<std::string, std::string> held = make_with_records(file, flavour);
    Changes changes(file, {});
    const auto open = classic_format().open(file, &changes);
    const Description scalar = open->add(new_array("scalar", {}, "<f8"));
    EXPECT_EQ(elements(scalar), std::string(8, '\0'));
    open->set_attributes("byte", {{"long", kLong}});
    const Description later = open->add(new_array("later", {3, 5}, "|i1", {{"time", "x"}}));
    EXPECT_EQ(elements(later), std::string(15, '\x81'));  // the fill value, -127
    EXPECT_TRUE(open->has_moved_others());
    EXPECT_FALSE(open->has_moved_others());
    EXPECT_EQ(open->describe("byte").attributes.text("long"), kLong);
    changes.commit();
    expect_holds(file, held);
  }
}

TEST_F(NetcdfFiles, AHandleSeesWhatAnotherOneHasChanged) {
  make_with_records(path());
  const auto reader = classic_format().open(path(), nullptr);
  EXPECT_EQ(reader->describe("byte").shape, (Shape{3, 5}));
  Changes changes(path(), {});
  const auto writer = classic_format().open(path(), &changes);
  writer->set_length("/time/", 4);
  EXPECT_EQ(reader->describe("byte").shape, (Shape{4, 5}));
  EXPECT_EQ(reader->contents().dimension("", "time")->length, 4);
  writer->set_attributes("", {{"a", kLong}});  // now another file has the name
  EXPECT_TRUE(writer->has_replaced_file());
  EXPECT_EQ(reader->contents().group("")->attributes.text("a"), kLong);
  const Mark mark = changes.mark();
  writer->set_attributes("", {{"b", "short"}});
  changes.undo(mark);
  EXPECT_EQ(writer->contents().group("")->attributes.find("b"), nullptr);
}

TEST_F(NetcdfFiles, ARefusedChangeChangesNothing) {
  make_with_records(path());
  const std::string before = read_file(path());
  Changes changes(path(), {});
  const auto file = classic_format().open(path(), &changes);
  const auto refused = [&](const NewArray& array, const std::string& part) {
    const std::string text = error_of([&] { file->add(array); });
    EXPECT_NE(text.find(part), std::string::npos) << text;
    EXPECT_EQ(read_file(path()), before);
    EXPECT_EQ(file->contents().variables().size(), 4);
  };
  refused(new_array("v", {4}, "|i1", {{"x"}}), "dimension x has 5 elements in this file, not 4");
  refused(new_array("v", {0}, "|i1", {{"t"}}), "t cannot be unlimited: a netCDF classic file has one such dimension");
  refused(new_array("v", {5, 3}, "|i1", {{"x", "time"}}), "no unlimited dimension but the first");
  refused(new_array("v", {int64_t{1} << 31, int64_t{1} << 31}, "<i2"), "v takes 9223372036854775808 bytes; in CDF-5");
  refused(new_array("v", {INT64_MAX - 999}, "|i1"), "would begin at byte 92233720368547");
  EXPECT_EQ(error_of([&] { file->add(new_array("fixed", {3}, "|i1")); }, ErrorKind::kStore),
            "there is a variable 'fixed' already; choose another name");
  EXPECT_NE(error_of([&] { file->set_length("time", 2); }).find("it cannot shrink to 2"), std::string::npos);
  EXPECT_NE(error_of([&] { file->extend("fixed", 9, {}); }).find("fixed does not grow"), std::string::npos);
  EXPECT_EQ(read_file(path()), before);
  truncate(path().c_str(), std::ssize(before) - 4);
  EXPECT_NE(error_of([&] { file->add(new_array("v", {}, "|i1")); }, ErrorKind::kFormat).find("are missing"),
            std::string::npos);
}

TEST_F(NetcdfFiles, HardLinksAndExtendedAttributesAreKeptWhereDataMove) {
  const std::map<std::string, std::string> held = make_with_records(path());
  const bool has_attributes = setxattr(path().c_str(), "user.origin", "model", 5, 0) == 0;
  chmod(path().c_str(), 0640);
  const auto move_all = [&](const std::string& name, size_t bytes) {
    Changes changes(path(), {});
    const auto file = classic_format().open(path(), &changes);
    file->set_attributes("", {{name, std::string(bytes, 'a')}});
    EXPECT_TRUE(file->has_moved_others());
    const bool is_replaced = file->has_replaced_file();
    changes.commit();
    return is_replaced;
  };
  EXPECT_TRUE(move_all("first", 30'000));
  if (has_attributes) {
    char value[8] = {};
    EXPECT_EQ(getxattr(path().c_str(), "user.origin", value, sizeof value), 5);
    EXPECT_STREQ(value, "model");
  }
  fs::create_hard_link(path(), path("other.nc"));
  EXPECT_FALSE(move_all("second", 100'000));
  EXPECT_TRUE(fs::equivalent(path(), path("other.nc")));
  expect_holds(path("other.nc"), held);
  EXPECT_EQ(fs::status(path()).permissions(), fs::perms(0640));
  EXPECT_EQ(names(), (std::vector<std::string>{"a.nc", "other.nc"}));

  const std::string before = read_file(path());
  {
    Changes changes(path(), {});
    classic_format().open(path(), &changes)->set_attributes("", {{"third", std::string(600'000, 'a')}});
  }  // the change is undone, as no other file was written
  EXPECT_EQ(read_file(path()), before);
}

TEST_F(NetcdfFiles, AFileThatGrowsByRandomStepsKeepsAllThatWasInIt) {
  for (const bool is_durable : {true, false}) {
    for (const int64_t piece : {int64_t{40}, int64_t{5000}, int64_t{4} << 20}) {
      moved_bytes_max = piece;
      Random random(7 + piece + is_durable);
      const std::string file = path("random.nc");
      std::remove(file.c_str());
      std::map<std::string, std::string> held = make_with_records(file);
      ChangesOptions options;
      options.is_durable = is_durable;
      Changes changes(file, options);
      const auto open = classic_format().open(file, &changes);
      for (int step = 0; step < 12; ++step) {
        const std::string name = "v" + std::to_string(step);
        const int64_t width = random.between(1, 900);
        if (random.chance(30)) {
          open->set_attributes(random.chance(50) ? "" : "short",
                               {{name, std::string(static_cast<size_t>(width * 20), 'x')}});
        } else {
          const bool grows = random.chance(50);
          const Description made = open->add(grows ? new_array(name, {3, width}, "|i1", {{"time", name}})
                                                   : new_array(name, {width, 3}, ">i2", {{name, "y"}}));
          std::string bytes(static_cast<size_t>(grows ? 3 * width : 6 * width), '\0');
          for (char& byte : bytes) byte = static_cast<char>(random.between(0, 255));
          write_elements(made, bytes);
          held[name] = bytes;
        }
        expect_holds(file, held);
      }
      changes.commit();
      expect_holds(file, held);
    }
  }
}

// Moves pieces with holes between them, in a file and to another file; nothing else changes.
TEST_F(NetcdfFiles, BytesAndHolesGoWhereTheyAreMoved) {
  constexpr int64_t kBlock = 4096;
  for (int seed = 0; seed < 60; ++seed) {
    Random random(seed);
    moved_bytes_max = std::vector<int64_t>{5000, 4096, 30'000, 1 << 20}[static_cast<size_t>(random.between(0, 3))];
    std::string raw(40 * kBlock, '\0');
    const Descriptor file(open(path("a.bin").c_str(), O_RDWR | O_CREAT | O_TRUNC, 0666));
    const Descriptor other(open(path("b.bin").c_str(), O_RDWR | O_CREAT | O_TRUNC, 0666));
    ASSERT_EQ(ftruncate(file.get(), std::ssize(raw)), 0);
    for (int64_t at = 0; at < std::ssize(raw); at += kBlock) {
      if (random.chance(50)) continue;
      for (int64_t i = at; i < at + kBlock; ++i)
        raw[static_cast<size_t>(i)] = static_cast<char>(random.between(1, 255));
      ASSERT_EQ(pwrite(file.get(), raw.data() + at, kBlock, at), kBlock);
    }
    const int64_t count = std::vector<int64_t>{1, 1, 2, 7}[static_cast<size_t>(random.between(0, 3))];
    const int64_t step = count > 1 ? random.between(1, std::ssize(raw) / count - 1) : std::ssize(raw) - 3 * kBlock;
    const int64_t begin = random.between(0, std::ssize(raw) - step * count);
    const int64_t by = std::vector<int64_t>{0, kBlock, 2 * kBlock, 5000}[static_cast<size_t>(random.between(0, 3))];
    const int64_t new_step = count > 1 ? step + random.between(1, 3 * kBlock) : step;
    const Move move{begin, begin + by, count, step, new_step};
    std::string expected;
    for (int64_t piece = 0; piece < count; ++piece) {
      expected += raw.substr(static_cast<size_t>(begin + piece * step), static_cast<size_t>(step));
      expected.append(static_cast<size_t>(new_step - step), '\0');
    }
    copy_moved(file.get(), other.get(), {move});
    move_in_place(file.get(), {move});
    for (const int descriptor : {file.get(), other.get()}) {
      std::string found(expected.size(), '\0');  // bytes after the end are zeros
      ASSERT_GE(pread(descriptor, found.data(), found.size(), move.to), 0);
      ASSERT_EQ(found, expected) << seed;
    }
    const std::string now = read_file(path("a.bin"));
    ASSERT_EQ(now.substr(0, static_cast<size_t>(begin)), raw.substr(0, static_cast<size_t>(begin)));
    const auto behind = static_cast<size_t>(move.to) + expected.size();
    if (behind < raw.size()) ASSERT_EQ(now.substr(behind), raw.substr(behind));
  }
}

}  // namespace
}  // namespace swath::formats::netcdf
