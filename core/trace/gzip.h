// Gzip (RFC 1952). A file of several members is one text, so complete members stay readable if the last one is damaged.
#pragma once

#include <string>
#include <string_view>

namespace swath::trace {

// `text` as one gzip member; not compressed if this build has no libdeflate.
std::string gzip_member(std::string_view text);
// `text` as one gzip member, without compression.
std::string stored_gzip_member(std::string_view text);

}  // namespace swath::trace
