#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/error.h"
#include "simulate/simulate.h"

namespace swath::simulate {
namespace {

using Json = nlohmann::json;

[[noreturn]] void fail_member(const std::string& name, const std::string& expected) {
  fail_argument("simulate: operation: " + name + ": expected " + expected);
}

DimensionRule rule_of(const Json& json) {
  const std::string kind = json.value("kind", "");
  const int64_t size = json.value("size", int64_t{0});
  if (kind == "block") return {DimensionRule::Kind::kBlock, size};
  if (kind == "cyclic") return {DimensionRule::Kind::kCyclic, std::max<int64_t>(size, 1)};
  if (kind == "whole") return {DimensionRule::Kind::kWhole, 0};
  fail_member("distribution.rules: kind = \"" + kind + "\"", "block, cyclic or whole");
}

Selection selection_of(const Json& json, const Shape& shape) {
  if (!json.contains("selection")) return select_all(shape);
  Selection selection;
  for (const Json& one : json["selection"]) {
    selection.push_back({one.at(0).get<int64_t>(), one.at(1).get<int64_t>(), one.at(2).get<int64_t>(), false});
  }
  if (selection.size() != shape.size()) fail_member("selection", "[start, step, count] for each dimension");
  for (size_t d = 0; d < shape.size(); ++d) {
    if (!lies_within(selection[d], shape[d])) fail_member("selection", "indices within the shape");
  }
  return selection;
}

Decomposition decomposition_of(const Json& json, const Shape& shape, int ranks) {
  if (json.contains("boxes")) {
    std::vector<Boxes> of_ranks;
    for (const Json& boxes : json["boxes"]) {
      Boxes& of_rank = of_ranks.emplace_back();
      for (const Json& box : boxes) of_rank.push_back({box.at(0).get<Shape>(), box.at(1).get<Shape>()});
    }
    if (std::ssize(of_ranks) != ranks) fail_member("boxes", "a list for each of " + std::to_string(ranks) + " ranks");
    return Decomposition::boxes(std::move(of_ranks), shape);
  }
  const Json& given = json.at("distribution");
  std::vector<DimensionRule> rules;
  for (const Json& rule : given.at("rules")) rules.push_back(rule_of(rule));
  return Decomposition::distributed(Distribution(rules, given.at("grid").get<std::vector<int64_t>>()),
                                    selection_of(json, shape), ranks);
}

std::vector<int> order_of(const Json& json, size_t dimensions) {
  const Json order = json.value("order", Json("C"));
  if (order.is_array()) return order.get<std::vector<int>>();
  std::vector<int> dims = c_order(dimensions);
  if (order == "F") std::reverse(dims.begin(), dims.end());
  if (order != "C" && order != "F") fail_member("order", "C, F, or the dimensions from the slowest to the fastest");
  return dims;
}

// An operation of a trace: exactly its bytes, by another method if one is given.
OperationCase exact_case_of(const Json& json, int ranks) {
  const auto bytes = from_base64(json.at("exact").get<std::string>());
  if (!bytes) fail_member("exact", "the bytes of an operation in base 64");
  const Operation operation = Operation::parse(*bytes);
  const ArrayForm& array = operation.array();
  if (array.layout() == nullptr) fail_member("exact", "an array that plans move: coded chunks cannot be simulated");
  if (operation.decomposition().ranks() != ranks) {
    fail_member("exact", "an operation of " + std::to_string(ranks) + " ranks, it is one of " +
                             std::to_string(operation.decomposition().ranks()));
  }
  OperationCase made;
  made.form = std::make_shared<const ArrayForm>(array);
  made.shape = array.shape();
  made.element_bytes = array.element_bytes();
  made.access = {operation.direction(), operation.decomposition(), operation.method(), operation.tuning(),
                 operation.inner()};
  if (json.contains("method")) {
    const MethodChoice choice = parse_choice(json["method"]);
    made.access.method = choice.method;
    made.access.inner = choice.inner;
  }
  made.file_bytes = json.value("file_bytes", int64_t{0});
  return made;
}

// Throws if the array has 2^63 bytes or more.
void check_bytes(const Shape& shape, int64_t element_bytes) {
  int64_t bytes = element_bytes;
  for (const int64_t extent : shape) {
    if (__builtin_mul_overflow(bytes, extent, &bytes)) fail_member("shape", "an array of less than 2^63 bytes");
  }
}

OperationCase distributed_case_of(const Json& json, int ranks) {
  OperationCase made;
  made.shape = json.at("shape").get<Shape>();
  made.element_bytes = json.at("element_bytes").get<int64_t>();
  check_bytes(made.shape, made.element_bytes);
  made.order = order_of(json, made.shape.size());
  made.access.direction = json.value("write", false) ? Direction::kWrite : Direction::kRead;
  made.access.decomposition = decomposition_of(json, made.shape, ranks);
  if (json.contains("redistributed_to")) made.target = decomposition_of(json["redistributed_to"], made.shape, ranks);
  const MethodChoice choice = parse_choice(json.value("method", "auto"));
  made.access.method = choice.method;
  made.access.inner = choice.inner;
  const Json tuning = json.value("tuning", Json::object());  // items() refers to it
  for (const auto& [name, value] : tuning.items()) {
    made.access.tuning.emplace_back(name, value.get<int64_t>());
  }
  return made;
}

// A number for all ranks, or a list of one for each.
void take_gaps(const Json& json, int ranks, OperationCase& made) {
  if (!json.contains("gap")) return;
  const Json& gap = json["gap"];
  if (gap.is_array()) {
    made.gap_of_rank = gap.get<std::vector<double>>();
    if (std::ssize(made.gap_of_rank) != ranks)
      fail_member("gap", "one for each of " + std::to_string(ranks) + " ranks");
  } else {
    made.gap_seconds = gap.get<double>();
  }
}

OperationCase case_of(const Json& json, int machine_ranks) {
  const int rank = json.value("rank", kAllRanks);
  if (rank < kAllRanks || rank >= machine_ranks) {
    fail_member("rank = " + std::to_string(rank), "a rank below " + std::to_string(machine_ranks));
  }
  const int ranks = rank == kAllRanks ? machine_ranks : 1;
  OperationCase made = json.contains("exact") ? exact_case_of(json, ranks) : distributed_case_of(json, ranks);
  made.rank = rank;
  take_gaps(json, ranks, made);
  made.name = json.value("name", "");
  made.file = json.value("file", "data");
  made.repeat = json.value("repeat", 1);
  made.sync = json.value("sync", false);
  return made;
}

}  // namespace

std::vector<OperationCase> parse_operations(const std::string& json, int ranks) {
  const Json parsed = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_array() || parsed.empty()) fail_argument("simulate: expected a list of operations as JSON");
  std::vector<OperationCase> operations;
  try {
    for (const Json& one : parsed) operations.push_back(case_of(one, ranks));
  } catch (const Json::exception& error) {
    fail_argument("simulate: operation " + std::to_string(operations.size()) + ": " + error.what());
  }
  return operations;
}

}  // namespace swath::simulate
