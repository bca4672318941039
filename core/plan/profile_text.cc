#include "plan/profile_text.h"

#include <charconv>
#include <concepts>
#include <cstdio>
#include <sstream>
#include <vector>

#include "base/error.h"

namespace swath {
namespace {

std::string shown(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}
std::string shown(const std::string& value) { return value; }
template <std::integral Number>
std::string shown(Number value) {
  return std::to_string(value);
}
std::string shown(const Curve& curve) {
  std::string text;
  for (const auto& [x, y] : curve.points()) text += (text.empty() ? "" : " ") + shown(x) + " " + shown(y);
  return text;
}

std::vector<double> numbers_of(const std::string& text) {
  std::vector<double> numbers;
  std::istringstream stream(text);
  double number = 0;
  while (stream >> number) numbers.push_back(number);
  if (!stream.eof()) fail_argument("not all of it is numbers");
  return numbers;
}

void read(const std::string& text, std::string& value) { value = text; }
void read(const std::string& text, double& value) {
  const std::vector<double> numbers = numbers_of(text);
  if (numbers.size() != 1) fail_argument("expected one number");
  value = numbers.front();
}
template <std::integral Number>
void read(const std::string& text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) fail_argument("expected a whole number");
}
void read(const std::string& text, Curve& value) {
  const std::vector<double> numbers = numbers_of(text);
  if (numbers.size() % 2 != 0) fail_argument("expected pairs of numbers");
  std::vector<Curve::Point> points;
  for (size_t i = 0; i < numbers.size(); i += 2) points.push_back({numbers[i], numbers[i + 1]});
  value = points.empty() ? Curve() : Curve(std::move(points));
}

}  // namespace

std::string profile_text(const Profile& profile) {
  std::string text;
  for_each_member(profile,
                  [&](const std::string& name, const auto& value) { text += name + " " + shown(value) + "\n"; });
  return text;
}

Profile parse_profile(std::string_view text) {
  Profile profile = default_profile();
  std::istringstream stream{std::string(text)};
  for (std::string line; std::getline(stream, line);) {
    if (line.empty()) continue;
    const size_t space = line.find(' ');
    const std::string name = line.substr(0, space);
    const std::string value = space == std::string::npos ? "" : line.substr(space + 1);
    bool is_known = false;
    try {
      for_each_member(profile, [&](const std::string& member, auto& of) {
        if (member != name) return;
        is_known = true;
        read(value, of);
      });
    } catch (const Error& error) {
      throw Error(ErrorKind::kFormat, "profile: line \"" + line + "\": " + error.what());
    }
    if (!is_known) throw Error(ErrorKind::kFormat, "profile: \"" + name + "\" is no number of a profile");
  }
  return profile;
}

}  // namespace swath
