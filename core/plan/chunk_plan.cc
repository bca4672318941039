#include "plan/chunk_plan.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/math.h"
#include "layout/layout.h"

namespace swath {
namespace {

int64_t elements_of(const Panel& box) {
  int64_t elements = 1;
  for (size_t d = 0; d < box.begin.size(); ++d) elements *= box.end[d] - box.begin[d];
  return elements;
}

int64_t elements_in(const Panel& box, const Part& part) {
  if (!part.holds) return 0;
  int64_t elements = 1;
  for (size_t d = 0; d < box.begin.size(); ++d) elements *= part.indices[d].clip(box.begin[d], box.end[d]).count();
  return elements;
}

// From the first byte of a decoded chunk that the part has to its last.
//
// Example: one column of a chunk of 4 by 8 elements of 8 bytes, in C order: 3 rows and one element, 200 bytes.
int64_t span_of(const Panel& box, const Part& part, const std::vector<int64_t>& strides, int64_t element_bytes) {
  int64_t span = element_bytes;
  for (size_t d = 0; d < box.begin.size(); ++d) {
    const IndexSet inside = part.indices[d].clip(box.begin[d], box.end[d]);
    span += std::abs(inside.at(inside.count() - 1) - inside.at(0)) * strides[d];
  }
  return span;
}

std::vector<int64_t> strides_of(const ChunkGrid& grid) {
  if (!grid.chunk_strides.empty() || grid.chunk_shape.empty()) return grid.chunk_strides;
  std::vector<int64_t> strides(grid.chunk_shape.size(), grid.element_bytes);
  for (size_t d = strides.size() - 1; d > 0; --d) strides[d - 1] = strides[d] * grid.chunk_shape[d];
  return strides;
}

// A chunk that a rank holds elements of, and how many bytes of them.
struct Held {
  int64_t unit;
  int64_t chunk;
  int64_t bytes;
  int64_t span;  // of all parts, each for itself
  int parts;     // that hold them
};

std::vector<Held> held_chunks(const ChunkGrid& grid, const std::vector<Part>& parts) {
  std::vector<Held> held;
  const std::vector<int64_t> strides = strides_of(grid);
  for (const Part& part : parts) {
    if (!part.holds) continue;
    for (const int64_t chunk : chunks_of(grid.shape, grid.chunk_shape, part)) {
      const Panel box = chunk_at(grid.shape, grid.chunk_shape, chunk);
      held.push_back({grid.unit_of(chunk), chunk, elements_in(box, part) * grid.element_bytes,
                      span_of(box, part, strides, grid.element_bytes), 1});
    }
  }
  std::sort(held.begin(), held.end(),
            [](const Held& a, const Held& b) { return std::tie(a.unit, a.chunk) < std::tie(b.unit, b.chunk); });
  size_t last = 0;
  for (size_t i = 1; i < held.size(); ++i) {
    if (held[i].chunk == held[last].chunk) {
      held[last].bytes += held[i].bytes;
      held[last].span += held[i].span;
      ++held[last].parts;
    } else {
      held[++last] = held[i];
    }
  }
  if (!held.empty()) held.resize(last + 1);
  return held;
}

int64_t bytes_held(const std::vector<Part>& parts, int64_t element_bytes) {
  int64_t elements = 0;
  for (const Part& part : parts) elements += part.holds ? part.count() : 0;
  return elements * element_bytes;
}

class Planner {
 public:
  Planner(ChunkRequest request, int64_t counted_max) : request_(std::move(request)), grid_(request_.grid) {
    plan_.ranks = request_.decomposition.ranks();
    if (request_.node_of_rank.empty()) request_.node_of_rank.assign(static_cast<size_t>(plan_.ranks), 0);
    plan_.nodes = 1 + *std::max_element(request_.node_of_rank.begin(), request_.node_of_rank.end());
    plan_.each_rank.resize(static_cast<size_t>(plan_.ranks));
    int64_t chunks = 0;
    for (int rank = 0; rank < plan_.ranks; ++rank) {
      const auto& parts = shares_.emplace_back(request_.decomposition.parts(rank, grid_.element_bytes));
      of(rank).chunks = chunks_held(grid_, parts);
      of(rank).bytes = bytes_held(parts, grid_.element_bytes);
      chunks = of(rank).chunks > INT64_MAX - chunks ? INT64_MAX : chunks + of(rank).chunks;
    }
    plan_.counts_are_exact = chunks <= counted_max;
  }

