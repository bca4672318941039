// What was carried out.
#pragma once

#include <memory>
#include <string>

#include "base/counters.h"
#include "plan/make_plan.h"

namespace swath {

struct Execution {
  std::string method;                // "two-phase", …; "chunks", "library"
  std::shared_ptr<const Plan> plan;  // null where no plan moves the bytes
  Counters counters;                 // of this rank
  bool was_read_before_agreement = false;
};

}  // namespace swath
