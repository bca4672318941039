// The compressors, each through its own library where the build has it. Throwing Error{kFormat} for damaged input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "chunks/codec.h"

namespace swath {

// Why this build cannot use the codec, with the package to install; empty where it can.
std::string compressor_refusal(CodecKind kind);

// Decompresses into `room`, of which the result is the first bytes. `wanted`: see CodecChain::decode.
std::span<std::byte> decompress(const Codec& codec, std::span<const std::byte> stored, std::span<std::byte> room,
                                CodecWorkspace::Contexts& contexts, std::optional<ByteRange> wanted);

// Compresses into `room`, of which the result is the first bytes; `room` has compressed_bytes_max(bytes.size()).
std::span<const std::byte> compress(const Codec& codec, std::span<const std::byte> bytes, std::span<std::byte> room,
                                    CodecWorkspace::Contexts& contexts);

// More than any of the compressors makes of so many bytes.
constexpr int64_t compressed_bytes_max(int64_t bytes) { return bytes + bytes / 8 + 1024; }

}  // namespace swath
