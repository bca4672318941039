// Which variable of a file is meant.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "formats/contents.h"

namespace swath::formats {

// The path of the variable that `wanted` means; none means the only one that holds numbers of its own. Throws
// Error{kArgument}, listing what there is with similar names first, where that is none or more than one.
std::string choose_variable(const std::string& path, const std::vector<Variable>& variables,
                            const std::optional<std::string>& wanted);

// Adds the names of the variables that exist to describe others, by the CF conventions on these attributes.
void add_described_by(const Attributes& attributes, std::set<std::string>& names);

// Of `names` those that are similar to `wanted`, the most similar first, three at most: as difflib of Python finds
// them.
std::vector<std::string> similar_names(const std::string& wanted, const std::vector<std::string>& names);

// Without slashes at both ends.
std::string without_slashes(std::string_view path);

}  // namespace swath::formats
