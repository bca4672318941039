// What the object class does with a request. Windows of the object are read, and written, as a whole; wide holes are
// left out. Apart from the OSD, so that it can be tested, and fuzzed, without one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "rados_class/object_request.h"

namespace swath {

// The object that a method is called for.
class ObjectBytes {
 public:
  virtual ~ObjectBytes() = default;
  // Its bytes where they lie, until the next call: at most so many, fewer only where it ends. `failure` is 0, or a
  // negative errno value.
  virtual std::span<const std::byte> read(int64_t offset, int64_t bytes, int& failure) = 0;
  // 0 or a negative errno value.
  virtual int64_t write(int64_t offset, std::span<const std::byte> bytes) = 0;
};

// Each returns 0 or a negative errno value, and throws nothing: -EINVAL for a message that cannot be true, -E2BIG for
// one that asks for more than one request may.
//
// The data of a read are those of the view that lie in the object, in the file's order; what lies behind the object's
// end are zeros. They go to where room(bytes) says that there is room for all of them; it is asked once, within bounds.
// Those of a write follow the request in the message, the same bytes.
using Room = std::function<std::byte*(int64_t bytes)>;
int execute_read(std::span<const std::byte> message, ObjectBytes& object, const Room& room);
// Where it fails before a window is written, nothing is written; the OSD undoes the rest.
int execute_write(std::span<const std::byte> message, ObjectBytes& object);

}  // namespace swath
