// Files of all formats by the ranks of MPI, by the C++ classes: what everything.c does in C. Run in an empty folder.
#include <mpi.h>
#include <swath/swath_mpi.h>

#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <swath/swath.hpp>
#include <swath/swath_mpi.hpp>
#include <vector>

using namespace swath;
using formats::NewArray;
using Kind = DimensionRule::Kind;

namespace {

constexpr int64_t kRows = 11;
constexpr int64_t kColumns = 7;
constexpr int64_t kRecords = 3;
const Shape kShape{kRows, kColumns};

void check(bool is_right, const std::string& path, const std::string& what) {
  if (!is_right) throw std::runtime_error(path + ": not right: " + what);
}

double element(int64_t row, int64_t column) { return static_cast<double>(100 * row + column); }

struct Ranks {
  std::shared_ptr<Comm> comm = make_mpi_comm(MPI_COMM_WORLD);
  int rank = comm->rank();
  int size = comm->size();
  Distribution cyclic{{{Kind::kCyclic, 2}, {Kind::kWhole, 0}}, {size, 1}};
  Distribution blocks{{{Kind::kBlock, 0}, {Kind::kWhole, 0}}, {size, 1}};

  Decomposition whose(const Distribution& distribution) const {
    return Decomposition::distributed(distribution, select_all(kShape), size);
  }
  // This rank's share of the array, element by element.
  std::vector<double> share(const Distribution& distribution) const {
    std::vector<double> values;
    const std::vector<IndexSet> mine = distribution.local_sets(kShape, rank);
    for (int64_t row = 0; row < mine[0].count(); ++row) {
      for (int64_t column = 0; column < kColumns; ++column) values.push_back(element(mine[0].at(row), column));
    }
    return values;
  }
};

// This rank's rows [first, last) in two boxes, from memory with gaps.
void write_boxes(const Ranks& ranks, FileArray& array) {
  const int64_t first = ranks.rank * kRows / ranks.size;
  const int64_t last = (ranks.rank + 1) * kRows / ranks.size;
  int16_t memory[kRows][2 * kColumns] = {};
  for (int64_t row = first; row < last; ++row) {
    for (int64_t column = 0; column < kColumns; ++column) {
      memory[row][2 * column] = static_cast<int16_t>(-element(row, column));
    }
  }
  const Boxes boxes{{{first, 0}, {last, 3}}, {{first, 3}, {last, kColumns}}};
  const std::vector<int64_t> gaps{sizeof memory[0], 2 * sizeof(int16_t)};
  const auto at = [&](int column) { return reinterpret_cast<std::byte*>(&memory[first][column]); };
  array.write_placed(Decomposition::own_boxes(boxes, ranks.rank, ranks.size, kShape), {{at(0), gaps}, {at(6), gaps}});
}

void dump(const Ranks& ranks, const std::string& path) {
  NewArray a{.shape = kShape, .type = formats::type_of<double>()};
  a.variable = "a";
  a.dimensions = {{"y", "x"}};
  if (!path.ends_with(".nc3")) {
    a.chunks = Shape{3, 2};
    a.codecs = {{.kind = CodecKind::kShuffle, .element_bytes = sizeof(double)}, {.kind = CodecKind::kZlib, .level = 4}};
  }
  if (path.ends_with(".zarr")) a.shards = Shape{6, 4};
  NewArray b{.shape = kShape, .type = formats::type_of<int16_t>()};
  b.variable = "b";
  b.dimensions = {{"y", "x"}};
  b.attributes = {{"units", "K"}};
  NewArray r{.shape = {0, kColumns}, .type = formats::type_of<float>()};
  r.variable = "r";
  r.dimensions = {{"t", "x"}};
  r.unlimited = {true, false};

  const auto file = create_file(ranks.comm, path, {.attributes = {{"title", "everything"}}});
  const auto array = file->add(a);
  const auto boxed = file->add(b);
  const auto records = file->add(r);
  const int32_t range[] = {-9999, 0};
  const auto* bytes = reinterpret_cast<const std::byte*>(range);
  const formats::NumbersValue numbers{formats::type_of<int32_t>(), {2}, {bytes, bytes + sizeof range}};
  file->set_attributes("b", {{"valid_range", numbers}});
  array->write(ranks.whose(ranks.cyclic), ranks.share(ranks.cyclic));
  write_boxes(ranks, *boxed);
  const Distribution line({{Kind::kCyclic, 1}}, {ranks.size});
  for (int64_t record = 0; record < kRecords; ++record) {
    std::vector<float> mine;
    for (int64_t x = ranks.rank; x < kColumns; x += ranks.size) {
      mine.push_back(static_cast<float>(record) + static_cast<float>(x) / 8);
    }
    records->append(line, mine);
  }
  file->close();
}

void dump_one(const Ranks& ranks, const std::string& path) {
  auto made = create(ranks.comm, path, {.shape = kShape, .type = formats::type_of<double>()});
  made->write(ranks.whose(ranks.cyclic), ranks.share(ranks.cyclic));
  made.close();
}

// Every third row and column from the last on.
void read_steps(const Ranks& ranks, const std::string& path, FileArray& array) {
  const Selection steps{{kRows - 1, -3, 4, false}, {kColumns - 1, -3, 3, false}};
  const Shape local = ranks.blocks.local_shape(selected_shape(steps), ranks.rank);
  std::vector<double> values(static_cast<size_t>(element_count(local)));
  array.read(Decomposition::distributed(ranks.blocks, steps, ranks.size), values);
  for (int64_t y = 0; y < local[0]; ++y) {
    for (int64_t x = 0; x < local[1]; ++x) {
      const int64_t row = kRows - 1 - 3 * ((4 + ranks.size - 1) / ranks.size * ranks.rank + y);
      check(values[static_cast<size_t>(y * local[1] + x)] == element(row, kColumns - 1 - 3 * x), path, "steps");
    }
  }
}

void hear_the_same_error(const Ranks& ranks, const std::string& path, FileArray& array) {
  const bool is_last = ranks.rank == ranks.size - 1;
  const Selection beyond{{0, 1, 50, false}, {0, 1, kColumns, false}};
  char mine[2000] = "";
  char first[2000] = "";
  try {
    const Selection asked = is_last ? beyond : select_all(kShape);
    std::vector<double> values(50 * kColumns);
    array.read(Decomposition::distributed(ranks.cyclic, asked, ranks.size), std::span(values).first(is_last ? 3 : 2));
  } catch (const Error& error) {
    std::snprintf(mine, sizeof mine, "%s", error.what());
  }
  std::memcpy(first, mine, sizeof first);
  MPI_Bcast(first, sizeof first, MPI_CHAR, 0, MPI_COMM_WORLD);
  check(mine[0] != '\0' && std::strcmp(mine, first) == 0, path, "the same error on all ranks: " + std::string(mine));
}

void look(const Ranks& ranks, const std::string& path) {
  DataFileOptions options;
  if (path.ends_with(".raw")) options.raw = formats::RawElements{kShape, formats::type_of<double>(), {}, 0};
  const bool has_names = !path.ends_with(".raw") && !path.ends_with(".npy");
  const auto variable = has_names ? std::optional<std::string>("a") : std::nullopt;
  OneArrayFile file = open(ranks.comm, path, variable, OpenMode::kRead, options);
  const std::vector<double> expected = ranks.share(ranks.blocks);
  std::vector<double> values(expected.size());
  file->read(ranks.whose(ranks.blocks), values);
  check(values == expected, path, "blocks");
  read_steps(ranks, path, *file);
  check(file->explain(Direction::kRead, ranks.whose(ranks.blocks)).find("read") != std::string::npos, path,
        "explained");
  hear_the_same_error(ranks, path, *file);
  file.close();
}

// C++ programs call C's function.
void redistribute(const Ranks& ranks) {
  const swath_rule of_cyclic[] = {{SWATH_CYCLIC, 2}, {SWATH_WHOLE, 0}};
  const swath_rule of_blocks[] = {{SWATH_BLOCK, 0}, {SWATH_WHOLE, 0}};
  const int grid[] = {ranks.size, 1};
  swath_distribution* from = nullptr;
  swath_distribution* to = nullptr;
  check(swath_distribution_create(2, of_cyclic, grid, &from) == SWATH_OK, "", "a distribution");
  check(swath_distribution_create(2, of_blocks, grid, &to) == SWATH_OK, "", "a distribution");
  const std::vector<double> dealt = ranks.share(ranks.cyclic);
  const std::vector<double> expected = ranks.share(ranks.blocks);
  std::vector<double> again(expected.size());
  check(
      swath_redistribute_mpi(MPI_COMM_WORLD, 2, kShape.data(), "f8", from, dealt.data(), to, again.data()) == SWATH_OK,
      "", swath_error_message());
  check(again == expected, "", "what was redistributed");
  swath_distribution_free(from);
  swath_distribution_free(to);
}

void work() {
  const Ranks ranks;
  redistribute(ranks);
  for (const std::string suffix : {"raw", "npy", "nc3", "nc4", "h5", "zarr"}) {
    const std::string path = "cpp." + suffix;
    if (suffix == "raw" || suffix == "npy") {
      dump_one(ranks, path);
    } else {
      dump(ranks, path);
    }
    look(ranks, path);
  }
  if (ranks.rank == 0) std::puts("right");
}

}  // namespace

int main(int count, char** arguments) {
  MPI_Init(&count, &arguments);
  try {
    work();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return 0;
}
