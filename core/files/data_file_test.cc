#include "files/data_file.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "comm/simulated.h"
#include "files/file_array.h"
#include "files/one_array_file.h"
#include "formats/all.h"
#include "formats/hdf5/library.h"

namespace swath {
namespace {

using formats::ElementType;
using formats::NewArray;
using formats::NumbersValue;

struct Case {
  std::string format;
  std::string suffix;
  int ranks;
};

class DataFileTest : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (is_hdf5()) {
      try {
        formats::hdf5::library();
      } catch (const Error& error) {
        GTEST_SKIP() << error.what();
      }
    }
    const std::string number = std::to_string(getpid());
    path_ = testing::TempDir() + "swath_data_file_" + number + GetParam().suffix;
    std::filesystem::remove_all(path_);
  }
  void TearDown() override {
    if (!path_.empty()) std::filesystem::remove_all(path_);
  }

  static bool is_hdf5() { return GetParam().format == "hdf5" || GetParam().format == "netcdf4"; }

  // Runs `work` on every simulated rank.
  template <typename Work>
  void on_ranks(const Work& work) {
    Simulation simulation(GetParam().ranks, 1, 0);
    run_ranks(simulation, [&](Comm& comm) { work(std::shared_ptr<Comm>(&comm, [](Comm*) {})); });
  }

  std::shared_ptr<DataFile> create(const std::shared_ptr<Comm>& comm) {
    return DataFile::create(comm, path_, {.format = GetParam().format, .attributes = {{"title", "run"}}});
  }
  std::shared_ptr<DataFile> open(const std::shared_ptr<Comm>& comm, OpenMode mode = OpenMode::kRead) {
    return DataFile::open(comm, path_, mode);
  }

  std::string path_;
};

// A block distribution of the last dimension.
Distribution columns(size_t dimensions, int ranks) {
  std::vector<DimensionRule> rules(dimensions);
  rules.back().kind = DimensionRule::Kind::kBlock;
  std::vector<int64_t> grid(dimensions, 1);
  grid.back() = ranks;
  return Distribution(rules, grid);
}

NewArray temperature() {
  return {.shape = {0, 7},
          .type = ElementType::parse("<f4"),
          .variable = "t",
          .dimensions = {{"time", "x"}},
          .attributes = {{"units", "K"}},
          .unlimited = {true, false}};
}

NewArray counts() {
  return {.shape = {3, 5}, .type = ElementType::parse("<i4"), .variable = "n", .dimensions = {{"y", "z"}}};
}

std::span<const std::byte> bytes_of(const auto& values) { return std::as_bytes(std::span(values)); }

std::vector<float> row_of(const Shape& shape, float value) {
  return std::vector<float>(static_cast<size_t>(element_count(shape)), value);
}

// All elements of an array, as one rank alone reads them.
template <typename Value>
std::vector<Value> read_all(FileArray& array) {
  std::vector<Value> values(static_cast<size_t>(element_count(array.shape())));
  array.read(Decomposition::alone(select_all(array.shape())), std::as_writable_bytes(std::span(values)));
  return values;
}

