#include "plan/explain.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/units.h"

namespace swath {
namespace {

constexpr std::array kMethods{Method::kDirect, Method::kSieve, Method::kList, Method::kTwoPhase};

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

std::string approximately(const Cost& cost, int64_t value) { return (cost.exact ? "" : "~") + with_commas(value); }

Row cost_row(const std::string& name, const Cost& cost, const std::string& memory) {
  const int64_t requests = cost.requests();
  const int64_t moved = cost.read_bytes + cost.written_bytes;
  return {name,
          approximately(cost, requests),
          requests > 0 ? in_bytes(moved / requests) : "-",
          in_bytes(cost.read_bytes),
          in_bytes(cost.written_bytes),
          in_bytes(cost.exchanged_bytes),
          memory};
}

}  // namespace

std::string explain(const Plan& plan, const std::string& title, int ranks_shown) {
  const Request& request = plan.request;
  const int ranks = request.sharing.ranks();
  std::string text = (request.direction == Direction::kRead ? "read " : "write ") + title + "\n";
  text += "  distribution  " + request.sharing.to_string() + ", " + std::to_string(ranks) +
          (ranks == 1 ? " rank" : " ranks") + "\n";
  text += "  layout        " + request.layout->to_string() + "\n";
  text += "  data          " + in_bytes(plan.runs.bytes) + ", at most " + in_bytes(plan.runs.bytes_of_rank_max) +
          " a rank\n";
  text += "  runs          R_dist = " + with_commas(plan.runs.count) +
          " contiguous runs, S_dist = " + with_commas(plan.runs.bytes_max) + " bytes the longest\n";
  text += "  method        " + to_string(plan.method) + ": " + plan.reason + "\n";

  text += "\nAll ranks together, by method (> chosen):\n";
  std::vector<Row> rows{{"method", "requests", "mean size", "read", "written", "exchanged", "buffers a rank"}};
  for (const Candidate& candidate : plan.candidates()) {
    const std::string mark = candidate.method == plan.method ? "> " : "  ";
    rows.push_back(cost_row(mark + to_string(candidate.method), candidate.total, in_bytes(candidate.buffer_bytes_max)));
  }
  text += table(rows);

  text += "\nEach rank, by " + to_string(plan.method) + " (direct beside it):\n";
  rows = {{"rank", "requests", "mean size", "read", "written", "exchanged", "buffers", "holds", "direct requests"}};
  for (int rank = 0; rank < std::min(ranks, ranks_shown); ++rank) {
    const Cost cost = plan.cost(plan.method, rank);
    const Cost direct = plan.cost(Method::kDirect, rank);
    Row row = cost_row(std::to_string(rank), cost, in_bytes(cost.buffer_bytes));
    row.push_back(in_bytes(plan.local_bytes(rank)));
    row.push_back(approximately(direct, direct.requests()));
    rows.push_back(row);
  }
  text += table(rows);
  if (ranks > ranks_shown) text += "  ... and " + std::to_string(ranks - ranks_shown) + " more ranks\n";
  const bool estimated =
      std::any_of(kMethods.begin(), kMethods.end(), [&](Method method) { return !plan.cost(method, 0).exact; });
  if (estimated) text += "  ~ an estimate: too many to count one by one\n";
  return text;
}

}  // namespace swath
