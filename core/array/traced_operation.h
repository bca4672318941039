// An operation on an array, as the trace of the process has it (trace/trace.h, docs/formats/trace.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "array/execution.h"
#include "array/file.h"
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

// Bytes of a file that are moved without a plan. Begins with its making; end() is called once, where it succeeds.
class TracedTransfer {
 public:
  // `offset`: in the file; none where the bytes do not lie together.
  TracedTransfer(Direction direction, const File& file, std::optional<int64_t> offset);

  void end(const Counters& counters) const;

 private:
  const Direction direction_;
  const File& file_;
  const std::optional<int64_t> offset_;
  const double began_;  // 0: not traced
};

}  // namespace swath