  ChunkPlan make() {
    plan_.counts_are_exact ? count() : estimate();
    for (const ChunkCounts& counts : plan_.each_rank) {
      plan_.sum += counts;
      plan_.bytes_of_rank_max = std::max(plan_.bytes_of_rank_max, counts.bytes);
      plan_.buffer_bytes_max = std::max(plan_.buffer_bytes_max, counts.buffer_bytes);
    }
    plan_.sum.chunks = chunks_together_;
    plan_.sum.units = units_together_;
    plan_.sum.units_shared = units_shared_together_;
    plan_.reason = reason();
    plan_.price = price();
    plan_.request = std::move(request_);
    plan_.request.grid.is_coded = nullptr;
    plan_.request.grid.stored_bytes = nullptr;
    plan_.request.grid.unit_is_stored = nullptr;
    return std::move(plan_);
  }

 private:
  ChunkCounts& of(int rank) { return plan_.each_rank[static_cast<size_t>(rank)]; }
  bool is_read() const { return request_.direction == Direction::kRead; }
  bool has_codecs() const { return !grid_.codecs.empty(); }
  bool is_chunk_coded(int64_t chunk) const { return grid_.is_coded(chunk); }

  // ---- counted one by one

  void count() {
    std::unordered_set<int64_t> chunks;
    for (int rank = 0; rank < plan_.ranks; ++rank) {
      const auto& held = held_.emplace_back(held_chunks(grid_, shares_[static_cast<size_t>(rank)]));
      of(rank).chunks = std::ssize(held);
      of(rank).buffer_bytes = held.empty() ? 0 : threads() * request_.thread_buffer_bytes;
      for (size_t i = 0; i < held.size(); ++i) {
        chunks.insert(held[i].chunk);
        ranks_of_chunk_[held[i].chunk].push_back(rank);
        if (i == 0 || held[i].unit != held[i - 1].unit) ranks_of_unit_[held[i].unit].push_back(rank);
      }
    }
    chunks_together_ = std::ssize(chunks);
    units_together_ = std::ssize(ranks_of_unit_);
    for (const auto& [unit, ranks] : ranks_of_unit_) {
      for (const int rank : ranks) {
        ++of(rank).units;
        of(rank).units_shared += ranks.size() > 1 ? 1 : 0;
      }
      units_shared_together_ += ranks.size() > 1 ? 1 : 0;
    }
    find_mean();
    if (is_read()) {
      for (int node = 0; node < plan_.nodes; ++node) count_reads_of(node);
      count_windows();
    } else if (grid_.is_table) {
      count_table_writes();
    } else {
      count_file_writes();
    }
    plan_.chunks_decoded_any = std::ssize(decoded_);
  }

  // That a rank begins with: its share of the cores, as far as its buffers allow.
  int64_t threads() const {
    const Profile& profile = request_.profile ? *request_.profile : default_profile();
    const auto share = static_cast<int64_t>(profile.cores / ranks_of_fullest_node());
    const int64_t room = request_.buffer_bytes_max / std::max<int64_t>(request_.thread_buffer_bytes, 1);
    return std::max<int64_t>(std::min(share, room), 1);
  }

  // The mean stored size of the chunks that were looked at, used for the others; their decoded size if none was looked
  // at.
  void find_mean() {
    double bytes = 0;
    int64_t known = 0;
    for (const auto& [chunk, ranks] : ranks_of_chunk_) {
      const std::optional<int64_t> stored = grid_.stored_bytes(chunk);
      if (!stored) plan_.stored_is_exact = false;
      if (!stored || *stored < 0) continue;
      bytes += as_double(*stored);
      ++known;
    }
    mean_stored_ = known > 0 ? std::llround(bytes / as_double(known)) : grid_.chunk_bytes();
  }

  // -1: not stored.
  int64_t stored(int64_t chunk) const { return grid_.stored_bytes(chunk).value_or(mean_stored_); }

  void read_chunk(ChunkCounts& counts, int64_t chunk, int64_t bytes, bool is_coded) {
    ++counts.read_requests;
    counts.read_bytes += bytes;
    if (!is_coded) return;
    ++counts.chunks_decoded;
    counts.decoded_bytes += grid_.chunk_bytes();
    decoded_.insert(chunk);
  }

  void count_reads_of(int node) {
    std::vector<int> ranks;
    std::vector<std::vector<Part>> shares;
    for (int rank = 0; rank < plan_.ranks; ++rank) {
      if (request_.node_of_rank[static_cast<size_t>(rank)] != node) continue;
      ranks.push_back(rank);
      shares.push_back(shares_[static_cast<size_t>(rank)]);
    }
    std::unordered_map<int64_t, int> decoder;  // of shared chunks
    if (ranks.size() > 1 && request_.sharing_refusal.empty()) {
      const ChunkSharing sharing(grid_, shares);
      for (size_t i = 0; i < ranks.size(); ++i) {
        for (const int64_t chunk : sharing.decoded_by(static_cast<int>(i))) decoder[chunk] = ranks[i];
      }
      for (const int rank : ranks) list_of_[rank] = sharing.longest_list();
    }
    for (const int rank : ranks) count_reads_by(rank, decoder);
  }

