// Pieces of a file, gathered object by object into operations of many ranges.
#pragma once

#ifdef SWATH_HAVE_RADOS

#include <map>
#include <span>
#include <vector>

#include "store/batch.h"
#include "store/rados_operation.h"

namespace swath {

class ObjectLists {
 public:
  // `bytes_max`: of one operation.
  ObjectLists(const RadosFile& file, Direction direction, int64_t bytes_max, Flight& flight);

  // Begins what is full. Neighbours in the batch that abut in the file are one range.
  void add(std::span<const Transfer> batch);
  // Begins the rest.
  void flush();

 private:
  struct List {
    std::vector<ObjectRange> ranges;
    int64_t bytes = 0;
  };

  void add(int64_t offset, std::byte* data, int64_t bytes);
  void begin(int64_t object, List& list);

  const RadosFile& file_;
  const Direction direction_;
  const int64_t bytes_max_;
  const int64_t ranges_max_;
  Flight& flight_;
  std::map<int64_t, List> lists_;
  int64_t ranges_ = 0;  // of all lists
};

}  // namespace swath

#endif
