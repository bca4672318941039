// Reductions: of records that are types, and how the records of several nodes become one.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "comm/comm.h"

namespace swath {

// A Combine by Record's own combine(other).
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

// Collective. The records of all ranks as one.
template <typename Record>
Record allreduce_record(Comm& comm, Record mine) {
  static_assert(sizeof(Record) <= kRecordBytesMax);
  comm.allreduce(std::as_writable_bytes(std::span(&mine, 1)), combine_records<Record>);
  return mine;
}

// One step of a reduction between the places [0, count), in which a place sends its record, receives one, does both or
// neither. Each step of a place meets the same step of the other.
struct ReductionStep {
  static constexpr int kNobody = -1;
  enum class Order { kOwnFirst, kReceivedFirst, kReceivedOnly };

  int send_to = kNobody;
  int receive_from = kNobody;
  Order order = Order::kOwnFirst;  // in which the record becomes that of both
};

// By recursive doubling, after which all places have the combination of all, in the order of the places. Where `count`
// is no power of two, some places first give their record to a neighbour, which tells them the result at the end. All
// places have the same number of steps, at most 2 + log2(count).
std::vector<ReductionStep> reduction_steps(int place, int count);

// What a place does with what it received in a step. `received` is overwritten.
void take_received(ReductionStep::Order order, std::span<std::byte> record, std::span<std::byte> received,
                   const Combine& combine);

}  // namespace swath
