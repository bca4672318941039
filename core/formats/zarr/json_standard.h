// What Python takes for JSON turned into JSON that the standard knows, and back: a parser of the standard refuses NaN,
// numbers beyond a double, and halves of surrogate pairs.
//
// Such a number becomes a string that begins with U+0001 and "n"; a half of a surrogate pair becomes U+0001 and its
// four digits; U+0001 itself, which a string holds only where it is escaped, becomes U+0001 twice.
#pragma once

#include <string>
#include <string_view>

namespace swath::zarr {

// Empty where the text is as the standard has it. What is no JSON stays so.
std::string to_standard(std::string_view text);

// Of strings, as they were parsed.
bool is_number_in_text(std::string_view text);
std::string number_in_text(std::string_view text);
std::string from_standard(std::string text);

}  // namespace swath::zarr
