// Coded chunks of one file, written by simulated ranks; a fake of the format's library allocates them.
#include "array/chunk_writing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "array/array.h"
#include "chunks/compressors.h"
#include "testing/allocations.h"
#include "testing/ranks_and_memory.h"
#include "testing/requests.h"

namespace swath {
namespace {

using namespace swath::testing;

std::shared_ptr<Comm> shared(Comm& comm) {
  return {&comm, [](Comm*) {}};
}

Codec codec(CodecKind kind, int64_t element_bytes) {
  Codec made;
  made.kind = kind;
  made.element_bytes = element_bytes;
  made.compressor = "lz4";
  return made;
}

CodecChain some_chain(Random& random, int64_t element_bytes) {
  std::vector<Codec> codecs;
  if (random.chance(50)) codecs.push_back(codec(CodecKind::kShuffle, element_bytes));
  for (const CodecKind kind : {CodecKind::kZlib, CodecKind::kZstd}) {
    if (random.chance(40) && compressor_refusal(kind).empty()) codecs.push_back(codec(kind, element_bytes));
  }
  if (random.chance(50)) codecs.push_back(codec(CodecKind::kFletcher32, element_bytes));
  return CodecChain(codecs);
}

// Allocates chunks as HDF5 does: a chunk with its old length keeps its place, a shorter one begins there, and others go
// to the end of the file. Bytes of others are in between. If a chunk keeps its length, a change of its skipped codecs
// is not recorded, unless the caller says that the codecs changed.
class Library final : public ChunkAllocator {
 public:
  explicit Library(std::string path) : path_(std::move(path)) {}

  std::vector<int64_t> place(const Shape& /*shape*/, std::span<const NewChunk> chunks) override {
    EXPECT_FALSE(fails_) << "placed after it had failed";
    if (!before_) before_ = State{contents(), table_};
    if (placings_++ == fails_at) {
      fails_ = true;
      throw Error(ErrorKind::kStore, "the library finds the disk full", ENOSPC);
    }
    std::vector<int64_t> offsets;
    for (const NewChunk& chunk : chunks) {
      Entry& entry = table_[chunk.at];
      if (entry.offset < 0 || chunk.bytes > entry.bytes) {
        entry.offset = std::ssize(contents()) + kGapBytes;
        append(static_cast<size_t>(kGapBytes), std::byte{0xAA});
        append(static_cast<size_t>(chunk.bytes), std::byte{0xEE});
      }
      const bool keeps_note = entry.times > 0 && chunk.bytes == entry.bytes && !chunk.is_recoded;
      entry = {entry.offset, chunk.bytes, keeps_note ? entry.skipped : chunk.skipped, entry.times + 1};
      offsets.push_back(entry.offset);
    }
    return offsets;
  }
  void keep() override { before_.reset(); }
  void undo() override {
    if (!before_) return;
    const State& before = *before_;
    std::ofstream(path_, std::ios::binary)
        .write(reinterpret_cast<const char*>(before.bytes.data()), std::ssize(before.bytes));
    table_ = before.table;
    before_.reset();
  }

  Bytes contents() const {
    Bytes bytes(std::filesystem::file_size(path_));
    std::ifstream(path_, std::ios::binary)
        .read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return bytes;
  }
  // The table of the library, whatever the ranks have cached.
  ChunkTable table(const CodedArray& array) const {
    ChunkTable made = std::get<ChunkTable>(array.places);
    for (size_t i = 0; i < made.offsets.size(); ++i) {
      const auto found = table_.find(coordinates_of(array.shape, array.chunk_shape, static_cast<int64_t>(i)));
      const Entry entry = found == table_.end() ? Entry{} : found->second;
      made.offsets[i] = entry.offset;
      made.bytes[i] = entry.bytes;
      made.skipped[i] = entry.skipped;
    }
    return made;
  }
  int most_times_placed() const {
    int most = 0;
    for (const auto& [at, entry] : table_) most = std::max(most, entry.times);
    return most;
  }
  int placings() const { return placings_; }
  bool is_undecided() const { return before_.has_value(); }
  void expect_gaps_untouched() const {
    const Bytes bytes = contents();
    for (const auto& [at, entry] : table_) {
      for (int64_t i = 1; i <= kGapBytes; ++i) {
        EXPECT_EQ(bytes[static_cast<size_t>(entry.offset - i)], std::byte{0xAA}) << "before " << entry.offset;
      }
    }
  }

