#include "chunks/chunks.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "base/error.h"
#include "chunks/compressors.h"
#include "testing/naive.h"

namespace swath {
namespace {

using testing::Random;

// A folder that is removed at the end of the test.
class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / ("swath-chunks-" + std::to_string(::getpid()))) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

Codec codec(CodecKind kind) {
  Codec made;
  made.kind = kind;
  made.element_bytes = 4;
  made.compressor = "lz4";
  made.block_bytes = 128;  // for blosc: several blocks per chunk
  return made;
}

CodecChain some_chain(Random& random) {
  std::vector<Codec> codecs;
  if (random.chance(50)) codecs.push_back(codec(CodecKind::kShuffle));
  for (const CodecKind kind : {CodecKind::kZstd, CodecKind::kBlosc}) {
    if (random.chance(40) && compressor_refusal(kind).empty()) codecs.push_back(codec(kind));
  }
  if (random.chance(50)) codecs.push_back(codec(CodecKind::kCrc32c));
  return CodecChain(codecs);
}

// An array of at most three dimensions in any order, sharded or not.
CodedArray some_array(const std::string& path, Random& random) {
  CodedArray array;
  array.path = path;
  array.element_bytes = 4;
  const auto dimensions = static_cast<size_t>(random.between(0, 3));
  Shape shard_shape;
  for (size_t d = 0; d < dimensions; ++d) {
    array.shape.push_back(random.between(1, 20));
    array.chunk_shape.push_back(random.between(1, 7));
    shard_shape.push_back(array.chunk_shape.back() * random.between(1, 3));
  }
  std::vector<int> order(dimensions);
  std::iota(order.begin(), order.end(), 0);
  if (random.chance(50)) std::reverse(order.begin(), order.end());
  array.chunk_strides = strides_in_order(array.chunk_shape, 4, order);
  array.codecs = some_chain(random);
  array.fill.assign(4, std::byte{0x5A});
  const ChunkFiles files{"c/", "/", "c"};
  if (random.chance(50)) {
    array.places = Shards{files, shard_shape, CodecChain({codec(CodecKind::kCrc32c)}), random.chance(50)};
  } else {
    array.places = files;
  }
  array.check();
  return array;
}

Selection some_selection(const Shape& shape, Random& random) {
  Selection selection;
  for (const int64_t extent : shape) {
    const int64_t begin = random.between(0, extent - 1);
    const int64_t step = random.between(1, 3);
    const int64_t count = random.between(1, (extent - begin - 1) / step + 1);
    const bool backwards = random.chance(50);
    selection.push_back({backwards ? begin + (count - 1) * step : begin, backwards ? -step : step, count, false});
  }
  return selection;
}

// The expected array, in C order.
class Model {
 public:
  explicit Model(const Shape& shape) : shape_(shape), values_(static_cast<size_t>(element_count(shape)), 0x5A5A5A5A) {}

  // Visits the elements of a selection in the order that NumPy returns them.
  template <typename Visit>
  void for_each(const Selection& selection, const Visit& visit) {
    for_each_from(selection, 0, 0, visit);
  }

 private:
  template <typename Visit>
  void for_each_from(const Selection& selection, size_t d, int64_t linear, const Visit& visit) {
    if (d == shape_.size()) return visit(values_[static_cast<size_t>(linear)]);
    for (int64_t i = 0; i < selection[d].count; ++i) {
      for_each_from(selection, d + 1, linear * shape_[d] + selection[d].start + i * selection[d].step, visit);
    }
  }

