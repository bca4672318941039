#include "plan/request.h"

#include "base/error.h"

namespace swath {

std::string to_string(Method method) {
  switch (method) {
    case Method::kAuto:
      return "auto";
    case Method::kDirect:
      return "direct";
    case Method::kSieve:
      return "sieve";
    case Method::kList:
      return "list";
    case Method::kTwoPhase:
      return "two-phase";
    case Method::kDatatype:
      return "datatype";
  }
  return "?";
}

Method parse_method(const std::string& name) {
  for (const Method method :
       {Method::kAuto, Method::kDirect, Method::kSieve, Method::kList, Method::kDatatype, Method::kTwoPhase}) {
    if (to_string(method) == name) return method;
  }
  fail_argument("method \"" + name +
                "\" is not known; expected \"auto\", \"direct\", \"sieve\", \"list\", \"datatype\" or \"two-phase\"");
}

}  // namespace swath
