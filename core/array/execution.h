// The result of an operation.
#pragma once

#include <memory>
#include <string>

#include "base/counters.h"
#include "plan/make_plan.h"
#include "plan/operation.h"

namespace swath {

struct Execution {
  std::string method;                // "two-phase", …; "chunks", "library"
  std::shared_ptr<const Plan> plan;  // null: no plan moved the bytes
  Counters counters;                 // of this rank
  bool was_read_before_agreement = false;
  // Of coded chunks: the operation with the boxes of all ranks, from which a plan can be made.
  std::shared_ptr<const Operation> of_chunks = nullptr;
};

}  // namespace swath
