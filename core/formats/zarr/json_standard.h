// Converts JSON as Python accepts it to standard JSON, and back: a standard parser refuses NaN, numbers beyond a
// double, and halves of surrogate pairs.
//
// Such a number becomes a string that begins with U+0001 and "n"; a half of a surrogate pair becomes U+0001 and its
// four digits. U+0001 itself, which a string has only as an escape, becomes U+0001 twice.
#pragma once

#include <string>
#include <string_view>

namespace swath::zarr {

// Returns an empty text if the input needs no change. Text that is no JSON stays invalid.
std::string to_standard(std::string_view text);

// Whether a parsed string stands for a number.
bool is_number_in_text(std::string_view text);
std::string number_in_text(std::string_view text);
std::string from_standard(std::string text);

}  // namespace swath::zarr