  // The same for all nodes.
  void count_windows() {
    ChunkNeeds needs{0, threads()};
    for (const auto& [rank, longest] : list_of_) needs.combine({longest, 1});
    const int64_t room = request_.buffer_bytes_max / ranks_of_fullest_node();
    const ChunkWindows windows = ChunkWindows::of(needs, grid_.chunk_bytes(), room);
    for (const auto& [rank, longest] : list_of_) of(rank).buffer_bytes += longest > 0 ? windows.bytes() : 0;
    rounds_ = windows.rounds(needs.longest_list);
    is_shared_ = rounds_ > 0;
  }

  void count_reads_by(int rank, const std::unordered_map<int64_t, int>& decoder) {
    ChunkCounts& counts = of(rank);
    int64_t unit_begun = -1;
    for (const Held& held : held_[static_cast<size_t>(rank)]) {
      const auto shared = decoder.find(held.chunk);
      if (shared != decoder.end() && shared->second != rank) {
        counts.exchanged_bytes += held.bytes;
        continue;
      }
      if (held.unit != unit_begun) begin_unit(counts, held.unit);
      unit_begun = held.unit;
      const int64_t bytes = stored(held.chunk);
      if (bytes < 0) continue;  // the fill value
      const bool is_coded = is_chunk_coded(held.chunk);
      // Of one that is not coded each part is read for itself, with what is between its elements; not from the page
      // cache, which leaves out what is between them.
      if (!is_coded && (held.bytes < held.span || held.parts > 1)) plan_.stored_is_exact = false;
      read_chunk(counts, held.chunk, is_coded ? bytes : held.span, is_coded);
      if (!is_coded) counts.read_requests += held.parts - 1;
      if (!grid_.is_table && grid_.index_bytes == 0) ++counts.files;
    }
  }

  // A shard is opened, and its index read.
  void begin_unit(ChunkCounts& counts, int64_t unit) const {
    if (grid_.index_bytes == 0 || !grid_.unit_is_stored(unit).value_or(true)) return;
    ++counts.read_requests;
    counts.read_bytes += grid_.index_bytes;
    ++counts.files;
  }

  // ---- writing

  int64_t chunk_elements_bytes(int64_t chunk) const {
    return elements_of(chunk_at(grid_.shape, grid_.chunk_shape, chunk)) * grid_.element_bytes;
  }

  void encode_chunk(ChunkCounts& counts) {
    counts.chunks_encoded += has_codecs() ? 1 : 0;
    counts.written_bytes += mean_stored_;
    plan_.stored_is_exact = false;  // unknown before they are encoded
  }

  // One rank encodes each chunk, with the elements of all.
  void count_table_writes() {
    std::unordered_map<int64_t, int64_t> given;  // bytes of each chunk's elements
    for (const auto& list : held_) {
      for (const Held& held : list) given[held.chunk] += held.bytes;
    }
    for (int rank = 0; rank < plan_.ranks; ++rank) {
      for (const Held& held : held_[static_cast<size_t>(rank)]) {
        ChunkCounts& counts = of(rank);
        if (writer_of(held.chunk, ranks_of_chunk_[held.chunk]) != rank) {
          counts.exchanged_bytes += held.bytes;
          continue;
        }
        if (given[held.chunk] < chunk_elements_bytes(held.chunk) && stored(held.chunk) >= 0) {
          read_chunk(counts, held.chunk, stored(held.chunk), is_chunk_coded(held.chunk));
        }
        encode_chunk(counts);
        ++counts.write_requests;
      }
    }
  }

  // Each rank replaces the files of its units: who comes later finds what others have written.
  void count_file_writes() {
    for (int rank = 0; rank < plan_.ranks; ++rank) {
      ChunkCounts& counts = of(rank);
      int64_t unit_begun = -1;
      for (const Held& held : held_[static_cast<size_t>(rank)]) {
        const bool is_new = held.unit != unit_begun;
        unit_begun = held.unit;
        if (is_new) {
          ++counts.files;
          ++counts.write_requests;
          counts.written_bytes += grid_.index_bytes;
          if (!comes_first(held.unit, rank, ranks_of_unit_[held.unit]) ||
              grid_.unit_is_stored(held.unit).value_or(true)) {
            counts.read_requests += grid_.index_bytes > 0 ? 1 : 0;
            counts.read_bytes += grid_.index_bytes;
          }
        }
        const bool is_first = comes_first(held.unit, rank, ranks_of_chunk_[held.chunk]);
        const int64_t old_bytes = is_first ? stored(held.chunk) : mean_stored_;
        if (held.bytes < chunk_elements_bytes(held.chunk) && old_bytes >= 0) {
          read_chunk(counts, held.chunk, old_bytes, has_codecs());
        }
        encode_chunk(counts);
      }
    }
  }

