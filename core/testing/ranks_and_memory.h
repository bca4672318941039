// Simulated ranks for tests, their memory, and a plain version of their joint operations.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "comm/simulated.h"
#include "method/run.h"
#include "store/engine_test_file.h"
#include "testing/requests.h"

namespace swath::testing {

struct Machine {
  int ranks = 1;
  int nodes = 1;
  bool shared_memory = true;
  uint64_t seed = 0;

  // The value of Request::messages.
  bool needs_messages() const { return ranks > 1 && (nodes > 1 || !shared_memory); }
  std::string text() const {
    return " on " + std::to_string(nodes) + " nodes" + (shared_memory ? "" : " without shared memory") + ", seed " +
           std::to_string(seed);
  }
};

inline Machine random_machine(Random& random, int ranks) {
  return {ranks, static_cast<int>(random.between(1, ranks)), random.chance(70),
          static_cast<uint64_t>(random.between(0, 1000))};
}

// The error of each rank. Afterwards all ranks meet once more, which shows that they are still in step.
inline std::vector<Error> on_all_ranks(const Machine& machine, const std::function<void(Comm&)>& body) {
  std::vector<Error> errors(static_cast<size_t>(machine.ranks), Error(ErrorKind::kNone, ""));
  Simulation simulation(machine.ranks, machine.nodes, machine.seed, machine.shared_memory);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < machine.ranks; ++rank) {
    threads.emplace_back([&, rank] {
      simulation.enter(rank);
      try {
        const auto comm = simulation.comm(rank);
        try {
          body(*comm);
        } catch (const Error& error) {
          errors[static_cast<size_t>(rank)] = error;
        }
        comm->barrier();
      } catch (const std::exception& error) {
        ADD_FAILURE() << "rank " << rank << ": " << error.what();
      }
      simulation.leave(rank);
    });
  }
  for (auto& thread : threads) thread.join();
  return errors;
}

inline void expect_no_errors(const std::vector<Error>& errors) {
  for (const auto& error : errors) EXPECT_EQ(error.kind(), ErrorKind::kNone) << error.what();
}

inline Bytes random_bytes(Random& random, int64_t count) {
  Bytes bytes(static_cast<size_t>(count));
  for (auto& byte : bytes) byte = static_cast<std::byte>(random.between(0, 255));
  return bytes;
}

// The memory of one rank: a buffer for each part, with guard bytes around the elements, and between strided ones.
class UserMemory {
 public:
  UserMemory(Random& random, const std::vector<PartCase>& parts, int64_t element_bytes) {
    for (const auto& part : parts) {
      int64_t begin = 0;
      int64_t end = 0;
      for (const auto* list : {&part.list, &part.absent}) {
        for (const auto& element : *list) {
          begin = std::min(begin, element.memory);
          end = std::max(end, element.memory + element_bytes);
        }
      }
      buffers_.push_back(random_bytes(random, kGuard + (end - begin) + kGuard));
      origins_.push_back(kGuard - begin);
      parts_.push_back(part.part);
    }
  }

  LocalMemory local() {
    LocalMemory memory{parts_, {}, false};
    for (size_t part = 0; part < parts_.size(); ++part) memory.addresses.push_back(at(part, 0));
    return memory;
  }
  std::byte* at(size_t part, int64_t memory) { return buffers_[part].data() + origins_[part] + memory; }
  const std::vector<Bytes>& buffers() const { return buffers_; }

 private:
  static constexpr int64_t kGuard = 16;
  std::vector<Bytes> buffers_;
  std::vector<int64_t> origins_;
  std::vector<Part> parts_;
};

inline std::vector<UserMemory> memory_of_ranks(Random& random, const RequestCase& given) {
  std::vector<UserMemory> memory;
  for (const auto& parts : given.ranks) memory.emplace_back(random, parts, given.file.element_bytes);
  return memory;
}

// Calls move(address in memory, offset in the file) for every element of every rank.
template <typename Move>
void for_each_element(const RequestCase& given, std::vector<UserMemory>& memory, const Move& move) {
  for (size_t rank = 0; rank < given.ranks.size(); ++rank) {
    for (size_t part = 0; part < given.ranks[rank].size(); ++part) {
      for (const auto& element : given.ranks[rank][part].list)
        move(memory[rank].at(part, element.memory), element.offset);
    }
  }
}

inline void read_plainly(const RequestCase& given, const Bytes& file, std::vector<UserMemory>& memory) {
  for_each_element(given, memory, [&](std::byte* address, int64_t offset) {
    std::memcpy(address, file.data() + offset, static_cast<size_t>(given.file.element_bytes));
  });
}

inline void write_plainly(const RequestCase& given, Bytes& file, std::vector<UserMemory>& memory) {
  for_each_element(given, memory, [&](const std::byte* address, int64_t offset) {
    std::memcpy(file.data() + offset, address, static_cast<size_t>(given.file.element_bytes));
  });
}

}  // namespace swath::testing
