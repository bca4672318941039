// Refines the two sides of a view together: parts that are regular on both become products of index sets, with the
// closed forms and the copies of a distribution; other parts remain pairs of nests.
#pragma once

#include <cstdint>
#include <vector>

#include "layout/regions.h"
#include "space/nest.h"
#include "space/view.h"

namespace swath {

// The memory of a view: its data byte k is data byte `first` + k of a nest, whose offsets are relative to an address of
// the caller's.
struct MemoryNest {
  Nest nest;
  int64_t first = 0;

  // `bytes` contiguous bytes.
  static MemoryNest packed(int64_t bytes) { return {Nest::block(bytes), 0}; }
};

// Regions that together have all bytes of the view, in its order. Their elements are bytes: a view is cut anywhere, at
// the same bytes on both sides.
//
// Theorem: a side that is strided alone has breakpoints at multiples of the bytes of its levels. Where, of all levels
// of both sides, each divides the next, both sides are strided between two of them; and a range of positions, in the
// mixed radix of these levels, is at most 2 * levels - 1 boxes.
std::vector<Regions> refine(const View& file, const MemoryNest& memory);

}  // namespace swath
