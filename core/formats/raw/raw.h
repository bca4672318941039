// Raw files: nothing but elements, from an offset on. Their shape, type and order are for the caller to say.
#pragma once

#include <memory>
#include <string>

#include "formats/format.h"
#include "formats/raw_elements.h"

namespace swath::formats::raw {

const Format& format();

// Format::open() with what the caller says of the file, which has no journal: its metadata do not change. Throws
// Error{kArgument} for what cannot be an array, {kFormat} for a file that is too short.
std::unique_ptr<FormatFile> open(const std::string& path, const RawElements& elements);

}  // namespace swath::formats::raw
