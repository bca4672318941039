// Counts the operations of a transfer in an object store without one. The store cuts the transfer the same way
// (store/rados/lists.cc, rados_class/cut_requests.h).
#pragma once

#include <cstdint>
#include <map>

#include "layout/access.h"
#include "layout/stripes.h"
#include "store/capabilities.h"

namespace swath {

struct ObjectOperations {
  int64_t operations = 0;
  int64_t ranges = 0;   // of lists
  int64_t regions = 0;  // of descriptions
  bool exact = true;
};

StripeLayout stripes_of(const StripeMap& map);

// Fills lists by the same steps as the store.
class ListCounter {
 public:
  ListCounter(const StripeLayout& stripes, int64_t ranges_max, int64_t bytes_max)
      : stripes_(stripes), ranges_max_(ranges_max), bytes_max_(bytes_max) {}

  void add(int64_t offset, int64_t bytes);
  void flush();
  const ObjectOperations& counted() const { return counted_; }

 private:
  struct List {
    int64_t ranges = 0;
    int64_t bytes = 0;
    int64_t end = -1;         // in the object, of the last range ...
    int64_t range_bytes = 0;  // ... which has so many
  };

  const StripeLayout stripes_;
  const int64_t ranges_max_;
  const int64_t bytes_max_;
  std::map<int64_t, List> lists_;
  int64_t kept_ = 0;
  ObjectOperations counted_;
};

// An estimate for more runs than `counted_max`.
ObjectOperations count_list_operations(const Access& access, const Capabilities& able, int64_t ranges_max,
                                       int64_t counted_max);
ObjectOperations count_described_operations(const Access& access, const Capabilities& able, int64_t counted_max);
// Of an aggregator's window.
ObjectOperations count_listed_window(const Access& together, const Capabilities& able, int64_t ranges_max,
                                     const Window& window);
ObjectOperations count_described_window(const Access& together, const Capabilities& able, int64_t ranges_max,
                                        const Window& window);
// For one contiguous range that is transferred by itself, in operations of at most `ranges_max` ranges.
int64_t operations_of_range(const StripeLayout& stripes, int64_t ranges_max, int64_t offset, int64_t bytes);

}  // namespace swath
