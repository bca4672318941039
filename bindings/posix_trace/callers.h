// Finds out which library has made a call.
#pragma once

namespace swath::posix_trace {

// True if the code at `address` belongs to a library of Swath. Calls by Swath are not traced here, since its operations
// are in the trace already, and since writing the trace makes such calls.
bool is_of_swath(const void* address);

// During the lifetime of such an object, this thread's calls are not traced.
class Untraced {
 public:
  Untraced();
  ~Untraced();
  Untraced(const Untraced&) = delete;
  Untraced& operator=(const Untraced&) = delete;

  static bool is_active();
};

}  // namespace swath::posix_trace
