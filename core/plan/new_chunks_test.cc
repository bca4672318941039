#include "plan/new_chunks.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "plan/chunk_plan.h"

namespace swath {
namespace {

// 8 by 8 chunks of 128 by 128 elements of 8 bytes.
NewChunks square() {
  NewChunks chunks;
  chunks.shape = {1024, 1024};
  chunks.chunk_shape = chunks.unit_shape = {128, 128};
  chunks.element_bytes = 8;
  return chunks;
}

ChunkPlan read_of(const NewChunks& chunks, const Selection& selection) {
  ChunkRequest request;
  request.grid = grid_of(chunks);
  request.decomposition = Decomposition::alone(selection);
  request.cached = 0;
  return make_chunk_plan(std::move(request));
}

Selection column() { return {{0, 1, 1024, false}, {5, 1, 1, true}}; }
constexpr int64_t kChunkBytes = int64_t{128} * 128 * 8;

TEST(NewChunks, ThatAreCompressedAreReadWholeForOneElement) {
  NewChunks chunks = square();
  chunks.codecs = {"zstd"};
  chunks.ratio = 4;
  const ChunkPlan plan = read_of(chunks, column());
  EXPECT_EQ(plan.sum.chunks_decoded, 8);
  EXPECT_EQ(plan.sum.read_bytes, 8 * kChunkBytes / 4);
  EXPECT_EQ(plan.sum.decoded_bytes, 8 * kChunkBytes);
  EXPECT_EQ(plan.sum.files, 8);
}

TEST(NewChunks, ThatAreNotAreReadFromTheFirstByteToTheLast) {
  const ChunkPlan plan = read_of(square(), column());
  EXPECT_EQ(plan.sum.chunks_decoded, 0);
  EXPECT_EQ(plan.sum.read_bytes, 8 * (int64_t{127} * 128 * 8 + 8));
  EXPECT_EQ(plan.price.coding, 0);
}

TEST(NewChunks, InOneFileNeedNoneToBeOpenedAndInShardsOneAShard) {
  NewChunks chunks = square();
  chunks.codecs = {"zstd"};
  const ChunkPlan files = read_of(chunks, column());
  chunks.is_table = true;
  const ChunkPlan table = read_of(chunks, column());
  EXPECT_EQ(table.sum.files, 0);
  EXPECT_LT(table.price.seconds(), files.price.seconds());
  chunks.is_table = false;
  chunks.unit_shape = {512, 512};
  const ChunkPlan shards = read_of(chunks, column());
  EXPECT_EQ(shards.sum.files, 2);
  EXPECT_EQ(shards.sum.read_requests, 8 + 2);
  EXPECT_EQ(shards.sum.read_bytes, files.sum.read_bytes + int64_t{2} * (16 * 16 + 4));
}

TEST(NewChunks, ThatAreWrittenAreSyncedByTheBytesThatAreStored) {
  ChunkRequest request;
  NewChunks chunks = square();
  chunks.codecs = {"zstd"};
  chunks.ratio = 2;
  request.direction = Direction::kWrite;
  request.grid = grid_of(chunks);
  request.decomposition = Decomposition::alone(select_all(chunks.shape));
  const ChunkPlan half = make_chunk_plan(request);
  chunks.ratio = 1;
  request.grid = grid_of(chunks);
  const ChunkPlan all = make_chunk_plan(request);
  EXPECT_EQ(2 * half.sum.written_bytes, all.sum.written_bytes);
  const Profile& profile = default_profile();
  EXPECT_DOUBLE_EQ(all.price.sync - half.price.sync,
                   static_cast<double>(half.sum.written_bytes) * profile.sync_byte_seconds);
}

TEST(NewChunks, ThatCannotBeAreRefused) {
  NewChunks chunks = square();
  chunks.unit_shape = {200, 128};
  EXPECT_THROW(grid_of(chunks), Error);
  chunks = square();
  chunks.ratio = 0;
  EXPECT_THROW(grid_of(chunks), Error);
  chunks = square();
  chunks.chunk_shape = {128};
  EXPECT_THROW(grid_of(chunks), Error);
}

}  // namespace
}  // namespace swath
