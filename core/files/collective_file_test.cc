#include "files/collective_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "comm/counting_comm_for_tests.h"
#include "comm/simulated.h"
#include "files/data_file.h"
#include "files/file_array.h"
#include "formats/all.h"

namespace swath {
namespace {

using formats::ElementType;
using formats::NewArray;

class CollectiveFileTest : public testing::Test {
 protected:
  // Creates a file with t and u along time, which has no rows yet, and `others` further variables.
  void make(int others = 0) {
    path_ = testing::TempDir() + "swath_collective_" + std::to_string(getpid()) + ".nc3";
    std::filesystem::remove(path_);
    const auto file = DataFile::create(make_solo_comm(), path_, {.format = "netcdf-classic"});
    for (const std::string name : {"t", "u"}) file->add(growing(name));
    for (int i = 0; i < others; ++i) file->add(growing("v" + std::to_string(i)));
    file->close();
  }
  void TearDown() override { std::filesystem::remove(path_); }

  static NewArray growing(const std::string& name) {
    return {.shape = {0, 6},
            .type = ElementType::parse(">f4"),
            .variable = name,
            .dimensions = {{"time", "x"}},
            .unlimited = {true, false}};
  }

  // Counts the reductions and barriers of each of three ranks in `work`.
  std::vector<int> meetings(const std::function<void(DataFile&)>& prepare,
                            const std::function<void(DataFile&)>& work) const {
    std::vector<int> found(3);
    run_ranks(3, [&](Comm& of_rank) {
      const auto comm = std::make_shared<CountingComm>(of_rank);
      const auto file = DataFile::open(comm, path_, OpenMode::kReadWrite);
      prepare(*file);
      const int before = comm->reduced + comm->barriers;
      work(*file);
      found[static_cast<size_t>(of_rank.rank())] = comm->reduced + comm->barriers - before;
      file->close();
    });
    return found;
  }

  static void append(DataFile& file, const std::string& name) {
    const int ranks = file.comm().size();
    const Distribution halves({{DimensionRule::Kind::kBlock}}, {ranks});
    file.array(name)->append(halves, std::vector<std::byte>(size_t{24} / static_cast<size_t>(ranks)));
  }

  // The file and its two arrays, opened by this process alone.
  struct Opened {
    std::unique_ptr<CollectiveFile> file;
    std::shared_ptr<StoredArray> t, u;
  };
  Opened open() const {
    const formats::Format& format = formats::format_named("netcdf-classic");
    const auto metadata = format.open(path_, nullptr);
    CollectiveFile::Options given{.path = path_, .final_path = path_, .number = 1, .mode = OpenMode::kReadWrite};
    given.contents = metadata->contents();
    Opened opened{std::make_unique<CollectiveFile>(make_solo_comm(), format, std::move(given)), nullptr, nullptr};
    opened.file->open_bytes();
    opened.t = opened.file->make_array(metadata->describe("t"), false);
    opened.u = opened.file->make_array(metadata->describe("u"), false);
    return opened;
  }

  std::string path_;
};

TEST_F(CollectiveFileTest, RanksMeetOnceInASyncWhereOnlyElementsWereWritten) {
  make();
  const auto nothing = [](DataFile&) {};
  EXPECT_EQ(meetings(nothing, [](DataFile& file) { file.sync(); }), std::vector<int>(3, 1));
}

TEST_F(CollectiveFileTest, RanksMeetOnceMoreInASyncOfChanges) {
  make();
  const auto change = [](DataFile& file) { file.set_attributes("", {{"title", "changed"}}); };
  EXPECT_EQ(meetings(change, [](DataFile& file) { file.sync(); }), std::vector<int>(3, 2));
}

TEST_F(CollectiveFileTest, RanksMeetForARecordAsOftenWhateverElseTheFileHolds) {
  const auto once = [](DataFile& file) { append(file, "t"); };
  make();
  const std::vector<int> of_two = meetings(once, once);
  make(50);
  EXPECT_EQ(meetings(once, once), of_two);
}

TEST_F(CollectiveFileTest, RanksMeetOnceForAChangeWhateverElseTheFileHolds) {
  const auto entitle = [](const std::string& title) {
    return [title](DataFile& file) { file.set_attributes("", {{"title", title}}); };
  };
  make();
  EXPECT_EQ(meetings(entitle("first"), entitle("other")), std::vector<int>(3, 1));
  make(50);
  EXPECT_EQ(meetings(entitle("first"), entitle("other")), std::vector<int>(3, 1));
}

TEST_F(CollectiveFileTest, RecordsOfSeveralArraysAreAllThereOrNone) {
  make();
  const auto [file, t, u] = open();
  EXPECT_THROW(file->append({{t.get(), 2}, {u.get(), 2}}, {},
                            [&](const std::vector<int64_t>& first) {
                              EXPECT_EQ(first, std::vector<int64_t>({0, 0}));
                              EXPECT_EQ(t->shape(), Shape({2, 6}));
                              EXPECT_EQ(u->shape(), Shape({2, 6}));
                              fail_argument("it cannot be written");
                            }),
               Error);
  EXPECT_EQ(t->shape(), Shape({0, 6}));
  EXPECT_EQ(u->shape(), Shape({0, 6}));
  file->append({{t.get(), 1}}, {}, [&](const auto&) { t->fill_rows(0, 1); });
  EXPECT_TRUE(file->take_new_lengths().empty()) << "u has none yet";
  file->append({{u.get(), 1}}, {}, [&](const auto&) { u->fill_rows(0, 1); });
  EXPECT_EQ(file->take_new_lengths(), (std::map<std::string, int64_t>{{"time", 1}}));
  EXPECT_TRUE(file->take_new_lengths().empty());
  file->sync();
  file->release();
  EXPECT_EQ(formats::format_named("netcdf-classic").open(path_, nullptr)->describe("u").shape, Shape({1, 6}));
}

TEST_F(CollectiveFileTest, AnArrayThatWasDroppedIsForgottenAndFilledAllTheSame) {
  make();
  auto [file, t, u] = open();
  u.reset();
  EXPECT_EQ(file->arrays().size(), 1);
  file->append({{t.get(), 1}}, {}, [&, array = t](const auto&) { array->fill_rows(0, 1); });
  file->complete_records();
  file->sync();
  EXPECT_EQ(file->contents()->variable("u")->shape, Shape({1, 6}));
  file->release();
}

TEST_F(CollectiveFileTest, AnArrayKnowsWhenItsFileHasMovedIt) {
  make();
  const auto [file, t, u] = open();
  const int64_t before = t->times_described();
  file->add("add", [] {
    return NewArray{.shape = {3}, .type = ElementType::parse(">f8"), .variable = "later", .dimensions = {{"y"}}};
  });
  EXPECT_GT(t->times_described(), before) << "the header is longer";
  EXPECT_NE(file->contents()->variable("later"), nullptr);
  file->sync();
  file->release();
}

}  // namespace
}  // namespace swath
