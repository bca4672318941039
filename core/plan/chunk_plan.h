// How coded chunks will be read or written: which rank decodes and encodes which, how many bytes, how long. Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/counters.h"
#include "base/direction.h"
#include "plan/chunk_grid.h"
#include "plan/chunk_sharing.h"
#include "plan/profile.h"
#include "space/decomposition.h"

namespace swath {

struct ChunkRequest {
  Direction direction = Direction::kRead;
  ChunkGrid grid;  // its functions are called while planning only
  Decomposition decomposition;
  std::vector<int> node_of_rank;           // empty: all ranks are on one node
  std::string sharing_refusal;             // why ranks of a node share no memory; empty: they do
  int64_t buffer_bytes_max = 0;            // of all windows of a node
  int64_t thread_buffer_bytes = 0;         // of a rank's threads
  std::shared_ptr<const Profile> profile;  // null: the default profile
  std::optional<double> cached;            // the part of the read bytes in the page cache; nullopt: unknown
  std::optional<CodecCost> coding;  // of all codecs together, measured on the elements; nullopt: from the profile
};

// Of one rank, or the total over all ranks.
struct ChunkCounts : IoAmounts {
  int64_t bytes = 0;         // of elements
  int64_t chunks = 0;        // that hold the elements; the total has each chunk once
  int64_t units = 0;         // chunks, or shards; the total has each once
  int64_t units_shared = 0;  // those that hold elements of several ranks
  int64_t files = 0;         // opened or created

  int64_t requests() const { return read_requests + write_requests; }
  ChunkCounts& operator+=(const ChunkCounts& other);
};

// Seconds of the rank with the most work.
struct ChunkPrice {
  double transfer = 0;
  double coding = 0;  // decoding and encoding
  double copy = 0;
  double exchange = 0;
  double fixed = 0;
  double hidden = 0;  // transfer hidden behind coding and copying
  double sync = 0;    // the later sync of all written bytes

  double seconds() const { return transfer + coding + copy + exchange + fixed - hidden; }
};

struct ChunkPlan {
  ChunkRequest request;  // without the grid's functions
  std::string reason;
  int ranks = 1;
  int nodes = 1;
  std::vector<ChunkCounts> each_rank;
  ChunkCounts sum;
  int64_t chunks_decoded_any = 0;  // number of distinct chunks that are decoded
  int64_t bytes_of_rank_max = 0;
  int64_t buffer_bytes_max = 0;  // of the rank with the largest buffers
  bool counts_are_exact = true;  // false: too many chunks to count one by one
  bool stored_is_exact = true;   // false: bytes in files are an estimate, from the files that were looked at
  ChunkPrice price;

  // How many times a decoded chunk is decoded, on average.
  double times_decoded() const;
};

// Up to this number, chunks of ranks are counted one by one; beyond it counts are estimates.
constexpr int64_t kChunksCountedMax = 500'000;

// The number of chunks in which the parts have elements, in closed form; chunks of several parts count several times.
int64_t chunks_held(const ChunkGrid& grid, const std::vector<Part>& parts);

ChunkPlan make_chunk_plan(ChunkRequest request, int64_t counted_max = kChunksCountedMax);

}  // namespace swath
