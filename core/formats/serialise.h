// Descriptions and contents as bytes: rank 0 reads them from the file, and sends them to the other ranks.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "formats/contents.h"
#include "formats/description.h"

namespace swath::formats {

std::vector<std::byte> serialise(const Description& description);
std::vector<std::byte> serialise(const Contents& contents);

// Both throw Error{kFormat} for bytes that serialise() did not make.
Description parse_description(std::span<const std::byte> bytes);
Contents parse_contents(std::span<const std::byte> bytes);

// The same, as parts of a longer message.
void put(ByteWriter& writer, const Description& description);
void put(ByteWriter& writer, const Contents& contents);
Description next_description(ByteReader& reader);
Contents next_contents(ByteReader& reader);

}  // namespace swath::formats
