// Plans that simulated ranks execute, and their counters as text.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "plan/io_counts.h"
#include "testing/ranks_and_memory.h"

namespace swath::testing {

using OpenEngine = std::function<std::unique_ptr<Engine>(int rank)>;

struct Outcome {
  std::vector<Error> errors;
  std::vector<Counters> counters;
  std::vector<int64_t> bytes_done;
};

inline Outcome run_on(const Machine& machine, const Plan& plan, const std::vector<LocalMemory>& memory,
                      const OpenEngine& open) {
  Outcome outcome;
  outcome.counters.resize(memory.size());
  outcome.bytes_done.resize(memory.size());
  outcome.errors = on_all_ranks(machine, [&](Comm& comm) {
    const auto rank = static_cast<size_t>(comm.rank());
    const auto engine = open(comm.rank());
    Progress progress;
    outcome.counters[rank] = run(plan, comm, *engine, memory[rank], progress);
    outcome.bytes_done[rank] = progress.bytes_done;
    EXPECT_EQ(progress.bytes_done, progress.bytes_total);
  });
  return outcome;
}

inline Outcome run_on(const Machine& machine, const Plan& plan, std::vector<UserMemory>& memory,
                      const OpenEngine& open) {
  std::vector<LocalMemory> local;
  for (UserMemory& one : memory) local.push_back(one.local());
  return run_on(machine, plan, local, open);
}

inline std::string text_of(Direction direction, Method method) {
  return std::string(direction == Direction::kRead ? " read by " : " written by ") + to_string(method);
}

inline std::string counts_text(int64_t reads, int64_t read_bytes, int64_t writes, int64_t written, int64_t exchanged,
                               int64_t locks) {
  return "reads " + std::to_string(reads) + " of " + std::to_string(read_bytes) + " bytes, writes " +
         std::to_string(writes) + " of " + std::to_string(written) + ", exchanged " + std::to_string(exchanged) +
         ", locks " + std::to_string(locks);
}

inline std::string text_of(const IoCounts& c) {
  return counts_text(c.read_requests, c.read_bytes, c.write_requests, c.written_bytes, c.exchanged_bytes, c.locks);
}

inline std::string text_of(const Counters& c) {
  return counts_text(c.read_requests, c.read_bytes, c.write_requests, c.written_bytes, c.exchanged_bytes, c.locks);
}

}  // namespace swath::testing
