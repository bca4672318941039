// Carries out operations on a simulated machine: the library's own agreements, plans, messages and requests, with the
// times of the machine.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "method/local_memory.h"
#include "plan/operation.h"
#include "simulate/machine.h"
#include "simulate/machine_engine.h"
#include "simulate/world.h"

namespace swath::simulate {

inline constexpr int kAllRanks = -1;

// An operation of all ranks together, or of one rank alone.
struct OperationCase {
  std::string name;
  std::string file = "data";
  Shape shape;
  int64_t element_bytes = 8;
  std::vector<int> order;  // dimensions, the slowest first
  Operation::Access access;
  std::optional<Decomposition> target;  // of a redistribution: from that of `access`, in memory; no file is used
  int repeat = 1;
  bool sync = false;                                // the file is synchronised after it
  int rank = kAllRanks;                             // the rank that makes it alone
  double gap_seconds = 0;                           // of computing before it
  std::vector<double> gap_of_rank;                  // empty: gap_seconds on each rank
  std::shared_ptr<const ArrayForm> form = nullptr;  // of an operation of a trace; null: in `order`, from byte 0
  int64_t file_bytes = 0;                           // of a file that exists; 0: it is read, or does not exist

  bool is_alone() const { return rank != kAllRanks; }
  // The number of a rank of the machine among the ranks of the operation.
  int operation_rank(int machine_rank) const { return is_alone() ? 0 : machine_rank; }
  double gap_of(int machine_rank) const {
    return gap_of_rank.empty() ? gap_seconds : gap_of_rank[static_cast<size_t>(operation_rank(machine_rank))];
  }
};

// Parses the JSON of several operations of so many ranks. Throws Error{kArgument} that names the member.
std::vector<OperationCase> parse_operations(const std::string& json, int ranks);

// What one operation took.
struct OperationResult {
  std::string name;
  int rank = kAllRanks;
  std::string method;
  std::string reason;
  double began = 0;
  double ended = 0;
  std::array<double, kPhases> seconds{};      // of all ranks
  std::array<double, kPhases> seconds_max{};  // of one rank
  int64_t agreement_messages = 0, agreement_messages_max = 0;
  int64_t exchange_messages = 0, exchange_messages_max = 0;
  int64_t exchange_bytes = 0;
  int64_t copied_bytes = 0;
  IoAmounts amounts;             // of all ranks
  int64_t buffer_bytes_max = 0;  // of one rank
  int64_t local_bytes_max = 0;
};

struct Result {
  std::vector<OperationResult> operations;
  double seconds = 0;
  int64_t heap_bytes_per_rank = 0;  // that the library allocated for a rank of the simulation
};

// Runs the operations in `world`. Each rank makes its own ones and those of all ranks in their order; ranks meet only
// in those of all ranks. `file_of` gives the file of a name; see the tests.
Result run_operations(World& world, const std::vector<OperationCase>& operations,
                      const std::function<std::shared_ptr<SimulatedFile>(const OperationCase&)>& file_of,
                      const std::function<void(int operation, int rank, LocalMemory&)>& memory_of = {});

struct Request {
  std::string machine;     // JSON
  std::string operations;  // JSON
  int ranks = 1;
  uint64_t seed = 0;
  double noise = 0;
  bool data = false;
};

// Returns the results as JSON.
std::string run(const Request& request);

}  // namespace swath::simulate
