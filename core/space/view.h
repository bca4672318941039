// Views: the bytes of a file that one rank has, and that other ranks cannot compute. The caller gives them as a nest.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "space/nest.h"

namespace swath {

// The data bytes [first, last) of an ascending nest.
//
// An MPI file view is a type repeated without end from a displacement on; an operation moves some of its bytes:
// repeated(type, extent, first, bytes).
struct View {
  Nest nest;
  int64_t first = 0;
  int64_t last = 0;

  // A whole nest.
  static View all(Nest nest);
  // `bytes` data bytes from byte `first` on of a nest repeated without end at distance `extent`. Throws
  // Error{kArgument} if the nest is empty and bytes are requested.
  static View repeated(const Nest& nest, int64_t extent, int64_t first, int64_t bytes);

  int64_t bytes() const { return last - first; }
  bool empty() const { return first == last; }
  int64_t begin() const { return nest.offset_of(first); }       // requires !empty()
  int64_t end() const { return nest.offset_of(last - 1) + 1; }  // requires !empty()
  int64_t offset_of(int64_t position) const { return nest.offset_of(first + position); }
  // The number of its bytes before `offset`.
  int64_t bytes_before(int64_t offset) const;

  // Throws Error{kArgument} for an invalid view of a file: the nest does not ascend, or begins before byte 0.
  void check() const;

  friend bool operator==(const View& a, const View& b) = default;
  std::string to_string() const;
  void write(ByteWriter& writer) const;
  // Throws Error{kFormat} for bytes that write() has not made.
  static View read(ByteReader& reader);
};

// A byte that both views have, or -1.
//
// Theorem: where both repeat something at the same stride, and what they repeat spans no more than that, the byte k
// of the one can only meet that byte of the other which lies in the repetition before or behind it. So repetitions
// are compared once, not each.
int64_t shared_byte(const View& a, const View& b);
// Two ranks whose views share a byte, and the byte; {-1, -1} if there are none.
struct SharedByte {
  int rank = -1;
  int other = -1;
  int64_t offset = -1;
};
SharedByte shared_byte(const std::vector<View>& views);

}  // namespace swath
