// The list of formats.
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
// Throws Error{kArgument} if there is no format of that name. A colon, and the text after it, are ignored.
const Format& format_named(std::string_view name);
// The format of an existing file, by its first bytes, or of a folder, by its content; the name does not matter. Throws
// Error{kFormat} if the format is not known.
const Format& format_of(const std::string& path);
// The format `asked`, or the one of the name's suffix; and the text after the colon. Throws Error{kArgument}.
std::pair<const Format*, std::string> format_for(const std::string& path, std::string_view asked);
// Format::open(); for a raw file, with the description that its caller gives.
std::unique_ptr<FormatFile> open_with(const Format& format, const std::string& path, Changes* changes,
                                      const std::optional<RawElements>& raw);

}  // namespace swath::formats
