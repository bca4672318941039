// UTF-8 that may contain single halves of surrogate pairs, as Python's strings may.
#pragma once

#include <string>
#include <string_view>

namespace swath::zarr {

inline bool is_surrogate(char32_t point) { return point >= 0xD800 && point <= 0xDFFF; }

// A byte that is not valid UTF-8 becomes U+DC00 plus the byte, as in Python's os.fsdecode.
std::u32string code_points(std::string_view text);
void append_utf8(std::string& text, char32_t point);
// Whether all of the text are characters: no invalid byte, and no half of a surrogate pair.
bool is_unicode(std::string_view text);
// Replaces each invalid byte by a question mark.
std::string valid_utf8(std::string_view text);

// The name of a file, which is bytes, as text for JSON; and back.
std::string json_of_name(std::string_view name);
std::string name_of_json(std::string_view text);

// The key by which zarr-python sorts names: normalised (NFKC), then casefolded. As code points, not as bytes.
std::u32string casefolded(std::string_view name);

}  // namespace swath::zarr
