// An operation on an array, as the trace of the process has it (trace/trace.h, docs/formats/trace.md).
#pragma once

#include <string>

#include "array/execution.h"
#include "comm/comm.h"
#include "plan/operation.h"

namespace swath {

// Begins with its making. Then one of the two is called, once.
class TracedOperation {
 public:
  TracedOperation(const Operation& operation, const Comm& comm);

  void end(const Execution& done) const;
  void fail(const std::string& message) const;

 private:
  const Operation& operation_;
  const Comm& comm_;
  const double began_;
};

}  // namespace swath