  Shape shape_;
  std::vector<uint32_t> values_;
};

std::vector<uint32_t> read(const CodedArray& array, const Selection& selection) {
  const std::vector<Part> parts{selected_part(selection, 4)};
  std::vector<uint32_t> values(static_cast<size_t>(parts[0].count()));
  const std::vector<std::byte*> addresses{reinterpret_cast<std::byte*>(values.data())};
  read_chunks(array, {parts, addresses}, {});
  return values;
}

void write(const CodedArray& array, const Selection& selection, std::vector<uint32_t>& values) {
  const Decomposition decomposition = Decomposition::alone(selection);
  const std::vector<Part> parts = decomposition.parts(0, 4);
  const std::vector<std::byte*> addresses{reinterpret_cast<std::byte*>(values.data())};
  const TouchedUnits units = touched_units(array, decomposition, 0);
  EXPECT_TRUE(units.shared.empty());
  write_chunks(array, {parts, addresses}, units.own, {});
}

TEST(Chunks, HoldWhatWasWrittenAndElseTheFillValue) {
  for (uint64_t seed = 0; seed < 150; ++seed) {
    Random random(seed);
    const Folder folder;
    const CodedArray array = some_array(folder.path(), random);
    Model model(array.shape);
    uint32_t next = 1;
    for (int i = 0; i < 3; ++i) {
      const Selection selection = some_selection(array.shape, random);
      std::vector<uint32_t> values;
      model.for_each(selection, [&](uint32_t& value) { values.push_back(value = next++); });
      write(array, selection, values);
    }
    for (int i = 0; i < 4; ++i) {
      const Selection selection = i == 0 ? select_all(array.shape) : some_selection(array.shape, random);
      std::vector<uint32_t> expected;
      model.for_each(selection, [&](uint32_t& value) { expected.push_back(value); });
      ASSERT_EQ(read(array, selection), expected) << "seed " << seed;
    }
  }
}

TEST(Chunks, LeaveNoFileAside) {
  const Folder folder;
  Random random(11);
  CodedArray array = some_array(folder.path(), random);
  std::vector<uint32_t> values(static_cast<size_t>(element_count(array.shape)), 7);
  write(array, select_all(array.shape), values);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path())) {
    EXPECT_NE(entry.path().filename().string().front(), '.') << entry.path();
  }
}

CodedArray table(const std::string& path, std::vector<int64_t> offsets, std::vector<int64_t> bytes) {
  CodedArray array;
  array.path = path;
  array.shape = {8};
  array.element_bytes = 4;
  array.chunk_shape = {4};
  array.chunk_strides = {4};
  array.codecs = CodecChain({codec(CodecKind::kCrc32c)});
  array.fill.assign(4, std::byte{0});
  array.places = ChunkTable{std::move(offsets), std::move(bytes), {0, 0}};
  array.check();
  return array;
}

std::string error_of(const CodedArray& array) {
  try {
    read(array, select_all(array.shape));
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kFormat);
    return error.what();
  }
  return "no error";
}

TEST(Chunks, SayWhichChunkIsDamagedAndHow) {
  const Folder folder;
  const std::string path = folder.path() + "/file";
  std::ofstream(path) << std::string(30, 'x');
  EXPECT_EQ(error_of(table(path, {0, -1}, {20, 0})), "chunk (0,) of " + path + " in " + path +
                                                         " (20 bytes stored at offset 0): crc32c: the checksum is 0x" +
                                                         "00ac78db, but 0x78787878 is stored: the bytes have changed")
      << "the sum of 16 letters";
  EXPECT_EQ(error_of(table(path, {-1, 20}, {0, 20})),
            "chunk (1,) of " + path + " in " + path + " (20 bytes stored at offset 20): read " + path +
                " at 20: wanted 20 bytes, got 10: the file ends there; it is truncated");
  EXPECT_EQ(error_of(table(path, {0, -1}, {1000, 0})),
            "chunk (0,) of " + path + " in " + path +
                " (1,000 bytes stored at offset 0): a chunk of 16 bytes cannot take "
                "more than 20 when it is stored");
}

TEST(Chunks, RefuseShapesThatCannotBe) {
  const Folder folder;
  Random random(5);
  CodedArray array = some_array(folder.path(), random);
  array.shape = {10};
  array.chunk_shape = {4};
  array.chunk_strides = {4};
  array.places = Shards{{"c/", "/", "c"}, {6}, CodecChain(), true};
  EXPECT_THROW(array.check(), Error);
  array.places = ChunkTable{{0}, {16}, {0}};
  EXPECT_THROW(array.check(), Error);
  array.chunk_shape = {INT64_MAX / 2};
  EXPECT_THROW(array.check(), Error);
  array.shape = {INT64_MAX};
  array.chunk_shape = {4};
  array.places = Shards{{"c/", "/", "c"}, {int64_t{1} << 60}, CodecChain(), true};
  EXPECT_THROW(array.check(), Error);
  array.places = ChunkFiles{"c/", "/", "c"};
  EXPECT_NO_THROW(array.check());
  array.codecs = CodecChain(std::vector<Codec>(33, codec(CodecKind::kCrc32c)));
  EXPECT_THROW(array.check(), Error);
}

