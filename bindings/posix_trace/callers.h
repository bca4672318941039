// Who has made a call.
#pragma once

namespace swath::posix_trace {

// True if the code at `address` belongs to a library of Swath. Calls of Swath are not traced here: the operations that
// they are made for are in the trace, and the trace itself is written by such calls.
bool is_of_swath(const void* address);

// While one exists, the calls of this thread are not traced.
class Untraced {
 public:
  Untraced();
  ~Untraced();
  Untraced(const Untraced&) = delete;
  Untraced& operator=(const Untraced&) = delete;

  static bool is_active();
};

}  // namespace swath::posix_trace
