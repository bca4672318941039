// The formats that Swath knows.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/format.h"
#include "formats/raw_elements.h"

namespace swath::formats {

// Adds a format to this process's list, before any file is opened: the skeleton joins the tests so
// (testing/skeleton/format.h).
void add_format(const Format& format);
// Throws Error{kArgument} for a name that is none. What follows a colon is left out.
const Format& format_named(std::string_view name);
// Of an existing file by its first bytes, of a folder by what is in it; never by its name. Throws Error{kFormat} for
// none that is known.
const Format& format_of(const std::string& path);
// Of a new file: `asked`, or what the suffix of the name says; and what follows the colon. Throws Error{kArgument}.
std::pair<const Format*, std::string> format_for(const std::string& path, std::string_view asked);
// Format::open(), of a raw file with what its caller says of it.
std::unique_ptr<FormatFile> open_with(const Format& format, const std::string& path, Changes* changes,
                                      const std::optional<RawElements>& raw);

}  // namespace swath::formats
