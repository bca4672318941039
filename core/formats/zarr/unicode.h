// UTF-8 in which halves of surrogate pairs may stand alone, as Python's texts may have them.
#pragma once

#include <string>
#include <string_view>

namespace swath::zarr {

inline bool is_surrogate(char32_t point) { return point >= 0xD800 && point <= 0xDFFF; }

// A byte that is no part of UTF-8 becomes U+DC00 and the byte, as os.fsdecode of Python has it.
std::u32string code_points(std::string_view text);
void append_utf8(std::string& text, char32_t point);
// Whether there is nothing in it that is no character: no stray byte, and no half of a surrogate pair.
bool is_unicode(std::string_view text);
// With a question mark for each byte that is none.
std::string valid_utf8(std::string_view text);

// The name of a file, which is bytes, as JSON has it; and back.
std::string json_of_name(std::string_view name);
std::string name_of_json(std::string_view text);

// What orders names as zarr-python orders them: normalised (NFKC), then casefolded. As code points, not as bytes.
std::u32string casefolded(std::string_view name);

}  // namespace swath::zarr
