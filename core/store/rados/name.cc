#include "store/rados/name.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <vector>

#include "base/error.h"

namespace swath {
namespace {

constexpr char kExpected[] =
    "expected rados:POOL/NAME, or "
    "rados:POOL/NAME?conf=FILE&id=USER&timeout=SECONDS&class=no&stripe=UNIT,COUNT,OBJECT_SIZE";

[[noreturn]] void fail_name(const std::string& path, const std::string& wrong) {
  fail_argument(path + ": " + wrong + "; " + kExpected);
}

std::string from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

int64_t number_of(const std::string& path, const std::string& text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) {
    fail_name(path, "\"" + text + "\" is no whole number");
  }
  return number;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

StripeLayout stripes_of(const std::string& path, const std::string& text) {
  const std::vector<std::string> numbers = split(text, ',');
  if (numbers.size() != 3) fail_name(path, "stripe=" + text + " is not three numbers");
  const StripeLayout stripes{number_of(path, numbers[0]), number_of(path, numbers[1]), number_of(path, numbers[2])};
  const std::string wrong(stripes.refusal());
  if (!wrong.empty()) fail_name(path, "stripe=" + text + ": " + wrong);
  return stripes;
}

void take(RadosName& name, const std::string& path, const std::string& setting) {
  const size_t equals = std::min(setting.find('='), setting.size());
  const std::string key = setting.substr(0, equals);
  const std::string value = setting.substr(std::min(equals + 1, setting.size()));
  if (key == "conf") {
    name.conf = value;
  } else if (key == "id") {
    name.id = value;
  } else if (key == "timeout") {
    name.timeout_seconds = static_cast<double>(number_of(path, value));
    if (name.timeout_seconds < 1) fail_name(path, "timeout=" + value + " is not at least 1 second");
  } else if (key == "class" && (value == "yes" || value == "no")) {
    name.use_class = value == "yes";
  } else if (key == "stripe") {
    name.stripes = stripes_of(path, value);
  } else {
    fail_name(path, "\"" + setting + "\" says nothing that is known");
  }
}

}  // namespace

RadosName RadosName::parse(const std::string& path) {
  constexpr size_t kScheme = 6;
  const size_t question = std::min(path.find('?'), path.size());
  const size_t slash = path.find('/');
  if (!is_rados(path) || slash == std::string::npos || slash > question) fail_name(path, "there is no pool and name");
  RadosName name;
  name.pool = path.substr(kScheme, slash - kScheme);
  name.file = path.substr(slash + 1, question - slash - 1);
  if (name.pool.empty() || name.file.empty()) fail_name(path, "the pool or the name is empty");
  if (name.file.find('\0') != std::string::npos) fail_name(path, "the name holds a zero byte");
  name.conf = from_environment("CEPH_CONF");
  name.id = from_environment("CEPH_ID");
  if (question < path.size()) {
    for (const std::string& setting : split(path.substr(question + 1), '&')) take(name, path, setting);
  }
  return name;
}

std::string RadosName::beside(const std::string& path, const std::string& file) {
  const size_t question = std::min(path.find('?'), path.size());
  return "rados:" + parse(path).pool + "/" + file + path.substr(question);
}

}  // namespace swath
