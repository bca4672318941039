// Adds an operation on an array to the trace of the process (trace/trace.h, docs/formats/trace.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "array/execution.h"
#include "array/file.h"
#include "comm/comm.h"
#include "plan/operation.h"
#include "store/capabilities.h"

namespace swath {

// The operation begins with the constructor. Afterwards, end() or fail() must be called once.
class TracedOperation {
 public:
  // `stripes`: how the file is striped over servers, if that is known.
  TracedOperation(const Operation& operation, const Comm& comm, const std::optional<StripeMap>& stripes);

  void end(const Execution& done) const;
  void fail(const std::string& message) const;

 private:
  void add(const Execution& done, std::string failure) const;

  const Operation& operation_;
  const Comm& comm_;
  const std::optional<StripeMap>& stripes_;
  const double began_;
};

// A transfer without a plan. It begins with the constructor; end() must be called once if it succeeds.
class TracedTransfer {
 public:
  // `offset`: in the file; none if the bytes are not contiguous.
  TracedTransfer(Direction direction, const File& file, std::optional<int64_t> offset);

  void end(const Counters& counters) const;

 private:
  const Direction direction_;
  const File& file_;
  const std::optional<int64_t> offset_;
  const double began_;  // 0: not traced
};

}  // namespace swath
