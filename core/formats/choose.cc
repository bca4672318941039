#include "formats/choose.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <sstream>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "formats/text.h"

namespace swath::formats {
namespace {

constexpr size_t kListed = 20;          // the names that a message lists before "and 7 more"
constexpr size_t kSimilarMax = 3;       // names
constexpr double kSimilarityMin = 0.4;  // between 0 and 1

// Decodes UTF-8; a byte that is not valid counts as one code point.
std::u32string code_points(std::string_view text) {
  std::u32string points;
  while (!text.empty()) {
    const size_t bytes = std::max<size_t>(character_bytes(text), 1);
    char32_t point = 0;
    for (const char byte : text.substr(0, bytes)) point = point << 8 | static_cast<unsigned char>(byte);
    points += point;
    text.remove_prefix(bytes);
  }
  return points;
}

// The number of characters in the blocks that both texts have: the longest block, then in the same way left of it and
// right of it (Ratcliff and Obershelp).
size_t matching_characters(std::u32string_view a, std::u32string_view b) {
  if (a.empty() || b.empty()) return 0;
  size_t longest = 0;
  size_t a_begin = 0;
  size_t b_begin = 0;
  // the length of the common block that ends at character j of b and character i of a
  std::vector<size_t> ending(b.size() + 1);
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t j = b.size(); j > 0; --j) {
      ending[j] = a[i] == b[j - 1] ? ending[j - 1] + 1 : 0;
    }
    for (size_t j = 1; j <= b.size(); ++j) {
      if (ending[j] <= longest) continue;
      longest = ending[j];
      a_begin = i + 1 - longest;
      b_begin = j - longest;
    }
  }
  if (longest == 0) return 0;
  return longest + matching_characters(a.substr(0, a_begin), b.substr(0, b_begin)) +
         matching_characters(a.substr(a_begin + longest), b.substr(b_begin + longest));
}

double similarity(const std::u32string& a, const std::u32string& b) {
  if (a.empty() && b.empty()) return 1;
  return 2.0 * static_cast<double>(matching_characters(a, b)) / static_cast<double>(a.size() + b.size());
}

std::string are(const std::vector<std::string>& names) {
  if (names.empty()) return "are none";
  std::string text = names.size() == 1 ? "is " : "are ";
  for (size_t i = 0; i < std::min(names.size(), kListed); ++i) text += (i == 0 ? "" : ", ") + names[i];
  return names.size() > kListed ? text + " and " + std::to_string(names.size() - kListed) + " more" : text;
}

}  // namespace

std::string without_slashes(std::string_view path) {
  while (path.starts_with('/')) path.remove_prefix(1);
  while (path.ends_with('/')) path.remove_suffix(1);
  return std::string(path);
}

std::vector<std::string> similar_names(const std::string& wanted, const std::vector<std::string>& names) {
  const std::u32string points = code_points(wanted);
  std::vector<std::pair<double, std::string>> found;
  for (const std::string& name : names) {
    const double ratio = similarity(code_points(name), points);
    if (ratio >= kSimilarityMin) found.emplace_back(ratio, name);
  }
  std::sort(found.rbegin(), found.rend());
  std::vector<std::string> similar;
  for (size_t i = 0; i < std::min(found.size(), kSimilarMax); ++i) similar.push_back(found[i].second);
  return similar;
}

std::string choose_variable(const std::string& path, const std::vector<Variable>& variables,
                            const std::optional<std::string>& wanted) {
  std::vector<std::string> names;
  std::vector<std::string> own;  // variables that are no coordinates
  for (const Variable& variable : variables) {
    if (variable.path.empty()) continue;
    names.push_back(variable.path);
    if (!variable.is_coordinate) own.push_back(variable.path);
  }
  if (wanted) {
    const std::string name = without_slashes(*wanted);
    if (std::find(names.begin(), names.end(), name) != names.end()) return name;
    std::vector<std::string> listed = similar_names(name, names);
    const std::set<std::string> close(listed.begin(), listed.end());
    std::copy_if(names.begin(), names.end(), std::back_inserter(listed),
                 [&](const std::string& other) { return !close.contains(other); });
    fail_argument(path + ": there is no variable " + formats::quoted(*wanted) + "; there " + are(listed));
  }
  if (own.empty()) own = std::move(names);
  if (own.size() == 1) return own.front();
  fail_argument(path + ": name one of its variables with variable=; there " + are(own));
}

void add_described_by(const Attributes& attributes, std::set<std::string>& names) {
  constexpr std::array<const char*, 6> kReferences = {
      "coordinates", "bounds", "climatology", "grid_mapping", "ancillary_variables", "cell_measures"};
  for (const char* reference : kReferences) {
    std::istringstream words(attributes.text(reference));
    for (std::string word; words >> word;) names.insert(word);
  }
}

}  // namespace swath::formats