TEST_P(DataFileTest, WhatRanksWriteAndAppendIsReadByOthers) {
  on_ranks([&](const std::shared_ptr<Comm>& comm) {
    const auto file = create(comm);
    const auto n = file->add(counts());
    const auto whose = Decomposition::distributed(columns(2, comm->size()), select_all(n->shape()), comm->size());
    std::vector<int32_t> mine(
        static_cast<size_t>(element_count(columns(2, comm->size()).local_shape({3, 5}, comm->rank()))), comm->rank());
    n->write(whose, bytes_of(mine));
    const auto t = file->add(temperature());
    const Distribution row = columns(1, comm->size());
    for (int i = 0; i < 4; ++i) {
      t->append(row, bytes_of(row_of(row.local_shape({7}, comm->rank()), static_cast<float>(i))));
      EXPECT_EQ(t->shape(), Shape({i + 1, 7}));
    }
    file->close();
    EXPECT_THROW(t->append(row, {}), Error);
  });
  on_ranks([&](const std::shared_ptr<Comm>& comm) {
    const auto file = open(comm);
    EXPECT_EQ(file->contents().group("")->attributes.text("title"), "run");
    EXPECT_EQ(file->contents().variable("t")->shape, Shape({4, 7}));
    EXPECT_TRUE(file->contents().dimension("", "time")->is_unlimited);
    const auto t = file->array("t");
    const auto all_of_t = Decomposition::alone(select_all(t->shape()));
    EXPECT_NE(t->explain(Direction::kRead, all_of_t).find(path_ + ":t"), std::string::npos);
    EXPECT_EQ(t->explain(Direction::kRead, all_of_t).find("chunks of") != std::string::npos,
              GetParam().format.starts_with("zarr") || is_hdf5());
    EXPECT_EQ(t->description().attributes.text("units"), "K");
    const auto values = read_all<float>(*t);
    for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i], i / 7);
    const auto numbers = read_all<int32_t>(*file->array("n"));
    const int64_t block = (5 + comm->size() - 1) / comm->size();
    for (size_t i = 0; i < numbers.size(); ++i) EXPECT_EQ(numbers[i], static_cast<int64_t>(i % 5) / block);
    EXPECT_EQ(file->array("t"), t);
    EXPECT_THROW(file->array("nothing"), Error);
    EXPECT_THROW(file->set_attributes("", {{"a", "b"}}), Error);
    file->close();
  });
}

TEST_P(DataFileTest, AFileThatExistsGetsMoreRecordsArraysAndAttributes) {
  const Distribution row = columns(1, GetParam().ranks);
  on_ranks([&](const std::shared_ptr<Comm>& comm) {
    const auto file = create(comm);
    const auto t = file->add(temperature());
    t->append(row, bytes_of(row_of(row.local_shape({7}, comm->rank()), 0)));
    file->close();
  });
  on_ranks([&](const std::shared_ptr<Comm>& comm) {
    const auto file = open(comm, OpenMode::kReadWrite);
    const auto t = file->array("t");
    t->append(row, bytes_of(row_of(row.local_shape({7}, comm->rank()), 1)));
    NewArray more = temperature();
    more.variable = "u";
    const auto u = file->add(more);
    EXPECT_EQ(u->shape().front(), 2);
    u->append(row, bytes_of(row_of(row.local_shape({7}, comm->rank()), 11)));
    file->set_attributes("t", {{"units", "degC"}, {"note", std::string(5000, 'x')}});
    t->append(row, bytes_of(row_of(row.local_shape({7}, comm->rank()), 2)));
    file->sync();
    file->close();
  });
  on_ranks([&](const std::shared_ptr<Comm>& comm) {
    const auto file = open(comm);
    EXPECT_EQ(file->contents().dimension("", "time")->length, 3);
    const auto t = read_all<float>(*file->array("t"));
    ASSERT_EQ(t.size(), 21);
    for (size_t i = 0; i < t.size(); ++i) EXPECT_EQ(t[i], i / 7);
    EXPECT_EQ(file->array("u")->shape().front(), 3);
    EXPECT_EQ(file->contents().variable("t")->attributes.text("units"), "degC");
    EXPECT_EQ(file->contents().variable("t")->attributes.text("note").size(), 5000);
    file->close();
  });
}

TEST_P(DataFileTest, WithoutCloseANewFileIsGoneAndAnOldOneIsAsItWas) {
  on_ranks([&](const std::shared_ptr<Comm>& comm) { create(comm)->add(counts()); });
  EXPECT_FALSE(std::filesystem::exists(path_));
  on_ranks([&](const std::shared_ptr<Comm>& comm) {
    const auto file = create(comm);
    file->add(counts());
    file->close();
  });
  on_ranks([&](const std::shared_ptr<Comm>& comm) {
    const auto file = open(comm, OpenMode::kReadWrite);
    file->add(temperature());
    comm->barrier();
  });
  on_ranks([&](const std::shared_ptr<Comm>& comm) {
    const auto file = open(comm);
    EXPECT_EQ(file->contents().variable("t"), nullptr);
    EXPECT_NE(file->contents().variable("n"), nullptr);
    file->close();
  });
}