  int fails_at = -1;

 private:
  static constexpr int64_t kGapBytes = 5;
  struct Entry {
    int64_t offset = -1;
    int64_t bytes = 0;
    uint32_t skipped = 0;
    int times = 0;
  };
  struct State {
    Bytes bytes;
    std::map<Shape, Entry> table;
  };

  void append(size_t count, std::byte byte) const {
    const std::string text(count, static_cast<char>(byte));
    std::ofstream(path_, std::ios::binary | std::ios::app) << text;
  }

  const std::string path_;
  std::map<Shape, Entry> table_;
  std::optional<State> before_;
  int placings_ = 0;
  bool fails_ = false;
};

// A file without chunks, and the elements that it should have later, in C order.
struct TableCase {
  explicit TableCase(Random& random, FilePositions places) : model(std::move(places)) {
    file.write(random_bytes(random, 21));
    library = std::make_shared<Library>(file.path());
    array.path = file.path();
    array.shape = model.shape;
    array.element_bytes = model.element_bytes;
    int64_t chunks = 1;
    for (const int64_t extent : model.shape) {
      array.chunk_shape.push_back(random.between(1, extent + 1));
      chunks *= (extent + array.chunk_shape.back() - 1) / array.chunk_shape.back();
    }
    array.chunk_strides = c_strides(array.chunk_shape, model.element_bytes);
    array.codecs = some_chain(random, model.element_bytes);
    array.fill = random_bytes(random, model.element_bytes);
    const auto entries = static_cast<size_t>(chunks);
    array.places =
        ChunkTable{std::vector<int64_t>(entries, -1), std::vector<int64_t>(entries), std::vector<uint32_t>(entries)};
    array.check();
    for (int64_t i = 0; i < element_count(model.shape); ++i) {
      values.insert(values.end(), array.fill.begin(), array.fill.end());
    }
  }

  std::unique_ptr<Array> open(Comm& comm, const std::string& engine = "posix") const {
    Array::Options options;
    options.name = "a.h5";
    options.form = std::make_shared<const ArrayForm>("a.h5", array.shape, array.element_bytes, nullptr);
    options.fill = array.fill;
    options.chunks = std::make_shared<const CodedArray>(array);
    options.allocator = library;
    return std::make_unique<Array>(shared(comm), File::open(file.path(), OpenMode::kReadWrite, {{.engine = engine}}),
                                   options);
  }

  Bytes read(const CodedArray& from) const {
    Bytes found(values.size());
    const std::vector<Part> parts{selected_part(select_all(array.shape), array.element_bytes)};
    const std::vector<std::byte*> addresses{found.data()};
    read_chunks(from, {parts, addresses}, {});
    return found;
  }
  // The elements, read by the library's table.
  Bytes stored() const {
    CodedArray as_stored = array;
    as_stored.places = library->table(array);
    return read(as_stored);
  }

