// Which method, and with which sizes: every one that applies is priced from the profile, the cheapest is taken.
#pragma once

#include <string>
#include <vector>

#include "plan/cost_estimate.h"
#include "plan/request.h"

namespace swath {

// A method with the sizes that suit it best, and what it would take.
struct Option {
  Method method;
  Tuning tuning;
  CostEstimate price;
};

// Every method at its best, in the order of the enumeration; of `only` alone where it is not kAuto. Sizes that were
// asked for stay as they are.
std::vector<Option> priced_options(const Request& request, bool staged, Method only);
// Throws Error{kInternal} where there are none. Of equal prices the simpler method.
const Option& cheapest(const std::vector<Option>& options);

// "predicted 1.2 ms: 0.8 transfer, 0.4 exchange; next list, 3.1 ms (2.6 x)".
std::string why_chosen(const std::vector<Option>& options);

}  // namespace swath