TEST_P(DataFileTest, RanksThatDisagreeChangeNothingAndHearTheSameError) {
  if (GetParam().ranks == 1) GTEST_SKIP() << "one rank agrees with itself";
  on_ranks([&](const std::shared_ptr<Comm>& comm) {
    const auto file = create(comm);
    file->add(counts());
    NewArray other = temperature();
    other.shape.back() = comm->rank() == 0 ? 7 : 8;
    EXPECT_THROW(file->add(other), Error);
    EXPECT_THROW(file->set_attributes("n", {{"rank", std::to_string(comm->rank())}}), Error);
    file->close();
  });
  on_ranks([&](const std::shared_ptr<Comm>& comm) {
    const auto file = open(comm);
    EXPECT_EQ(file->contents().variable("t"), nullptr);
    EXPECT_TRUE(file->contents().variable("n")->attributes.empty());
    file->close();
  });
}

TEST_P(DataFileTest, WhatOthersChangedMeanwhileIsNotOverwritten) {
  const auto solo = std::shared_ptr<Comm>(make_solo_comm());
  const Distribution row = columns(1, 1);
  {
    const auto file = create(solo);
    file->add(temperature())->append(row, bytes_of(row_of({7}, 0)));
    file->close();
  }
  const auto late = open(solo, OpenMode::kReadWrite);
  const auto t = late->array("t");
  {
    const auto file = open(solo, OpenMode::kReadWrite);
    file->array("t")->append(row, bytes_of(row_of({7}, 1)));
    file->close();
  }
  EXPECT_THROW(t->append(row, bytes_of(row_of({7}, 9))), Error);
  late->close();
  const auto file = open(solo);
  EXPECT_EQ(read_all<float>(*file->array("t")).back(), 1);
  file->close();
}

TEST_P(DataFileTest, ChunksOfHdf5AreCodedAndGetTheirPlacesWhenTheyAreWritten) {
  if (!is_hdf5()) GTEST_SKIP() << "its chunks are files, or it has none";
  const Distribution row = columns(1, GetParam().ranks);
  on_ranks([&](const std::shared_ptr<Comm>& comm) {
    const auto file = create(comm);
    NewArray coded = temperature();
    coded.codecs = std::vector<Codec>{{.kind = CodecKind::kShuffle, .element_bytes = 4}, {.kind = CodecKind::kZlib}};
    const auto t = file->add(coded);
    NewArray fixed = counts();
    fixed.codecs = coded.codecs;
    fixed.chunks = Shape{2, 2};
    const auto n = file->add(fixed);
    const auto whose = Decomposition::distributed(columns(2, comm->size()), select_all(n->shape()), comm->size());
    std::vector<int32_t> mine(
        static_cast<size_t>(element_count(columns(2, comm->size()).local_shape({3, 5}, comm->rank()))), 7);
    n->write(whose, bytes_of(mine));
    for (int i = 0; i < 3; ++i) {
      t->append(row, bytes_of(row_of(row.local_shape({7}, comm->rank()), static_cast<float>(i))));
    }
    file->close();
  });
  on_ranks([&](const std::shared_ptr<Comm>& comm) {
    const auto file = open(comm, OpenMode::kReadWrite);
    file->array("t")->append(row, bytes_of(row_of(row.local_shape({7}, comm->rank()), 3)));
    file->close();
  });
  on_ranks([&](const std::shared_ptr<Comm>& comm) {
    const auto file = open(comm);
    EXPECT_EQ(file->contents().variable("n")->codecs->size(), 2);
    const auto t = read_all<float>(*file->array("t"));
    ASSERT_EQ(t.size(), 28);
    for (size_t i = 0; i < t.size(); ++i) EXPECT_EQ(t[i], i / 7);
    for (const int32_t number : read_all<int32_t>(*file->array("n"))) EXPECT_EQ(number, 7);
    file->close();
  });
}

