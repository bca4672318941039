// Gathers pieces of a file, object by object, into lists of many ranges.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <vector>

#include "store/batch.h"
#include "store/rados/operation.h"

namespace swath {

class ObjectLists {
 public:
  using Use = std::function<void(int64_t object, std::vector<ObjectRange> ranges)>;

  // `bytes_max`: the maximum bytes of a list. Calls `use` with each full list.
  ObjectLists(const StripeLayout& stripes, Direction direction, int64_t bytes_max, Use use);

  // Adjacent file ranges of the batch are joined.
  void add(std::span<const Transfer> batch);
  // Calls `use` with the remaining lists.
  void flush();

 private:
  struct List {
    std::vector<ObjectRange> ranges;
    int64_t bytes = 0;
  };

  void add(int64_t offset, std::byte* data, int64_t bytes);
  void use(int64_t object, List& list);

  const StripeLayout stripes_;
  const int64_t bytes_max_;
  const int64_t ranges_max_;
  const Use use_;
  std::map<int64_t, List> lists_;
  int64_t ranges_ = 0;  // of all lists
};

}  // namespace swath
