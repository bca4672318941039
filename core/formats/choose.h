// Finds the variable of a file that a name means.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "formats/contents.h"

namespace swath::formats {

// The path of the variable `wanted`; without a name, of the only variable that is no coordinate. Throws
// Error{kArgument}, with the list of names, similar ones first, if there is no such variable, or more than one.
std::string choose_variable(const std::string& path, const std::vector<Variable>& variables,
                            const std::optional<std::string>& wanted);

// Adds the names of the variables that describe others, which these attributes list by the CF conventions.
void add_described_by(const Attributes& attributes, std::set<std::string>& names);

// At most three of `names` that are similar to `wanted`, the most similar first; the same as Python's difflib finds.
std::vector<std::string> similar_names(const std::string& wanted, const std::vector<std::string>& names);

// Removes slashes at both ends.
std::string without_slashes(std::string_view path);

}  // namespace swath::formats
