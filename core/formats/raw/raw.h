// Raw files have elements only, from an offset on. The caller gives their shape, type and order.
#pragma once

#include <memory>
#include <string>

#include "formats/format.h"
#include "formats/raw_elements.h"

namespace swath::formats::raw {

const Format& format();

// Format::open() with the caller's description of the file. The file has no journal, because its metadata do not
// change. Throws Error{kArgument} if the description is no possible array, {kFormat} if the file is too short.
std::unique_ptr<FormatFile> open(const std::string& path, const RawElements& elements);

}  // namespace swath::formats::raw
