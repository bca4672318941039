// A view's two sides, refined together: what is regular on both becomes a product of index sets, with the closed forms
// and the copies of a distribution; what is not remains a pair of nests.
#pragma once

#include <cstdint>
#include <vector>

#include "layout/regions.h"
#include "space/nest.h"
#include "space/view.h"

namespace swath {

// Where the bytes of a view are in memory: its data byte k is data byte `first` + k of a nest, whose offsets count from
// an address that the caller knows.
struct MemoryNest {
  Nest nest;
  int64_t first = 0;

  // All of `bytes` bytes one behind the other.
  static MemoryNest packed(int64_t bytes) { return {Nest::block(bytes), 0}; }
};

// Regions that together have all bytes of the view, in its order. Their elements are bytes: windows cut a view
// anywhere, on both sides alike, whatever the other side's memory is.
//
// Theorem: a side that is strided alone has breakpoints at multiples of the bytes of its levels. Where, of all levels
// of both sides, each divides the next, both sides are strided between two of them; and a range of positions, in the
// mixed radix of these levels, is at most 2 * levels - 1 boxes.
std::vector<Regions> refine(const View& file, const MemoryNest& memory);

}  // namespace swath
