#include "plan/method.h"

#include <string_view>

#include "base/error.h"

namespace swath {
namespace {

constexpr std::string_view kWithInner = "two-phase/";

}  // namespace

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
                "\" is not known; expected \"auto\", \"direct\", \"sieve\", \"list\", \"datatype\", \"two-phase\", or "
                "\"two-phase/sieve\", \"two-phase/list\" or \"two-phase/datatype\"");
}

std::string to_string(const MethodChoice& choice) {
  return to_string(choice.method) + (choice.inner == Method::kAuto ? "" : "/" + to_string(choice.inner));
}

MethodChoice parse_choice(const std::string& name) {
  for (const Method inner : {Method::kSieve, Method::kList, Method::kDatatype}) {
    if (name == std::string(kWithInner) + to_string(inner)) return {Method::kTwoPhase, inner};
  }
  return {parse_method(name), Method::kAuto};
}

}  // namespace swath
