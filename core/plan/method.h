// The methods by which an operation is carried out.
#pragma once

#include <string>

namespace swath {

enum class Method { kAuto, kDirect, kSieve, kList, kTwoPhase, kDatatype };

std::string to_string(Method method);
// Throws Error{kArgument} that lists the methods.
Method parse_method(const std::string& name);

// The method that a caller asks for, and for two-phase how an aggregator moves a window with holes: kSieve (as a
// whole), kList or kDatatype; else kAuto.
struct MethodChoice {
  Method method = Method::kAuto;
  Method inner = Method::kAuto;
};

// "list", "two-phase", "two-phase/datatype".
std::string to_string(const MethodChoice& choice);
MethodChoice parse_choice(const std::string& name);

}  // namespace swath