// Whatever the codecs do to the bytes of the largest chunk, the maximum of its stored bytes is not negative.
TEST(Chunks, BoundsOfStoredBytesStayWithin64Bits) {
  const CodecChain chain(std::vector<Codec>(32, codec(CodecKind::kZstd)));
  EXPECT_GT(chain.stored_bytes_max(INT64_MAX / 64), INT64_MAX / 64);
  EXPECT_LE(chain.stored_bytes_max(INT64_MAX / 64), INT64_MAX / 8);
}

TEST(Chunks, OfTheLongestArrayAreReadAndWrittenAtItsEnd) {
  for (const bool sharded : {false, true}) {
    const Folder folder;
    CodedArray array;
    array.path = folder.path();
    array.shape = {INT64_MAX, 2};
    array.element_bytes = 4;
    array.chunk_shape = {4, 4};  // so that there are at most 2^61 chunks
    array.chunk_strides = {16, 4};
    array.fill.assign(4, std::byte{0x5A});
    const ChunkFiles files{"c/", "/", "c"};
    array.places = files;
    if (sharded) array.places = Shards{files, {16, 4}, CodecChain(), true};
    array.check();
    const Selection last{{INT64_MAX - 5, 1, 5, false}, {1, 1, 1, false}};
    std::vector<uint32_t> values{1, 2, 3, 4, 5};
    write(array, last, values);
    EXPECT_EQ(read(array, last), values);
    const Selection ends{{INT64_MAX - 1, -(INT64_MAX - 1), 2, false}, {0, 1, 2, false}};
    EXPECT_EQ(read(array, ends), (std::vector<uint32_t>{0x5A5A5A5A, 5, 0x5A5A5A5A, 0x5A5A5A5A}));
  }
}

TEST(Chunks, AreRegularFiles) {
  const Folder folder;
  Random random(5);
  CodedArray array = some_array(folder.path(), random);
  array.places = ChunkFiles{"", ".", "0"};
  const std::string path = folder.path() + "/" + array.file_name(0);
  std::filesystem::create_directory(path);
  const auto text = [&] {
    try {
      read(array, select_all(array.shape));
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kStore);
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(text(), "open " + path + " for reading: Is a directory");
  std::filesystem::remove(path);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(text(), "open " + path + " for reading: Illegal seek (expected a regular file)");
}

TEST(Chunks, AreSharedWhereSeveralRanksHoldElements) {
  CodedArray array;
  array.path = "nowhere";
  array.shape = {10, 4};
  array.element_bytes = 4;
  array.chunk_shape = {4, 4};
  array.chunk_strides = {16, 4};
  array.fill.assign(4, std::byte{0});
  array.places = ChunkFiles{"c/", "/", "c"};
  const std::vector<DimensionRule> rules{{DimensionRule::Kind::kBlock, 0}, {DimensionRule::Kind::kWhole, 0}};
  const Decomposition decomposition =
      Decomposition::distributed(Distribution(rules, {2, 1}), select_all(array.shape), 2);
  const TouchedUnits first = touched_units(array, decomposition, 0);   // rows 0 to 4
  const TouchedUnits second = touched_units(array, decomposition, 1);  // rows 5 to 9
  EXPECT_EQ(first.own, std::vector<int64_t>{0});
  EXPECT_EQ(first.shared, std::vector<int64_t>{1});
  EXPECT_EQ(second.own, std::vector<int64_t>{2});
  EXPECT_EQ(second.shared, std::vector<int64_t>{1});
}

}  // namespace
}  // namespace swath
