// Choice of the method and its sizes: computes the cost of each applicable method from the profile, takes the cheapest.
#pragma once

#include <string>
#include <vector>

#include "plan/cost_estimate.h"
#include "plan/request.h"

namespace swath {

// A method with its best sizes, and its cost.
struct Option {
  Method method;
  Tuning tuning;
  CostEstimate price;
};

// Every method with its best sizes, in the order of the enumeration; only `only` if that is not kAuto. Sizes set by the
// caller do not change.
std::vector<Option> priced_options(const Request& request, bool staged, Method only);
// Throws Error{kInternal} for an empty list. Of equal costs the simpler method.
const Option& cheapest(const std::vector<Option>& options);

// "predicted 1.2 ms: 0.8 transfer, 0.4 exchange; next list, 3.1 ms (2.6 x)".
std::string why_chosen(const std::vector<Option>& options);

}  // namespace swath
