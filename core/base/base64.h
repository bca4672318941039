// Bytes as text, by RFC 4648 with padding.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace swath {

std::string to_base64(std::span<const std::byte> bytes);
// None for what is no such text.
std::optional<std::vector<std::byte>> from_base64(std::string_view text);

}  // namespace swath
