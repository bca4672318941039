// What an operation really did, counted where it happened. Plans predict the same names.
#pragma once

#include <cstdint>

namespace swath {

struct Counters {
  int64_t read_requests = 0;    // file reads handed to the kernel (one vectored call, or one ring entry, is one)
  int64_t write_requests = 0;   // the same for writes
  int64_t read_bytes = 0;       // bytes the kernel returned, holes that were read over included
  int64_t written_bytes = 0;    // bytes the kernel accepted, holes that were filled included
  int64_t exchanged_bytes = 0;  // bytes that this rank moved from or to another rank's aggregator
  int64_t locks = 0;            // windows locked for read-modify-write
  int64_t buffer_bytes = 0;     // peak of the buffers that the operation itself allocated, this rank's part
  int64_t token_waits = 0;      // times that a stream had to wait for its turn at a target (throttle/)
  double token_seconds = 0;     // how long: part of transfer_seconds
  double transfer_seconds = 0;  // waiting for the store
  double exchange_seconds = 0;  // copying between user memory and buffers, and waiting for other ranks
  double total_seconds = 0;

  Counters& operator+=(const Counters& other) {
    read_requests += other.read_requests;
    write_requests += other.write_requests;
    read_bytes += other.read_bytes;
    written_bytes += other.written_bytes;
    exchanged_bytes += other.exchanged_bytes;
    locks += other.locks;
    buffer_bytes = buffer_bytes > other.buffer_bytes ? buffer_bytes : other.buffer_bytes;
    token_waits += other.token_waits;
    token_seconds += other.token_seconds;
    transfer_seconds += other.transfer_seconds;
    exchange_seconds += other.exchange_seconds;
    total_seconds += other.total_seconds;
    return *this;
  }
};

}  // namespace swath
