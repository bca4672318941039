#include "files/file_array.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "comm/agreement.h"
#include "comm/simulated.h"
#include "files/data_file.h"
#include "formats/hdf5/library.h"

namespace swath {
namespace {

using formats::ElementType;
using formats::NewArray;
using Kind = DimensionRule::Kind;

// The parameter is a format's file suffix.
class FileArrayTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (is_hdf5()) {
      try {
        formats::hdf5::library();
      } catch (const Error& error) {
        GTEST_SKIP() << error.what();
      }
    }
    std::filesystem::remove_all(path_);
  }
  void TearDown() override { std::filesystem::remove_all(path_); }

  static bool is_hdf5() { return GetParam() == ".h5" || GetParam() == ".nc4"; }

  // Runs three ranks and returns their error, which must be the same on all that take part.
  template <typename Work>
  std::string error_on_ranks(const Work& work, int only_rank = -1) const {
    std::vector<std::string> errors(3);
    Simulation simulation(3, 1, 0);
    run_ranks(simulation, [&](Comm& comm) {
      try {
        work(std::shared_ptr<Comm>(&comm, [](Comm*) {}));
      } catch (const Error& error) {
        errors[static_cast<size_t>(comm.rank())] = error.what();
      }
    });
    for (int rank = 0; rank < 3; ++rank) {
      if (only_rank < 0) EXPECT_EQ(errors[static_cast<size_t>(rank)], errors[0]);
      if (only_rank >= 0 && rank != only_rank) EXPECT_EQ(errors[static_cast<size_t>(rank)], "");
    }
    return errors[static_cast<size_t>(std::max(only_rank, 0))];
  }

  // An array with records of 6 bytes; in chunks if the format has them.
  NewArray records() const {
    NewArray array{.shape = {0, 6}, .type = ElementType::parse("|u1"), .variable = "t", .unlimited = {true, false}};
    array.dimensions = {{"time", "x"}};
    return array;
  }

  const std::string path_ = testing::TempDir() + "swath_file_array_" + std::to_string(getpid()) + GetParam();
};

Distribution columns(size_t dimensions, int ranks) {
  std::vector<DimensionRule> rules(dimensions);
  rules.back().kind = Kind::kBlock;
  std::vector<int64_t> grid(dimensions, 1);
  grid.back() = ranks;
  return Distribution(rules, grid);
}

std::vector<std::byte> bytes_of(size_t count, int value) {
  return std::vector<std::byte>(count, static_cast<std::byte>(value));
}

TEST_P(FileArrayTest, ADecompositionThatFitsOnSomeRanksOnlyIsAnErrorOnAll) {
  const std::string error = error_on_ranks([&](const std::shared_ptr<Comm>& comm) {
    const auto file = DataFile::create(comm, path_, {});
    const auto t = file->add(records());
    t->append(columns(1, 3), bytes_of(2, 1));
    const bool is_wrong = comm->rank() == 2;
    // This selection is for another shape: the array has one row.
    const Selection rows{{0, 1, is_wrong ? 5 : 1, false}, {0, 1, 6, false}};
    const auto whose = Decomposition::distributed(columns(2, 3), rows, 3);
    std::vector<std::byte> values = bytes_of(is_wrong ? 10 : 2, 7);
    EXPECT_THROW(t->read(whose, values), Error);
    EXPECT_THROW(t->write(whose, values), Error);
    // This distribution has one dimension more than a record.
    EXPECT_THROW(t->append(columns(is_wrong ? 2 : 1, 3), bytes_of(2, 9)), Error);
    EXPECT_EQ(t->shape(), Shape({1, 6}));
    t->read(Decomposition::distributed(columns(2, 3), select_all(t->shape()), 3), values = bytes_of(2, 0));
    EXPECT_EQ(values, bytes_of(2, 1));
    StartedMove started = t->start(Direction::kRead, whose, {{values.data(), std::nullopt}});
    started.wait();
  });
  EXPECT_EQ(error.substr(0, 8), "rank 2: ") << error;
}

// The error of rank 1, which writes alone into a new array of 4 by 6 while the other ranks do nothing.
std::string error_alone(FileArray& array, Comm& comm) {
  std::string error;
  if (comm.rank() == 1) {
    const auto failure = failure_of([&] {
      const auto elements = static_cast<size_t>(element_count(array.shape()));
      array.write(Decomposition::alone(select_all(array.shape())), bytes_of(elements, 5));
    });
    if (failure) error = failure->what();
  }
  comm.barrier();
  return error;
}

// Chunk allocation is collective: one rank that writes alone would wait for the others.
TEST_P(FileArrayTest, OneRankAloneWritesCodedChunksOrIsRefusedAndNeverWaits) {
  if (GetParam() == ".nc3") GTEST_SKIP() << "it has no chunks";
  const bool is_refused = is_hdf5();
  const std::string error = error_on_ranks(
      [&](const std::shared_ptr<Comm>& comm) {
        const auto file = DataFile::create(comm, path_, {});
        NewArray array{.shape = {4, 6}, .type = ElementType::parse("|u1"), .variable = "n", .chunks = Shape{2, 3}};
        array.codecs = {{.kind = CodecKind::kZlib, .level = 1}};
        const auto n = file->add(array);
        const std::string refusal = error_alone(*n, *comm);
        const auto whose = Decomposition::distributed(columns(2, 3), select_all(n->shape()), 3);
        if (is_refused) n->write(whose, bytes_of(8, 5));
        file->close();
        const auto again = DataFile::open(comm, path_, OpenMode::kRead);
        std::vector<std::byte> values = bytes_of(24, 0);
        again->array("n")->read(Decomposition::alone(select_all({4, 6})), values);
        EXPECT_EQ(values, bytes_of(24, 5));
        again->close();
        if (!refusal.empty()) fail_argument(refusal);
      },
      1);
  EXPECT_EQ(error.find("by one rank alone: its chunks get their places") != std::string::npos, is_refused) << error;
}

TEST_P(FileArrayTest, AnArrayWithoutNamesOfDimensionsGrows) {
  if (GetParam() == ".nc3" || GetParam() == ".nc4") GTEST_SKIP() << "its dimensions have names";
  const std::string error = error_on_ranks([&](const std::shared_ptr<Comm>& comm) {
    NewArray array = records();
    array.dimensions.reset();
    const auto file = DataFile::create(comm, path_, {});
    const auto t = file->add(array);
    for (int i = 0; i < 3; ++i) t->append(columns(1, 3), bytes_of(2, i));
    file->close();
    for (int row = 3; row < 5; ++row) {
      const auto again = DataFile::open(comm, path_, OpenMode::kReadWrite);
      EXPECT_EQ(again->contents().variable("t")->shape, Shape({row, 6}));
      again->array("t")->append(columns(1, 3), bytes_of(2, row));
      again->sync();
      again->close();
    }
    const auto last = DataFile::open(comm, path_, OpenMode::kRead);
    std::vector<std::byte> values(30);
    last->array("t")->read(Decomposition::alone(select_all({5, 6})), values);
    for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i], static_cast<std::byte>(i / 6));
    last->close();
  });
  EXPECT_EQ(error, "");
}

INSTANTIATE_TEST_SUITE_P(OfFormats, FileArrayTest, testing::Values(".nc3", ".zarr", ".h5", ".nc4"));

}  // namespace
}  // namespace swath
