// Gzip (RFC 1952). Members that follow each other in a file are one text: what was written stays readable whatever
// happens to the rest.
#pragma once

#include <string>
#include <string_view>

namespace swath::trace {

// `text` as one gzip member; not compressed where this build has no libdeflate.
std::string gzip_member(std::string_view text);
// Not compressed.
std::string stored_gzip_member(std::string_view text);

}  // namespace swath::trace
