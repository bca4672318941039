// The result of an operation.
#pragma once

#include <memory>
#include <string>

#include "base/counters.h"
#include "plan/make_plan.h"
#include "plan/operation.h"

namespace swath {

class Estimate;

struct Execution {
  std::string method;                                  // "two-phase", …; "chunks", "library"
  std::shared_ptr<const Plan> plan;                    // null: no plan was used
  Counters counters;                                   // of this rank
  std::shared_ptr<const Estimate> estimate = nullptr;  // of the plan
  bool was_read_before_agreement = false;
  // For coded chunks: the operation with the boxes of all ranks, from which a plan can be made.
  std::shared_ptr<const Operation> of_chunks = nullptr;
};

}  // namespace swath
