// The methods by which an operation is carried out.
#pragma once

#include <string>

namespace swath {

enum class Method { kAuto, kDirect, kSieve, kList, kTwoPhase, kDatatype };

std::string to_string(Method method);
// Throws Error{kArgument} naming the methods there are.
Method parse_method(const std::string& name);

// What a caller asks for. Of two-phase also how an aggregator moves a window that has holes: kSieve (as a whole), kList
// or kDatatype; kAuto else.
struct MethodChoice {
  Method method = Method::kAuto;
  Method inner = Method::kAuto;
};

// "list", "two-phase", "two-phase/datatype".
std::string to_string(const MethodChoice& choice);
MethodChoice parse_choice(const std::string& name);

}  // namespace swath
