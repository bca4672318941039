// Counters of an operation, counted where the work is done. Plans predict the same names.
#pragma once

#include <algorithm>
#include <cstdint>

namespace swath {

// The counts that a plan predicts and an operation measures.
struct IoAmounts {
  int64_t read_requests = 0;    // file reads handed to the kernel (one vectored call, or one ring entry, is one)
  int64_t write_requests = 0;   // the same for writes
  int64_t read_bytes = 0;       // bytes the kernel returned, holes that were read over included
  int64_t written_bytes = 0;    // bytes the kernel accepted, holes that were filled included
  int64_t exchanged_bytes = 0;  // bytes that this rank moved from or to another rank's aggregator
  int64_t locks = 0;            // windows locked for read-modify-write
  int64_t chunks_decoded = 0;   // coded chunks, one for each time a chunk was decoded
  int64_t decoded_bytes = 0;    // of these chunks, counted as wholes
  int64_t chunks_encoded = 0;   // the same of those that were encoded
  int64_t buffer_bytes = 0;     // peak of the buffers that the operation itself allocated, this rank's part
};

struct Counters : IoAmounts {
  int64_t token_waits = 0;      // times that a stream had to wait for a token of its target (throttle/)
  double token_seconds = 0;     // the duration of these waits: part of transfer_seconds
  double transfer_seconds = 0;  // waiting for the store
  double exchange_seconds = 0;  // copying between user memory and buffers, and waiting for other ranks
  double total_seconds = 0;

  Counters& operator+=(const Counters& other);
};

// Calls visit(name, member) for each amount: the only list of their names, for sums and for Python.
template <typename Visit>
constexpr void for_each_amount(const Visit& visit) {
  visit("read_requests", &IoAmounts::read_requests);
  visit("write_requests", &IoAmounts::write_requests);
  visit("read_bytes", &IoAmounts::read_bytes);
  visit("written_bytes", &IoAmounts::written_bytes);
  visit("exchanged_bytes", &IoAmounts::exchanged_bytes);
  visit("locks", &IoAmounts::locks);
  visit("chunks_decoded", &IoAmounts::chunks_decoded);
  visit("decoded_bytes", &IoAmounts::decoded_bytes);
  visit("chunks_encoded", &IoAmounts::chunks_encoded);
  visit("buffer_bytes", &IoAmounts::buffer_bytes);
}

// The same for each counter, the amounts first.
template <typename Visit>
constexpr void for_each_counter(const Visit& visit) {
  for_each_amount(visit);
  visit("token_waits", &Counters::token_waits);
  visit("token_seconds", &Counters::token_seconds);
  visit("transfer_seconds", &Counters::transfer_seconds);
  visit("exchange_seconds", &Counters::exchange_seconds);
  visit("total_seconds", &Counters::total_seconds);
}

// Adds counters; of buffers it takes the maximum, since an operation frees its buffers before the next allocates its
// own.
inline Counters& Counters::operator+=(const Counters& other) {
  const int64_t peak = std::max(buffer_bytes, other.buffer_bytes);
  for_each_counter([&](const char*, auto member) { this->*member += other.*member; });
  buffer_bytes = peak;
  return *this;
}

}  // namespace swath
