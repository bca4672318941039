// A range of a file in a pool, read, changed and written back, so that nothing that others write meanwhile is lost.
//
// No lock keeps writers away that do not ask for one, and most need none, for an operation on an object is atomic. So
// each object is written only if it is as it was read, which RADOS checks in the same operation (assert_version). One
// that somebody has written since is read, changed and written again. Of an object of which the range has more than one
// operation takes one is read and written at a time: the first would change what the others have read.
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
  // `image`: the range, and memory for what is stored there. `bytes_max`: of one operation.
  ObjectUpdate(const RadosFile& file, const Transfer& image, int64_t bytes_max, int64_t of_server_max);

  // Throws Error{kStore}: also where others have written between for longer than lock_timeout_seconds.
  void carry_out(const std::function<void(std::byte*)>& fill_in, Counters& counters);

 private:
  // What the range has of an object, or a part of that where it is too much for one operation.
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
  std::vector<Part> parts_;  // that are not written yet
};

}  // namespace swath