  // Of those that write a unit one after another.
  bool comes_first(int64_t unit, int rank, const std::vector<int>& ranks) const {
    return std::all_of(ranks.begin(), ranks.end(), [&](int other) {
      return writing_turn(unit, rank, plan_.ranks) <= writing_turn(unit, other, plan_.ranks);
    });
  }

  // ---- estimated

  // What a node's ranks hold together is decoded once there, by each rank in proportion to what it holds.
  void estimate() {
    plan_.stored_is_exact = false;
    const auto together = request_.decomposition.together(grid_.element_bytes);
    chunks_together_ = chunks_held(grid_, together);
    ChunkGrid units = grid_;
    units.chunk_shape = grid_.unit_shape;
    units_together_ = chunks_held(units, together);
    const std::optional<int64_t> first = grid_.stored_bytes ? grid_.stored_bytes(0) : std::nullopt;
    mean_stored_ = first.value_or(-1) >= 0 ? *first : grid_.chunk_bytes();
    double held = 0;
    for (const ChunkCounts& counts : plan_.each_rank) held += as_double(counts.chunks);
    is_shared_ = is_read() && request_.sharing_refusal.empty() && held > as_double(chunks_together_);
    const double once_a_node = is_shared_ ? std::min(as_double(chunks_together_) * plan_.nodes / held, 1.0) : 1.0;
    for (ChunkCounts& counts : plan_.each_rank) {
      counts.units = std::min(counts.chunks, units_together_);
      counts.buffer_bytes = threads() * request_.thread_buffer_bytes;
      const int64_t coded = std::llround(as_double(counts.chunks) * once_a_node);
      (is_read() ? counts.chunks_decoded : counts.chunks_encoded) = has_codecs() ? coded : 0;
      if (is_read()) counts.decoded_bytes = counts.chunks_decoded * grid_.chunk_bytes();
      (is_read() ? counts.read_requests : counts.write_requests) = coded;
      (is_read() ? counts.read_bytes : counts.written_bytes) = coded * mean_stored_;
      if (is_shared_) counts.exchanged_bytes = std::llround(as_double(counts.bytes) * (1 - once_a_node));
      counts.files = grid_.is_table ? 0 : std::min(coded, counts.units);
    }
    plan_.chunks_decoded_any = is_read() && has_codecs() ? chunks_together_ : 0;
  }

  // ---- words and seconds

  std::string reason() const {
    if (!is_read()) {
      if (units_shared_together_ == 0) return "each rank encodes the chunks that it holds";
      return grid_.is_table ? "one rank encodes each chunk; those that share it send it their elements"
                            : "each rank encodes the chunks that it holds; files that ranks share are written by one "
                              "after another";
    }
    if (!has_codecs()) return "each rank reads what it needs; nothing is decoded";
    if (is_shared_) return "what several ranks of a node need is decoded there once, by one of them";
    if (!request_.sharing_refusal.empty() && plan_.ranks > 1) {
      return "each rank decodes what it needs: ranks share no memory (" + request_.sharing_refusal + ")";
    }
    return "each rank decodes the chunks that hold its elements";
  }

  ChunkPrice price() const {
    ChunkPrice most;
    for (const ChunkCounts& counts : plan_.each_rank) {
      const ChunkPrice one = price_of(counts);
      if (one.seconds() >= most.seconds()) most = one;
    }
    const Profile& profile = request_.profile ? *request_.profile : default_profile();
    if (!is_read()) {
      most.sync = profile.sync_seconds + as_double(plan_.sum.written_bytes) * profile.sync_byte_seconds;
    }
    return most;
  }

  int ranks_of_fullest_node() const {
    std::vector<int> ranks(static_cast<size_t>(plan_.nodes));
    for (const int node : request_.node_of_rank) ++ranks[static_cast<size_t>(node)];
    return *std::max_element(ranks.begin(), ranks.end());
  }

  static double requests_at(const Curve& each, int64_t requests, int64_t bytes) {
    return requests <= 0 ? 0 : as_double(requests) * each.at_or_in_proportion(as_double(bytes) / as_double(requests));
  }

