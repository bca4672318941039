// Text as files have it, and as messages show it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace swath::formats {

// Of the UTF-8 character that `text`, which is not empty, begins with; 0 where it begins with none. Overlong forms,
// surrogates and what is beyond U+10FFFF are none.
size_t character_bytes(std::string_view text);
bool is_utf8(std::string_view text);

// UTF-8, as formats ask for, or Latin-1, as old files have it, as UTF-8. Zero bytes at the end are left out, which are
// the end of a C string.
std::string text_of(std::string_view stored);
// The other way: of text that text_of() has made from Latin-1.
std::string latin1_of(std::string_view text);

// As a message shows what a file or a caller says: control characters, and bytes that are no UTF-8, as \x1f.
std::string escaped(std::string_view text);
// The same in quotes.
std::string quoted(std::string_view text);

}  // namespace swath::formats
