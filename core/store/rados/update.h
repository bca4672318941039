// Reads a range of a file in a pool, changes it and writes it back, without losing concurrent writes.
//
// Locks do not help, since most writers take none: an operation on an object is atomic. So an object is written only if
// it did not change since it was read, which RADOS checks in the same operation (assert_version). If it has changed, it
// is read, changed and written again. If the range needs several operations on one object, these run one at a time,
// since each write changes the object's version.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/counters.h"
#include "store/batch.h"
#include "store/rados/operation.h"

namespace swath {

class ObjectUpdate {
 public:
  // `image`: the range, and memory for its stored bytes. `bytes_max`: the maximum bytes of one operation.
  ObjectUpdate(const RadosFile& file, const Transfer& image, int64_t bytes_max, int64_t of_server_max);

  // Throws Error{kStore}, also if other writers keep changing an object for longer than lock_timeout_seconds.
  void carry_out(const std::function<void(std::byte*)>& fill_in, Counters& counters);

 private:
  // The ranges in one object, or some of them if they are too many for one operation.
  struct Part {
    int64_t object;
    std::vector<ObjectRange> ranges;
    ObjectState state;
  };

  // The first part of each object.
  std::vector<Part*> next_parts();
  void move(Direction direction, const std::vector<Part*>& parts, Counters& counters) const;

  const RadosFile& file_;
  const Transfer image_;
  const int64_t of_server_max_;
  std::vector<Part> parts_;  // parts not written yet
};

}  // namespace swath
