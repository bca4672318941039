#include "files/staleness.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "comm/comm.h"
#include "files/data_file.h"
#include "files/file_array.h"
#include "formats/all.h"

namespace swath {
namespace {

using formats::Contents;
using formats::Variable;

// t and u along time, which has 5 rows; "m" along x, then time.
Contents with_time() {
  Contents contents("netcdf4");
  contents.set("", {"time", 5, true});
  contents.set("", {"x", 3, false});
  contents.add(Variable{.path = "t", .shape = {5, 3}, .dimensions = {"time", "x"}});
  contents.add(Variable{.path = "u", .shape = {5}, .dimensions = {"time"}});
  contents.add(Variable{.path = "m", .shape = {3, 5}, .dimensions = {"x", "time"}});
  return contents;
}

// The error for a file with the shapes `now`; "" if it may be changed.
std::string refusal(const Shapes& now, const OwnRows& own = {}) {
  try {
    refuse_changed("run.nc", shapes_of(with_time()), now, own);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kStore);
    EXPECT_EQ(error.os_error(), ESTALE);
    return error.what();
  }
  return "";
}

TEST(StalenessTest, EachDifferenceIsNamed) {
  EXPECT_EQ(refusal({{"t", {5, 3}}, {"u", {5}}, {"m", {3, 5}}}), "");
  EXPECT_EQ(refusal({{"t", {6, 3}}, {"m", {3, 5}}, {"new", {1}}}),
            "run.nc: it was changed since it was opened (t (5, 3), now (6, 3), u is gone, new is new): open it again "
            "to change it");
  EXPECT_NE(refusal({{"t", {5, 3, 1}}, {"u", {5}}, {"m", {3, 5}}}), "");
}

TEST(StalenessTest, RowsOfTheHandleItselfAreNoDifference) {
  const Contents contents = with_time();
  Records records(contents);
  records.wrote("t", 7);
  OwnRows own{.contents = &contents, .records = &records, .given_room = {{"t", 8}}};
  // In netCDF-4 all variables that have the dimension time are as long as the longest one, whichever axis it is.
  EXPECT_EQ(refusal({{"t", {7, 3}}, {"u", {7}}, {"m", {3, 7}}}, own), "");
  EXPECT_EQ(refusal({{"t", {8, 3}}, {"u", {8}}, {"m", {3, 8}}}, own), "");
  EXPECT_NE(refusal({{"t", {9, 3}}, {"u", {7}}, {"m", {3, 7}}}, own), "");
  EXPECT_NE(refusal({{"t", {7, 4}}, {"u", {7}}, {"m", {3, 7}}}, own), "");
  own.are_variables_as_long_as_dimensions = false;
  EXPECT_EQ(refusal({{"t", {7, 3}}, {"u", {5}}, {"m", {3, 5}}}, own), "");
  EXPECT_NE(refusal({{"t", {7, 3}}, {"u", {7}}, {"m", {3, 5}}}, own), "");
}

TEST(StalenessTest, OfAFileThatWasOpenedForOneArrayItsRecordsSayEnough) {
  Records records(with_time());
  records.wrote("t", 7);
  const OwnRows own{.records = &records};
  EXPECT_EQ(own.lengths("t", 0), (std::set<int64_t>{-1, 7}));
  EXPECT_EQ(own.lengths("u", 0), (std::set<int64_t>{-1, 5, 7}));
  EXPECT_TRUE(own.lengths("t", 1).empty());
}

TEST(StalenessTest, OfAFileThatWasOpenedForOneArrayThatOneIsCompared) {
  const std::string path = testing::TempDir() + "swath_stale_" + std::to_string(getpid()) + ".nc3";
  const auto made = DataFile::create(std::shared_ptr<Comm>(make_solo_comm()), path, {.format = "netcdf-classic"});
  made->add({.shape = {2}, .type = formats::ElementType::parse("<i4"), .variable = "t"});
  made->add({.shape = {3}, .type = formats::ElementType::parse("<i4"), .variable = "u"});
  made->close();
  const auto file = formats::format_of(path).open(path, nullptr);
  EXPECT_NO_THROW(refuse_stale(path, *file, {}, {{"t", {2}}}));
  EXPECT_THROW(refuse_stale(path, *file, {}, {{"t", {4}}}), Error);
  Contents known = file->contents();
  EXPECT_NO_THROW(refuse_stale(path, *file, {.contents = &known}));
  known.add(Variable{.path = "v", .shape = {2}});
  EXPECT_THROW(refuse_stale(path, *file, {.contents = &known}), Error);
  std::filesystem::remove(path);
}

// Other programs change a store without consolidating its metadata again.
TEST(StalenessTest, ConsolidatedMetadataThatAreOldKeepNobodyFromChangingAStore) {
  const std::string path = testing::TempDir() + "swath_old_books_" + std::to_string(getpid()) + ".zarr";
  const std::string saved = path + ".json";
  std::filesystem::remove_all(path);
  const auto solo = std::shared_ptr<Comm>(make_solo_comm());
  const formats::NewArray growing{.shape = {0},
                                  .type = formats::ElementType::parse("<i4"),
                                  .variable = "t",
                                  .dimensions = {{"time"}},
                                  .unlimited = {true}};
  const auto append = [&](DataFile& file, int32_t value) {
    const std::vector<int32_t> row(1, value);
    const auto bytes = std::as_bytes(std::span(row));
    file.array("t")->append(Distribution({}, {}), bytes);
  };
  {
    const auto file = DataFile::create(solo, path, {.format = "zarr", .attributes = {{"title", "run"}}});
    file->add(growing);
    append(*file, 1);
    file->close();
  }
  std::filesystem::copy_file(path + "/zarr.json", saved, std::filesystem::copy_options::overwrite_existing);
  {
    const auto file = DataFile::open(solo, path, OpenMode::kReadWrite);
    append(*file, 2);
    file->close();
  }
  std::filesystem::copy_file(saved, path + "/zarr.json", std::filesystem::copy_options::overwrite_existing);
  {
    const auto file = DataFile::open(solo, path, OpenMode::kReadWrite);
    EXPECT_EQ(file->contents().variable("t")->shape, Shape({2}));
    append(*file, 3);
    file->close();
  }
  const auto file = DataFile::open(solo, path, OpenMode::kRead);
  EXPECT_EQ(file->array("t")->shape(), Shape({3}));
  file->close();
  std::filesystem::remove_all(path);
  std::filesystem::remove(saved);
}

}  // namespace
}  // namespace swath
