#include "plan/explain.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <vector>

#include "base/units.h"

namespace swath {
namespace {

using Row = std::vector<std::string>;

// Columns as wide as their widest cell; the first is left-aligned, the others right-aligned.
std::string table(const std::vector<Row>& rows) {
  std::vector<size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line = "  ";
    for (size_t c = 0; c < row.size(); ++c) {
      const std::string padding(widths[c] - row[c].size(), ' ');
      line += c == 0 ? row[c] + padding : "  " + padding + row[c];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string approximately(bool exact, int64_t value) { return (exact ? "" : "~") + with_commas(value); }

// How two-phase moves windows with holes, where that does not depend on their runs.
std::string inner_of(Method inner) {
  if (inner == Method::kAuto) return "";
  return inner == Method::kSieve ? ", windows as a whole" : ", windows by " + to_string(inner);
}

// "two-phase, windows of 128.0 KiB, 1 aggregator": what differs from the defaults.
std::string sizes_of(const Option& option) {
  const Tuning defaults;
  const Tuning& tuning = option.tuning;
  std::string text;
  if (option.method == Method::kSieve && tuning.sieve_bytes != defaults.sieve_bytes) {
    text += ", windows of " + in_bytes(tuning.sieve_bytes);
  }
  if (option.price.maps_cached) text += ", in the page cache";
  if (option.method != Method::kTwoPhase) return text;
  if (tuning.window_bytes != defaults.window_bytes) text += ", windows of " + in_bytes(tuning.window_bytes);
  if (tuning.aggregators != defaults.aggregators) {
    text += ", " + std::to_string(tuning.aggregators) + (tuning.aggregators == 1 ? " aggregator" : " aggregators");
  }
  text += inner_of(tuning.inner);
  if (tuning.inner == Method::kAuto && tuning.runs_bytes_min != defaults.runs_bytes_min) {
    text += ", windows by runs of " + in_bytes(tuning.runs_bytes_min) + " or more";
  }
  return text;
}

Row io_counts_row(const std::string& name, const IoCounts& cost, const std::string& memory) {
  const int64_t requests = cost.requests();
  const int64_t moved = cost.read_bytes + cost.written_bytes;
  return {name,
          approximately(cost.exact, requests),
          requests > 0 ? in_bytes(moved / requests) : "-",
          in_bytes(cost.read_bytes),
          in_bytes(cost.written_bytes),
          in_bytes(cost.exchanged_bytes),
          memory};
}

// "stated defaults; 100 % in the page cache", "...; not known what is in the page cache".
std::string price_basis(const std::shared_ptr<const Profile>& given, const std::optional<double>& cached) {
  const Profile& profile = given ? *given : default_profile();
  const auto percent = std::lround(cached.value_or(0) * 100);
  std::string text = profile.source + "; ";
  text += cached ? std::to_string(percent) + " % in the page cache" : "not known what is in the page cache";
  if (percent < 100 && !profile.device.known()) return text + ", and the device was not measured: priced as cached";
  if (!cached) text += ": priced as if nothing were";
  return text;
}

// "1 chunk", "2 chunks".
std::string counted(int64_t count, const std::string& what) {
  return with_commas(count) + " " + what + (count == 1 ? "" : "s");
}

// Where the seconds of the method chosen go.
std::string parts_of(const CostEstimate& price) {
  std::string text = "of them " + in_seconds(price.transfer) + " transfer, " + in_seconds(price.copy) + " copying, " +
                     in_seconds(price.exchange) + " exchange, " + in_seconds(price.fixed) + " fixed";
  if (price.hidden > 0) text += ", " + in_seconds(price.hidden) + " behind each other";
  if (price.correction != 1) {
    std::array<char, 32> factor{};
    std::snprintf(factor.data(), factor.size(), "%.2f", price.correction);
    text += std::string("; what is not fixed times ") + factor.data() + ", learned from operations before";
  }
  return text;
}

}  // namespace

std::string explain(const Plan& plan, const std::string& title, int ranks_shown) {
  const Request& request = plan.request;
  const int ranks = request.decomposition.ranks();
  std::string text = (request.direction == Direction::kRead ? "read " : "write ") + title + "\n";
  text += "  distribution  " + request.decomposition.to_string() + ", " + std::to_string(ranks) +
          (ranks == 1 ? " rank" : " ranks") + "\n";
  text += "  layout        " + request.layout->to_string() + "\n";
  text += "  data          " + in_bytes(plan.runs.bytes) + ", at most " + in_bytes(plan.runs.bytes_of_rank_max) +
          " a rank\n";
  text += "  runs          R_dist = " + approximately(plan.runs.exact, plan.runs.count) +
          " contiguous runs, S_dist = " + with_commas(plan.runs.bytes_max) + " bytes the longest\n";
  text += "  method        " + to_string(plan.method) + inner_of(plan.inner()) + ": " + plan.reason + "\n";

  text += "  priced from   " + price_basis(request.profile, request.cached) + "\n";

  text += "\nAll ranks together, by method (> chosen):\n";
  std::vector<Row> rows{
      {"method", "requests", "mean size", "read", "written", "exchanged", "buffers a rank", "predicted"}};
  const bool is_synced = plan.price().sync > 0;  // the choice is then by the sum of the last two
  if (is_synced) rows.front().emplace_back("a sync then");
  bool exact = plan.runs.exact;
  for (const Candidate& candidate : plan.candidates()) {
    const Option& option = candidate.option;
    const std::string mark = option.method == plan.method ? "> " : "  ";
    rows.push_back(io_counts_row(mark + to_string(option.method) + sizes_of(option), candidate.cost.sum,
                                 in_bytes(candidate.cost.buffer_bytes_max)));
    exact = exact && candidate.cost.sum.exact;
    rows.back().push_back(in_seconds(option.price.seconds()));
    if (is_synced) rows.back().push_back(in_seconds(option.price.sync));
  }
  text += table(rows);
  text += "  " + parts_of(plan.price()) + "\n";

  text += "\nEach rank, by " + to_string(plan.method) + " (direct beside it):\n";
  rows = {{"rank", "requests", "mean size", "read", "written", "exchanged", "buffers", "holds", "direct requests"}};
  for (int rank = 0; rank < std::min(ranks, ranks_shown); ++rank) {
    const IoCounts cost = plan.cost(plan.method, rank);
    const IoCounts direct = plan.cost(Method::kDirect, rank);
    Row row = io_counts_row(std::to_string(rank), cost, in_bytes(cost.buffer_bytes));
    row.push_back(in_bytes(plan.local_bytes(rank)));
    row.push_back(approximately(direct.exact, direct.requests()));
    rows.push_back(row);
    exact = exact && cost.exact && direct.exact;
  }
  text += table(rows);
  if (ranks > ranks_shown) text += "  ... and " + std::to_string(ranks - ranks_shown) + " more ranks\n";
  if (!exact) text += "  ~ an estimate: too many to count one by one\n";
  return text;
}

namespace {

// "each once", "each 1.5 times".
std::string times_decoded(const ChunkPlan& plan) {
  if (plan.sum.chunks_decoded == plan.chunks_decoded_any) return "each once";
  std::array<char, 32> times{};
  std::snprintf(times.data(), times.size(), "%.1f", plan.times_decoded());
  return std::string("each ") + times.data() + " times on average";
}

std::string stored_text(const ChunkPlan& plan, int64_t bytes) {
  return (plan.stored_is_exact ? "" : "~") + in_bytes(bytes);
}

std::string coding_lines(const ChunkPlan& plan) {
  const ChunkCounts& all = plan.sum;
  const bool exact = plan.counts_are_exact;
  std::string text;
  if (plan.request.direction == Direction::kRead) {
    text = "  decoded       " + approximately(exact, all.chunks_decoded) + ", " + in_bytes(all.decoded_bytes);
    if (all.chunks_decoded > 0) text += ", " + times_decoded(plan);
    return text + "; read from the store: " + stored_text(plan, all.read_bytes) + "\n";
  }
  text = "  encoded       " + approximately(exact, all.chunks_encoded) +
         "; written to the store: " + stored_text(plan, all.written_bytes) + "\n";
  if (all.read_requests > 0) {
    text += "  decoded first " + approximately(exact, all.chunks_decoded) + ": chunks that are written in part\n";
  }
  return text;
}

// What the distribution does to chunks that can be written as a whole only.
std::string sharing_lines(const ChunkPlan& plan) {
  const ChunkGrid& grid = plan.request.grid;
  const std::string unit = grid.unit_shape == grid.chunk_shape ? "chunk" : "shard";
  std::string text = "  " + unit + "s        " + approximately(plan.counts_are_exact, plan.sum.units) + " touched";
  if (!plan.counts_are_exact) return text + "\n";
  text += ": " + with_commas(plan.sum.units - plan.sum.units_shared) + " by one rank, " +
          with_commas(plan.sum.units_shared) + " by several\n";
  if (plan.request.direction == Direction::kRead || plan.sum.units_shared == 0) return text;
  text += "  forced        " + counted(plan.sum.units_shared, unit) + " of several ranks: ";
  text += grid.is_table ? "they send their elements to the one that encodes it" : "they write it one after another";
  return text + "; blocks of " + to_string(grid.unit_shape) + " or multiples force none\n";
}

}  // namespace

std::string explain(const ChunkPlan& plan, const std::string& title, const std::string& layout, int ranks_shown) {
  const ChunkCounts& all = plan.sum;
  const bool is_read = plan.request.direction == Direction::kRead;
  std::string text = (is_read ? "read " : "write ") + title + "\n";
  text += "  distribution  " + plan.request.decomposition.to_string() + ", " + counted(plan.ranks, "rank") + " on " +
          counted(plan.nodes, "node") + "\n";
  text += "  layout        " + layout + "\n";
  text += "  data          " + in_bytes(all.bytes) + ", at most " + in_bytes(plan.bytes_of_rank_max) + " a rank\n";
  if (plan.request.grid.unit_shape != plan.request.grid.chunk_shape) {
    text += "  chunks        " + approximately(plan.counts_are_exact, all.chunks) + " touched\n";
  }
  text += sharing_lines(plan) + coding_lines(plan);
  text += "  method        chunks: " + plan.reason + "\n";
  text += "  priced from   " + price_basis(plan.request.profile, plan.request.cached) + "\n";
  const ChunkPrice& price = plan.price;
  text += "  predicted     " + in_seconds(price.seconds()) + ": " + in_seconds(price.transfer) + " transfer, " +
          in_seconds(price.coding) + (is_read ? " decoding, " : " coding, ") + in_seconds(price.copy) + " copying, " +
          in_seconds(price.exchange) + " exchange, " + in_seconds(price.fixed) + " fixed";
  if (price.hidden > 0) text += ", " + in_seconds(price.hidden) + " behind each other";
  text += "\n\nEach rank:\n";
  std::vector<Row> rows{{"rank", "touches", is_read ? "decodes" : "encodes", is_read ? "decoded" : "decodes first",
                         is_read ? "read" : "written", "exchanged", "buffers", "holds"}};
  for (int rank = 0; rank < std::min(plan.ranks, ranks_shown); ++rank) {
    const ChunkCounts& one = plan.each_rank[static_cast<size_t>(rank)];
    const bool exact = plan.counts_are_exact;
    rows.push_back({std::to_string(rank), approximately(exact, one.chunks),
                    approximately(exact, is_read ? one.chunks_decoded : one.chunks_encoded),
                    is_read ? in_bytes(one.decoded_bytes) : approximately(exact, one.chunks_decoded),
                    stored_text(plan, is_read ? one.read_bytes : one.written_bytes), in_bytes(one.exchanged_bytes),
                    in_bytes(one.buffer_bytes), in_bytes(one.bytes)});
  }
  text += table(rows);
  if (plan.ranks > ranks_shown) text += "  ... and " + std::to_string(plan.ranks - ranks_shown) + " more ranks\n";
  if (!plan.counts_are_exact) {
    text += "  ~ an estimate: too many chunks to count one by one\n";
  } else if (!plan.stored_is_exact) {
    text += is_read ? "  ~ an estimate: not all files were looked at, or more is read than is wanted\n"
                    : "  ~ an estimate: what a chunk takes is known when it is encoded\n";
  }
  return text;
}

}  // namespace swath