  // The device can serve several requests at a time: the next chunks are prefetched while one is decoded.
  double device_seconds(const Profile& profile, const ChunkCounts& counts) const {
    if (counts.read_requests == 0) return 0;
    const double later = as_double(counts.read_requests - 1) * profile.device.read_jump_batched;
    const double jumps = profile.device.read_jump + later;
    const double seconds = requests_at(profile.device.read, counts.read_requests, counts.read_bytes) + jumps;
    return seconds * profile.device.read_slowdown.at(ranks_of_fullest_node());
  }

  ChunkPrice price_of(const ChunkCounts& counts) const {
    const Profile& profile = request_.profile ? *request_.profile : default_profile();
    const double ranks = ranks_of_fullest_node();
    // A rank has as many threads as its share of the cores, but none without a chunk.
    const double tasks = std::max<double>(as_double(counts.chunks), 1);
    const double share = std::max(ranks / profile.cores, 1 / tasks);
    const double cached = profile.device.known() ? request_.cached.value_or(0) : 1;
    ChunkPrice price;
    const double reads = requests_at(profile.cache.read, counts.read_requests, counts.read_bytes);
    const double device = cached < 1 ? device_seconds(profile, counts) * (1 - cached) : 0;
    const double file_seconds = is_read() ? profile.chunk_open_seconds : profile.chunk_create_seconds;
    price.transfer = (reads * cached + requests_at(profile.cache.write, counts.write_requests, counts.written_bytes) +
                      as_double(counts.files) * file_seconds) *
                         share +
                     device;
    const CodecCost coding = request_.coding.value_or(profile.coding(grid_.codecs));
    price.coding = (as_double(counts.decoded_bytes) * coding.decode +
                    as_double(counts.chunks_encoded) * as_double(grid_.chunk_bytes()) * coding.encode) *
                   share;
    const double held = as_double(counts.bytes);
    price.copy =
        (is_read() ? profile.gather : profile.scatter).at(512) * (held - as_double(counts.exchanged_bytes)) * share;
    if (held > 0) price.copy += profile.memory_byte_store.at(held) * held;
    price.exchange = profile.exchange_gather.at(512) * as_double(counts.exchanged_bytes) * share +
                     as_double(rounds_) * profile.round.at(ranks);
    if (plan_.ranks > 1) price.exchange += 2 * profile.barrier.at(ranks);
    price.fixed = profile.operation_seconds;
    price.hidden = std::min(device, price.coding + price.copy);
    return price;
  }

  ChunkRequest request_;
  const ChunkGrid& grid_;
  ChunkPlan plan_;
  std::vector<std::vector<Part>> shares_;  // of each rank
  std::vector<std::vector<Held>> held_;
  std::map<int64_t, std::vector<int>> ranks_of_unit_;
  std::unordered_map<int64_t, std::vector<int>> ranks_of_chunk_;
  std::unordered_set<int64_t> decoded_;
  std::map<int, int64_t> list_of_;  // by rank: the longest list of shared chunks on its node
  int64_t chunks_together_ = 0;
  int64_t units_together_ = 0;
  int64_t units_shared_together_ = 0;
  int64_t mean_stored_ = 0;
  int64_t rounds_ = 0;
  bool is_shared_ = false;
};

}  // namespace

ChunkCounts& ChunkCounts::operator+=(const ChunkCounts& other) {
  for_each_amount([&](const char*, auto amount) { this->*amount += other.*amount; });
  bytes += other.bytes;
  chunks += other.chunks;
  units += other.units;
  units_shared += other.units_shared;
  files += other.files;
  return *this;
}

int64_t chunks_held(const ChunkGrid& grid, const std::vector<Part>& parts) {
  int64_t all = 0;
  for (const Part& part : parts) {
    int64_t chunks = part.holds && part.count() > 0 ? 1 : 0;
    for (size_t d = 0; d < grid.shape.size() && chunks > 0; ++d) {
      int64_t along = 0;
      for (const ChunkRun& run : chunk_runs(part.indices[d], grid.shape[d], grid.chunk_shape[d])) {
        along += run.end - run.begin;
      }
      chunks = multiply_or_max(chunks, along);
    }
    all = chunks > INT64_MAX - all ? INT64_MAX : all + chunks;
  }
  return all;
}

double ChunkPlan::times_decoded() const {
  return chunks_decoded_any > 0 ? as_double(sum.chunks_decoded) / as_double(chunks_decoded_any) : 0;
}

ChunkPlan make_chunk_plan(ChunkRequest request, int64_t counted_max) {
  return Planner(std::move(request), counted_max).make();
}

}  // namespace swath