TEST_P(DataFileTest, AVariableThatWasLeftBehindIsWrittenWhereItHasNoRoomYet) {
  if (!is_hdf5()) GTEST_SKIP() << "all elements have a place";
  const Distribution row = columns(1, GetParam().ranks);
  on_ranks([&](const std::shared_ptr<Comm>& comm) {
    const auto file = create(comm);
    NewArray behind = temperature();
    behind.variable = "u";
    file->add(behind);
    const auto t = file->add(temperature());
    for (int i = 0; i < 2; ++i) t->append(row, bytes_of(row_of(row.local_shape({7}, comm->rank()), 1)));
    file->close();
  });
  on_ranks([&](const std::shared_ptr<Comm>& comm) {
    const auto file = open(comm, OpenMode::kReadWrite);
    const auto u = file->array("u");
    ASSERT_EQ(u->shape(), Shape({2, 7}));
    const auto whose = Decomposition::distributed(columns(2, comm->size()), select_all(u->shape()), comm->size());
    u->write(whose, bytes_of(row_of(columns(2, comm->size()).local_shape({2, 7}, comm->rank()), 5)));
    file->close();
  });
  on_ranks([&](const std::shared_ptr<Comm>& comm) {
    const auto file = open(comm);
    for (const float value : read_all<float>(*file->array("u"))) EXPECT_EQ(value, 5);
    for (const float value : read_all<float>(*file->array("t"))) EXPECT_EQ(value, 1);
    file->close();
  });
}

TEST_P(DataFileTest, NamesThatAreTakenAndFormatsThatAreUnknownAreRefused) {
  const auto solo = std::shared_ptr<Comm>(make_solo_comm());
  create(solo)->close();
  EXPECT_THROW(create(solo), Error);
  EXPECT_THROW(DataFile::create(solo, path_ + "x", {.format = "nothing"}), Error);
  EXPECT_THROW(DataFile::open(solo, path_ + ".absent", OpenMode::kRead), Error);
}

INSTANTIATE_TEST_SUITE_P(OfFormats, DataFileTest,
                         testing::Values(Case{"netcdf-classic", ".nc3", 1}, Case{"netcdf-classic:cdf1", ".nc3", 3},
                                         Case{"netcdf-classic:cdf5", ".nc3", 4}, Case{"zarr", ".zarr", 1},
                                         Case{"zarr", ".zarr", 3}, Case{"zarr:v2", ".zarr", 2}, Case{"hdf5", ".h5", 1},
                                         Case{"hdf5", ".h5", 4}, Case{"netcdf4", ".nc4", 1},
                                         Case{"netcdf4", ".nc4", 3}));

// ---- Files of one array -------------------------------------------------------------------------------------------