  FilePositions model;
  EngineTestFile file;
  std::shared_ptr<Library> library;
  CodedArray array;
  Bytes values;
};

FilePositions in_c_order(const Shape& shape, int64_t element_bytes) {
  FilePositions places;
  places.shape = shape;
  places.element_bytes = element_bytes;
  places.strides = c_strides(shape, element_bytes);
  return places;
}

// A write of some elements by at most `ranks` ranks.
RequestCase some_write(Random& random, const FilePositions& model, int ranks) {
  RequestCase given;
  do {
    given = RequestCase();
    given.file = model;
    if (!model.shape.empty() && random.chance(30)) {
      share_as_boxes(random, given, {.ranks_max = ranks, .strided_memory = random.chance(50)});
    } else {
      share_as_distribution(random, given, random_selection(random, model.shape),
                            {.ranks_max = ranks, .strided_memory = random.chance(50)});
    }
  } while (given.decomposition.ranks() != ranks);
  return given;
}

Operation operation_of(const Array& array, const RequestCase& given, int rank, const TuningSettings& tuning = {}) {
  Operation::Access access{Direction::kWrite, given.decomposition, Method::kAuto, tuning};
  if (given.decomposition.is_boxes()) {
    access.decomposition = Decomposition::own_boxes(given.decomposition.boxes_of_rank()[static_cast<size_t>(rank)],
                                                    rank, given.decomposition.ranks(), given.file.shape);
  }
  return {array.form(), std::move(access)};
}

TEST(ChunkWriting, RanksWriteTheirElementsAndNothingElse) {
  for (uint64_t seed = 0; seed < 250; ++seed) {
    Random random(seed);
    const Shape shape = random_shape(random, static_cast<size_t>(random.between(random.chance(3) ? 0 : 1, 4)));
    TableCase one(random, in_c_order(shape, random.one_of<int64_t>({1, 2, 3, 8})));
    const auto ranks = static_cast<int>(random.between(1, 5));
    const Machine machine = random_machine(random, ranks);
    const TuningSettings tuning{{"chunk_buffer_bytes", random.one_of<int64_t>({1, 100'000, 1 << 20})}};
    std::vector<RequestCase> writes;
    std::vector<std::vector<UserMemory>> memory;
    std::string text = "seed " + std::to_string(seed) + machine.text();
    for (int i = 0; i < 3; ++i) {
      writes.push_back(some_write(random, one.model, ranks));
      memory.push_back(memory_of_ranks(random, writes.back()));
      write_plainly(writes.back(), one.values, memory.back());
      text += "\n" + writes.back().text;
    }
    SCOPED_TRACE(text);
    expect_no_errors(on_all_ranks(machine, [&](Comm& comm) {
      const auto array = one.open(comm);
      const auto rank = static_cast<size_t>(comm.rank());
      for (size_t i = 0; i < writes.size(); ++i) {
        const auto done = array->execute(operation_of(*array, writes[i], comm.rank(), tuning), memory[i][rank].local());
        EXPECT_EQ(done.method, "chunks");
      }
      EXPECT_EQ(one.read(*array->chunks()), one.values) << "by the table of rank " << comm.rank();
    }));
    EXPECT_EQ(one.stored(), one.values);
    EXPECT_FALSE(one.library->is_undecided());
    one.library->expect_gaps_untouched();
    if (::testing::Test::HasFailure()) return;
  }
}

// While this object lives, an allocation of this thread fails; small ones, such as texts, do not.
class OutOfMemory {
 public:
  explicit OutOfMemory(int64_t large_left) {
    allocations().large_bytes = 300;
    allocations().large_left = large_left;
  }
  ~OutOfMemory() { allocations().large_left = -1; }
  OutOfMemory(const OutOfMemory&) = delete;
  OutOfMemory& operator=(const OutOfMemory&) = delete;
};

// Each rank writes columns of chunks that are as wide as the array: all ranks share every chunk.
struct SharedRows {
  static constexpr int kRanks = 4;
  explicit SharedRows(Random& random) : one(random, in_c_order({64, 40}, 8)) {
    one.array.chunk_shape = {4, 40};
    one.array.chunk_strides = c_strides({4, 40}, 8);
    one.array.places = ChunkTable{std::vector<int64_t>(16, -1), std::vector<int64_t>(16), std::vector<uint32_t>(16)};
    given.file = one.model;
    const Distribution columns({{DimensionRule::Kind::kWhole, 0}, {DimensionRule::Kind::kCyclic, 1}}, {1, kRanks});
    given.decomposition = Decomposition::distributed(columns, select_all({64, 40}), kRanks);
    for (int rank = 0; rank < kRanks; ++rank) {
      const Selection all = select_all({64, 40});
      given.ranks.push_back({part_case(random, one.model, {all, all, owned(columns, {64, 40}, rank)},
                                       distributed_part(columns, all, rank, 8), false)});
    }
    memory = memory_of_ranks(random, given);
  }
  // The error of each rank.
  std::vector<Error> write(const std::string& engine_of_last = "posix", int64_t buffer_bytes = int64_t{1} << 28) {
    return on_all_ranks({.ranks = kRanks, .nodes = 2}, [&](Comm& comm) {
      const auto array = one.open(comm, comm.rank() == kRanks - 1 ? engine_of_last : "posix");
      const auto rank = static_cast<size_t>(comm.rank());
      const Operation operation = operation_of(*array, given, comm.rank(), {{"chunk_buffer_bytes", buffer_bytes}});
      const OutOfMemory out_of_memory(comm.rank() == poor_rank ? large_left : -1);
      counters[rank] = array->execute(operation, memory[rank].local()).counters;
      table = array->chunks();
    });
  }

  TableCase one;
  RequestCase given;
  std::vector<UserMemory> memory;
  Counters counters[kRanks];
  std::shared_ptr<const CodedArray> table;
  int poor_rank = 0;
  // the number of large allocations of that rank that succeed before one fails; -1: all succeed
  int64_t large_left = -1;
};

TEST(ChunkWriting, EncodesASharedChunkOnceOnOneOfItsRanks) {
  Random random(1);
  SharedRows rows(random);
  expect_no_errors(rows.write());
  write_plainly(rows.given, rows.one.values, rows.memory);
  EXPECT_EQ(rows.one.stored(), rows.one.values);
  EXPECT_EQ(rows.one.library->most_times_placed(), 1);
  int64_t written = 0;
  for (const Counters& of_rank : rows.counters) {
    EXPECT_EQ(of_rank.exchanged_bytes, 12 * 4 * 10 * 8) << "all but the 4 of 16 chunks that it writes itself";
    EXPECT_GT(of_rank.written_bytes, 0);
    EXPECT_EQ(of_rank.read_bytes, 0) << "all elements are new";
    written += of_rank.written_bytes;
  }
  const auto& table = std::get<ChunkTable>(rows.table->places);
  EXPECT_EQ(written, std::accumulate(table.bytes.begin(), table.bytes.end(), int64_t{0}));
}

TEST(ChunkWriting, KeepsItsMemoryByMoreRounds) {
  Random random(2);
  SharedRows rows(random);
  const int64_t encoded = rows.one.array.codecs.stored_bytes_max(rows.one.array.chunk_bytes());
  const int64_t bytes_max = 8 * encoded;
  expect_no_errors(rows.write("posix", bytes_max));
  EXPECT_GT(rows.one.library->placings(), 1);
  write_plainly(rows.given, rows.one.values, rows.memory);
  EXPECT_EQ(rows.one.stored(), rows.one.values);
  for (const Counters& of_rank : rows.counters) {
    EXPECT_GT(of_rank.buffer_bytes, 0);
    EXPECT_LE(of_rank.buffer_bytes, bytes_max);
  }
}

TEST(ChunkWriting, LeavesTheFileAsItWasWhereAWriteFails) {
  for (const std::string fault : {"write@0=ENOSPC", "write@1=short+EIO", "write@2=ENOSPC"}) {
    Random random(3);
    SharedRows rows(random);
    expect_no_errors(rows.write("posix"));
    write_plainly(rows.given, rows.one.values, rows.memory);
    rows.one.array = *rows.table;
    const Bytes before = rows.one.file.contents();
    rows.memory = memory_of_ranks(random, rows.given);
    const int64_t few = 8 * rows.one.array.codecs.stored_bytes_max(rows.one.array.chunk_bytes());
    const auto errors = rows.write("fault:" + fault, few);
    for (const Error& error : errors) {
      EXPECT_EQ(error.kind(), ErrorKind::kStore) << fault;
      EXPECT_TRUE(std::string(error.what()).starts_with("rank 3: write " + rows.one.file.path())) << error.what();
    }
    EXPECT_EQ(rows.one.file.contents(), before) << fault;
    EXPECT_EQ(rows.one.stored(), rows.one.values) << fault;
  }
}

TEST(ChunkWriting, TellsAllRanksWhatTheLibraryCannot) {
  for (const int fails_at : {0, 1}) {
    Random random(4);
    SharedRows rows(random);
    const Bytes before = rows.one.file.contents();
    rows.one.library->fails_at = fails_at;
    const int64_t few = 8 * rows.one.array.codecs.stored_bytes_max(rows.one.array.chunk_bytes());
    for (const Error& error : rows.write("posix", few)) {
      EXPECT_STREQ(error.what(), "rank 0: the library finds the disk full; the file is as it was before");
      EXPECT_EQ(error.os_error(), ENOSPC);
    }
    EXPECT_EQ(rows.one.file.contents(), before);
  }
}

// When one rank has no memory left, at any point, all ranks get the error, and meet again (on_all_ranks).
TEST(ChunkWriting, TellsAllRanksThatOneHasNoMemory) {
  if (!SWATH_COUNTS_ALLOCATIONS) GTEST_SKIP() << "the sanitizer has its own operators";
  int failed = 0;
  for (int rank = 0; rank < SharedRows::kRanks; ++rank) {
    bool all_succeed = false;
    for (int64_t left = 0; !all_succeed; ++left) {
      SCOPED_TRACE("rank " + std::to_string(rank) + " after " + std::to_string(left));
      Random random(7);
      SharedRows rows(random);
      const Bytes before = rows.one.file.contents();
      rows.poor_rank = rank;
      rows.large_left = left;
      const std::vector<Error> errors = rows.write();
      all_succeed = errors[0].kind() == ErrorKind::kNone;
      for (const Error& error : errors) EXPECT_STREQ(error.what(), errors[0].what());
      if (all_succeed) {
        write_plainly(rows.given, rows.one.values, rows.memory);
      } else {
        ++failed;
        EXPECT_EQ(errors[0].os_error(), ENOMEM) << errors[0].what();
        EXPECT_TRUE(std::string(errors[0].what()).starts_with("rank " + std::to_string(rank) + ": "))
            << errors[0].what();
        EXPECT_EQ(rows.one.file.contents(), before);
      }
      EXPECT_EQ(rows.one.stored(), rows.one.values);
      if (::testing::Test::HasFailure()) return;
    }
  }
  EXPECT_GT(failed, 4 * SharedRows::kRanks) << "packed, received, encoded, gathered, placed";
}

// Without an allocator for its chunks, only the library can write a table.
TEST(ChunkWriting, NeedsSomebodyWhoGivesPlaces) {
  Random random(5);
  TableCase one(random, in_c_order({4}, 8));
  one.library = nullptr;
  const auto comm = make_solo_comm();
  EXPECT_FALSE(one.open(*comm)->goes_by_chunks(Direction::kWrite));
  EXPECT_TRUE(one.open(*comm)->goes_by_chunks(Direction::kRead));
}

// Writes one chunk of random elements and one of equal elements, and returns how each is stored.
std::pair<ChunkTable, ChunkTable> random_and_equal_chunks(const Codec& compressor) {
  Random random(6);
  TableCase one(random, in_c_order({64}, 8));
  one.array.chunk_shape = {64};
  one.array.chunk_strides = {8};
  one.array.places = ChunkTable{{-1}, {0}, {0}};
  one.array.codecs = CodecChain({codec(CodecKind::kShuffle, 8), compressor, codec(CodecKind::kFletcher32, 8)});
  const auto comm = make_solo_comm();
  const auto array = one.open(*comm);
  const auto write = [&](Bytes values) {
    const Operation operation(array->form(),
                              {Direction::kWrite, Decomposition::alone(select_all({64})), Method::kAuto, {}});
    const std::vector<Part> parts = operation.decomposition().parts(0, 8);
    array->execute(operation, {parts, {values.data()}, true});
    EXPECT_EQ(one.read(*array->chunks()), values);
    return std::get<ChunkTable>(array->chunks()->places);
  };
  const ChunkTable random_ones = write(random_bytes(random, 512));
  return {random_ones, write(Bytes(512))};
}

TEST(ChunkWriting, LeavesBloscOutWhereItMakesAChunkNoSmaller) {
  if (!compressor_refusal(CodecKind::kBlosc).empty()) GTEST_SKIP();
  Codec blosc = codec(CodecKind::kBlosc, 8);
  blosc.compressor = "lz4";
  const auto [random_ones, zeros] = random_and_equal_chunks(blosc);
  EXPECT_EQ(random_ones.skipped[0], 2U);
  EXPECT_EQ(random_ones.bytes[0], 512 + 4);
  EXPECT_EQ(zeros.skipped[0], 0U);
  EXPECT_LT(zeros.bytes[0], 100);
}

TEST(ChunkWriting, AppliesEveryOtherCompressorAlsoWhereAChunkGetsNoSmaller) {
  for (const CodecKind kind : {CodecKind::kZlib, CodecKind::kZstd, CodecKind::kHdf5Lz4}) {
    if (!compressor_refusal(kind).empty()) continue;
    const auto [random_ones, zeros] = random_and_equal_chunks(codec(kind, 8));
    EXPECT_EQ(random_ones.skipped[0], 0U) << to_string(kind);
    EXPECT_GT(random_ones.bytes[0], 512 + 4) << to_string(kind);
    EXPECT_LT(zeros.bytes[0], 100) << to_string(kind);
  }
}

}  // namespace
}  // namespace swath
