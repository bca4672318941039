// Reductions of typed records, and the steps that combine the records of several nodes.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "comm/comm.h"

namespace swath {

// A Combine that calls combine(other) of Record.
template <typename Record>
void combine_records(std::span<std::byte> into, std::span<const std::byte> other) {
  static_assert(std::is_trivially_copyable_v<Record>);
  Record both;
  Record second;
  std::memcpy(&both, into.data(), sizeof both);
  std::memcpy(&second, other.data(), sizeof second);
  both.combine(second);
  std::memcpy(into.data(), &both, sizeof both);
}

// Collective. The combination of the records of all ranks.
template <typename Record>
Record allreduce_record(Comm& comm, Record mine) {
  static_assert(sizeof(Record) <= kRecordBytesMax);
  comm.allreduce(std::as_writable_bytes(std::span(&mine, 1)), combine_records<Record>);
  return mine;
}

// One step of a reduction between the places [0, count): a place sends its record, receives one, or does both or
// neither. A step of a place meets the same step of its partner.
struct ReductionStep {
  static constexpr int kNobody = -1;
  enum class Order { kOwnFirst, kReceivedFirst, kReceivedOnly };

  int send_to = kNobody;
  int receive_from = kNobody;
  Order order = Order::kOwnFirst;  // the order in which the two records are combined
};

// Recursive doubling: in the end all places have the combination of all records, in the order of the places. If `count`
// is not a power of two, some places first give their record to a neighbour, which sends them the result at the end.
// All places have the same number of steps, at most 2 + log2(count).
std::vector<ReductionStep> reduction_steps(int place, int count);

// Combines the record received in a step. `received` is overwritten.
void take_received(ReductionStep::Order order, std::span<std::byte> record, std::span<std::byte> received,
                   const Combine& combine);

}  // namespace swath
