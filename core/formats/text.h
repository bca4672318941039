// Text in files and in messages.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace swath::formats {

// The number of bytes of the UTF-8 character at the begin of `text`, which is not empty; 0 if there is no valid one.
// Overlong forms, surrogates and code points beyond U+10FFFF are not valid.
size_t character_bytes(std::string_view text);
bool is_utf8(std::string_view text);

// Converts stored text to UTF-8: it is UTF-8 already, or Latin-1 in old files. Zero bytes at the end, as C strings have
// them, are left out.
std::string text_of(std::string_view stored);
// The inverse, for text that text_of() made from Latin-1.
std::string latin1_of(std::string_view text);

// Text for messages: control characters, and bytes that are not UTF-8, become \x1f.
std::string escaped(std::string_view text);
// The same in quotes.
std::string quoted(std::string_view text);

}  // namespace swath::formats
