// Which requests the object class is sent for what a nest has of a striped file: counted by the planner, sent by the
// store.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "layout/stripes.h"
#include "rados_class/object_request.h"
#include "space/nest.h"
#include "space/nest_node.h"

namespace swath {

// What one request is to move: data bytes of the nest that lie in [begin, end) of an object.
struct RequestCut {
  int64_t object = 0;
  int64_t begin = 0;
  int64_t end = 0;
  int64_t bytes = 0;
  int64_t runs = 0;
  std::vector<std::pair<int64_t, int64_t>> parts;  // [first, last), ascending, none empty
};

// Whether a description fits into a request: of what is listed in the outermost level each gets its part.
bool can_be_described(const Nest& nest);

// Data bytes [first, last) of a nest as a view of their own: of what is listed outermost only what they need.
View part_of(const Nest& nest, int64_t first, int64_t last);

class RequestCuts {
 public:
  // Of one request: servers work on several at a time.
  static constexpr int64_t kDataBytesMost = int64_t{8} << 20;
  static constexpr int64_t kRunsMost = 200'000;
  // Places that are listed in one: with their lengths they take half of what its description may.
  static constexpr int64_t kListedMost = 30'000;

  RequestCuts(const StripeLayout& stripes, const Nest& nest) : stripes_(stripes), nest_(nest) {}

  // Calls visit(cut) for the requests for data bytes [first, last). Requires can_be_described().
  template <typename Visit>
  void visit(int64_t first, int64_t last, const Visit& visit) {
    while (first < last) {
      const int64_t set = nest_.offset_of(first) / stripes_.set_bytes();
      const int64_t next = end_of_set(set, first, last);
      ObjectRequest whole{.stripes = stripes_, .end = stripes_.object_bytes, .view = {nest_, first, next}};
      for (int64_t i = 0; i < stripes_.count; ++i) {
        whole.object = cut_.object = set * stripes_.count + i;
        for_each_part(whole, [&](const UnitPart& part) { add(part, visit); });
        flush(visit);
      }
      first = next;
    }
  }

 private:
  // One past the last data byte that goes with byte `first`: of the same objects, and of a list that is not too long.
  int64_t end_of_set(int64_t set, int64_t first, int64_t last) const;

  template <typename Visit>
  void add(const UnitPart& part, const Visit& visit) {
    if (part.first == part.last) return;
    const int64_t runs = nest_.runs(part.first, part.last);
    if (part.last - part.first > kDataBytesMost || runs > kRunsMost) {
      const int64_t middle = part.first + (part.last - part.first) / 2;
      add({part.first, middle, part.distance}, visit);
      add({middle, part.last, part.distance}, visit);
      return;
    }
    if (cut_.bytes + part.last - part.first > kDataBytesMost || cut_.runs + runs > kRunsMost) flush(visit);
    if (cut_.parts.empty()) cut_.begin = nest_.offset_of(part.first) + part.distance;
    cut_.end = nest_.offset_of(part.last - 1) + 1 + part.distance;
    cut_.parts.emplace_back(part.first, part.last);
    cut_.bytes += part.last - part.first;
    cut_.runs += runs;
  }

  template <typename Visit>
  void flush(const Visit& visit) {
    if (cut_.parts.empty()) return;
    visit(std::as_const(cut_));
    cut_ = {.object = cut_.object};
  }

  const StripeLayout stripes_;
  const Nest& nest_;
  RequestCut cut_;
};

}  // namespace swath