// The parameter is the file suffix.
class OneArrayFileTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { std::filesystem::create_directory(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  bool is_raw() const { return GetParam() == ".raw"; }
  // The options to open the file: a raw file does not store its shape and type.
  DataFileOptions as(const NewArray& array) const {
    if (!is_raw()) return {};
    return {.raw = formats::RawElements{array.shape, array.type, array.order}};
  }
  void write_bytes(const std::string& bytes) const { std::ofstream(path_, std::ios::binary) << bytes; }
  std::string bytes_now() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // The error that all ranks throw; it must be the same.
  template <typename Work>
  std::string error_of_ranks(const Work& work) const {
    std::vector<std::string> errors(3);
    Simulation simulation(3, 1, 0);
    run_ranks(simulation, [&](Comm& one) {
      try {
        work(std::shared_ptr<Comm>(&one, [](Comm*) {}));
      } catch (const Error& error) {
        errors[static_cast<size_t>(one.rank())] = error.what();
      }
    });
    for (const std::string& error : errors) EXPECT_EQ(error, errors[0]);
    return errors[0];
  }

  const std::string folder_ = testing::TempDir() + "swath_one_array_" + std::to_string(getpid());
  const std::string path_ = folder_ + "/a" + GetParam();
};

TEST_P(OneArrayFileTest, ItIsMadeAndReadByRanks) {
  const NewArray array{.shape = {3, 5}, .type = ElementType::parse(">i4"), .order = {1, 0}};
  for (int ranks = 1; ranks <= 4; ++ranks) {
    Simulation simulation(ranks, 1, 0);
    run_ranks(simulation, [&](Comm& one) {
      const std::shared_ptr<Comm> comm(&one, [](Comm*) {});
      const Distribution blocks = columns(2, ranks);
      auto made = create(comm, path_, array, {.overwrite = true});
      const auto whose = Decomposition::distributed(blocks, select_all(made->shape()), ranks);
      std::vector<int32_t> mine(static_cast<size_t>(element_count(blocks.local_shape({3, 5}, comm->rank()))),
                                comm->rank() + 1);
      EXPECT_THROW(made->write(whose, bytes_of(std::vector<char>(1))), Error);
      made->write(whose, bytes_of(mine));
      made.close();
      auto opened = open(comm, path_, {}, OpenMode::kRead, as(array));
      const auto numbers = read_all<int32_t>(*opened);
      const int64_t block = (5 + ranks - 1) / ranks;
      for (size_t i = 0; i < numbers.size(); ++i) EXPECT_EQ(numbers[i], static_cast<int64_t>(i % 5) / block + 1);
      EXPECT_THROW(opened->write(whose, bytes_of(mine)), Error);
      opened.close();
      EXPECT_THROW(open(comm, path_, "t", OpenMode::kRead, as(array)), Error);
      EXPECT_THROW(DataFile::create(comm, folder_ + "/none" + GetParam(), {}), Error);
    });
  }
  const std::string stored = bytes_now();
  EXPECT_EQ(stored.substr(stored.size() - 60), [] {
    std::string expected;
    for (int column = 0; column < 5; ++column) {
      for (int row = 0; row < 3; ++row) expected += std::string("\0\0\0", 3) + static_cast<char>(column / 2 + 1);
    }
    return expected;
  }()) << "column by column, each number from its highest byte on: as four ranks wrote it";
}

TEST_P(OneArrayFileTest, WhatNobodyWritesIsTheFillValue) {
  const NewArray array{.shape = {6, 4}, .type = ElementType::parse("<i2"), .fill = {{std::byte{9}, std::byte{1}}}};
  Simulation simulation(3, 1, 0);
  run_ranks(simulation, [&](Comm& one) {
    const std::shared_ptr<Comm> comm(&one, [](Comm*) {});
    auto made = create(comm, path_, array);
    const int64_t row = int64_t{2} * one.rank();
    const auto mine = Decomposition::own_boxes({{{row, 0}, {row + 1, 4}}}, one.rank(), 3, made->shape());
    made->write(mine, bytes_of(std::vector<int16_t>(4, static_cast<int16_t>(one.rank()))));
    EXPECT_FALSE(std::filesystem::exists(path_));
    made.close();
    made.close();
    comm->barrier();
    auto opened = open(comm, path_, {}, OpenMode::kRead, as(array));
    const auto numbers = read_all<int16_t>(*opened);
    for (size_t i = 0; i < numbers.size(); ++i) EXPECT_EQ(numbers[i], i / 4 % 2 == 1 ? 0x109 : i / 8);
    opened.close();
  });
}

TEST_P(OneArrayFileTest, WhatCannotBeMadeIsTheSameErrorOnAllRanksAndChangesNothing) {
  write_bytes(std::string(20, 'x'));
  const NewArray array{.shape = {4}, .type = ElementType::parse("|u1")};
  const auto error_of = [&](const NewArray& asked, const NewFileOptions& options = {.overwrite = true}) {
    return error_of_ranks([&](const std::shared_ptr<Comm>& comm) {
      NewArray own = asked;
      if (own.shape.size() == 2) own.shape[0] = comm->rank();
      create(comm, path_, own, options);
    });
  };
  EXPECT_NE(error_of(array, {}).find("exists"), std::string::npos);
  EXPECT_NE(error_of({.shape = {4, 4}, .type = array.type}).find("They differ in shape"), std::string::npos);
  EXPECT_NE(error_of({.shape = {4}, .type = array.type, .variable = "t"}).find("no names"), std::string::npos);
  EXPECT_NE(error_of({.shape = {4}, .type = array.type, .fill = {{}}}).find("expected one element"), std::string::npos);
  EXPECT_EQ(bytes_now(), std::string(20, 'x'));
}

TEST_P(OneArrayFileTest, ThatIsNeverClosedLeavesTheOldFile) {
  write_bytes(std::string(20, 'x'));
  Simulation simulation(2, 1, 0);
  run_ranks(simulation, [&](Comm& one) {
    create(std::shared_ptr<Comm>(&one, [](Comm*) {}), path_, {.shape = {4}, .type = ElementType::parse("|u1")},
           {.overwrite = true});
  });
  EXPECT_EQ(bytes_now(), std::string(20, 'x'));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_P(OneArrayFileTest, ThatCannotGetItsNameIsAnErrorOnAllRanks) {
  const std::string error = error_of_ranks([&](const std::shared_ptr<Comm>& comm) {
    auto made = create(comm, path_, {.shape = {4}, .type = ElementType::parse("|u1")});
    comm->barrier();
    if (comm->rank() == 0) {
      for (const auto& entry : std::filesystem::directory_iterator(folder_)) std::filesystem::remove(entry);
    }
    made.close();
  });
  EXPECT_NE(error.find(path_), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(OfFormats, OneArrayFileTest, testing::Values(".npy", ".raw"));

TEST(ForkedFile, IsNeitherSyncedNorClosedByAChild) {
  const std::string path = testing::TempDir() + "swath_forked_" + std::to_string(getpid()) + ".nc3";
  std::filesystem::remove(path);
  const auto file = DataFile::create(make_solo_comm(), path, {.format = "netcdf-classic"});
  const auto t = file->add(temperature());
  const Distribution row = columns(1, 1);
  t->append(row, std::vector<float>(7, 1));
  const pid_t child = fork();
  if (child == 0) {
    bool is_refused = false;
    try {
      file->sync();
    } catch (const Error& error) {
      is_refused = error.kind() == ErrorKind::kArgument;
    }
    file->close();
    _exit(is_refused && !std::filesystem::exists(path) ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  t->append(row, std::vector<float>(7, 2));
  file->sync();
  file->close();
  const auto again = DataFile::open(make_solo_comm(), path, OpenMode::kRead);
  EXPECT_EQ(again->array("t")->shape(), Shape({2, 7}));
  again->close();
  std::filesystem::remove(path);
}

TEST(RawFileTest, WhatItHoldsIsForTheCallerToSay) {
  const std::string path = testing::TempDir() + "swath_raw_" + std::to_string(getpid()) + ".bin";
  std::ofstream(path, std::ios::binary) << "abc" << "\1\2\3\4\5\6";
  const std::shared_ptr<Comm> solo = make_solo_comm();
  const auto read = [&](const formats::RawElements& elements) {
    auto opened = open(solo, path, {}, OpenMode::kRead, {.raw = elements});
    EXPECT_EQ(opened.file->contents().format(), "raw");
    const auto numbers = read_all<int8_t>(*opened);
    opened.close();
    return numbers;
  };
  const auto error_of = [&](const auto& work) -> std::string {
    try {
      work();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const ElementType byte = ElementType::parse("|i1");
  EXPECT_EQ(read({{2, 3}, byte, {1, 0}, 3}), (std::vector<int8_t>{1, 3, 5, 2, 4, 6}));
  EXPECT_EQ(read({{2, 3}, byte, {}, 3}), (std::vector<int8_t>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(read({{0}, byte, {}, 300}), std::vector<int8_t>());
  EXPECT_NE(error_of([&] { read({{10}, byte, {}, 0}); }).find("up to byte 10, but the file has 9 bytes: 1 are missing"),
            std::string::npos);
  EXPECT_NE(error_of([&] { read({{2, 2}, byte, {0, 0}, 0}); }).find("order (0, 0): expected each of"),
            std::string::npos);
  EXPECT_NE(error_of([&] { read({{2}, byte, {}, -1}); }).find("offset -1"), std::string::npos);
  EXPECT_NE(error_of([&] { read({{-2}, byte, {}, 0}); }).find("negative length"), std::string::npos);
  EXPECT_NE(error_of([&] { read({{2}, ElementType::parse("|S0"), {}, 0}); }).find("no fixed number of bytes"),
            std::string::npos);
  EXPECT_NE(error_of([&] { read({{INT64_MAX, 4}, byte, {}, 0}); }).find("64-bit"), std::string::npos);
  EXPECT_NE(error_of([&] { open(solo, path); }).find("for a raw file give its shape and type"), std::string::npos);
  EXPECT_NE(error_of([&] {
              Simulation simulation(2, 1, 0);
              run_ranks(simulation, [&](Comm& one) {
                const formats::RawElements elements{{4 + one.rank()}, byte, {}, 0};
                open(std::shared_ptr<Comm>(&one, [](Comm*) {}), path, {}, OpenMode::kRead, {.raw = elements});
              });
            }).find("They differ in shape"),
            std::string::npos);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace swath
