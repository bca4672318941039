// Nests for MPI's type constructors (MPI 4.1, chapter 5): pure, no MPI. Offsets and extents are in bytes.
//
// They simplify: lists with equal spacing, as a whole or in pieces, become levels, so that rows of blocks that a
// library has flattened are levels again. If a type has more levels than a nest allows, levels are joined where that is
// cheap.
//
// All throw Error{kArgument} if offsets exceed 62 bits, or if levels cannot be joined.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "space/nest.h"

namespace swath::mpi_io {

// An element and the distance to the next one.
struct Element {
  Nest nest;
  int64_t extent = 0;

  bool is_contiguous() const;  // one block from 0 of `extent` bytes
};

Nest repeated(const Element& element, int64_t count);
// `count` blocks of `length` elements, `stride` bytes apart.
Nest vector_of(const Element& element, int64_t count, int64_t length, int64_t stride);
// Blocks of elements; blocks may be empty.
struct Entries {
  std::vector<int64_t> displacements;
  std::vector<int64_t> lengths;  // of each block, in elements
};
Nest indexed_of(const Element& element, Entries entries);

// A sequence of different nests.
class Sequence {
 public:
  void add(int64_t displacement, const Nest& nest);
  void add_block(int64_t displacement, int64_t bytes);  // makes no nest for each block
  Nest take();

 private:
  void join_blocks();

  Entries blocks_;  // the blocks added last
  std::vector<int64_t> displacements_;
  std::vector<Nest> nests_;
};

enum class Order { kC, kFortran };

// A box of an array.
struct Subarray {
  std::span<const int64_t> sizes;  // shape of the whole array
  std::span<const int64_t> subsizes;
  std::span<const int64_t> starts;
  Order order = Order::kC;
};
Nest subarray_of(const Element& element, const Subarray& box);

// A rank's part of an array that is distributed as in HPF.
struct Darray {
  // One dimension: blocks of `block` indices are distributed cyclically to `processes`; this is process number
  // `process`.
  struct Dimension {
    int64_t size;
    int64_t block;
    int64_t processes;
    int64_t process;
  };
  std::vector<Dimension> dimensions;
  Order order = Order::kC;
};
Nest darray_of(const Element& element, const Darray& array);

}  // namespace swath::mpi_io
