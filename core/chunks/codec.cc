#include "chunks/codec.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "chunks/checksums.h"
#include "chunks/compressors.h"
#include "chunks/shuffle.h"

namespace swath {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::array<std::pair<CodecKind, const char*>, 9> kNames{{
    {CodecKind::kZstd, "zstd"},
    {CodecKind::kBlosc, "blosc"},
    {CodecKind::kLz4, "lz4"},
    {CodecKind::kHdf5Lz4, "hdf5-lz4"},
    {CodecKind::kGzip, "gzip"},
    {CodecKind::kZlib, "zlib"},
    {CodecKind::kCrc32c, "crc32c"},
    {CodecKind::kFletcher32, "fletcher32"},
    {CodecKind::kShuffle, "shuffle"},
}};

constexpr size_t kChecksumBytes = 4;
// The maximum size of a coded chunk: no file is so long, and sums of a few such numbers fit into 64 bits.
constexpr int64_t kStoredBytesMax = INT64_MAX / 8;

bool is_checksum(CodecKind kind) { return kind == CodecKind::kCrc32c || kind == CodecKind::kFletcher32; }

int64_t stored_after(const Codec& codec, int64_t bytes) {
  if (codec.kind == CodecKind::kShuffle) return bytes;
  if (is_checksum(codec.kind)) return std::min(bytes + static_cast<int64_t>(kChecksumBytes), kStoredBytesMax);
  return std::min(compressed_bytes_max(bytes), kStoredBytesMax);
}

// Both store their sum after the bytes, lowest byte first.
uint32_t sum_of(CodecKind kind, Bytes bytes) { return kind == CodecKind::kCrc32c ? crc32c(bytes) : fletcher32(bytes); }

std::string hexadecimal(uint32_t value) {
  std::string text = "0x00000000";
  for (size_t i = text.size() - 1; value != 0; --i, value >>= 4) text[i] = "0123456789abcdef"[value & 0xF];
  return text;
}

// Compares the sum, and returns the bytes before it.
Bytes checked(CodecKind kind, Bytes bytes) {
  if (bytes.size() < kChecksumBytes) {
    throw Error(ErrorKind::kFormat,
                to_string(kind) + ": " + std::to_string(bytes.size()) + " bytes are too few to hold the checksum");
  }
  const Bytes summed = bytes.first(bytes.size() - kChecksumBytes);
  uint32_t stored = 0;
  for (size_t i = 0; i < kChecksumBytes; ++i) stored |= static_cast<uint32_t>(bytes[summed.size() + i]) << (8 * i);
  const uint32_t sum = sum_of(kind, summed);
  // Libraries before HDF5 1.6.3 stored the bytes of each half of a Fletcher sum the other way round.
  const uint32_t old = ((sum & 0x00FF00FF) << 8) | ((sum >> 8) & 0x00FF00FF);
  const bool is_right = stored == sum || (kind == CodecKind::kFletcher32 && stored == old);
  if (!is_right) {
    throw Error(ErrorKind::kFormat, to_string(kind) + ": the checksum is " + hexadecimal(sum) + ", but " +
                                        hexadecimal(stored) + " is stored: the bytes have changed");
  }
  return summed;
}

}  // namespace

CodecKind codec_named(const std::string& name) {
  for (const auto& [kind, its_name] : kNames) {
    if (name != its_name) continue;
    const std::string refusal = compressor_refusal(kind);
    if (!refusal.empty()) throw Error(ErrorKind::kUnsupported, refusal);
    return kind;
  }
  throw Error(ErrorKind::kUnsupported, "codec \"" + name +
                                           "\" is not known; Swath has zstd, blosc, lz4, gzip, zlib, crc32c, "
                                           "fletcher32 and shuffle");
}

std::string to_string(CodecKind kind) {
  for (const auto& [known, name] : kNames) {
    if (known == kind) return name;
  }
  return "unknown";
}

std::span<std::byte> Buffer::at_least(int64_t bytes) {
  if (bytes > capacity_) {
    memory_.reset();  // before the new one is allocated: both never exist at once
    memory_ = std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(bytes));
    capacity_ = bytes;
  }
  return {memory_.get(), static_cast<size_t>(bytes)};
}

bool CodecChain::is_plain(uint32_t skipped) const {
  for (size_t i = 0; i < codecs_.size(); ++i) {
    if (((skipped >> i) & 1) == 0) return false;
  }
  return true;
}

int64_t CodecChain::stored_bytes_max(int64_t decoded_bytes) const {
  int64_t bytes = decoded_bytes;
  for (const Codec& codec : codecs_) bytes = stored_after(codec, bytes);
  return bytes;
}

void CodecChain::decode(Bytes stored, std::span<std::byte> decoded, uint32_t skipped, CodecWorkspace& workspace,
                        std::optional<ByteRange> wanted) const {
  // The maximum size of each step's result, from the sizes that the steps before it made when encoding.
  std::vector<int64_t> bytes_max{static_cast<int64_t>(decoded.size())};
  std::vector<const Codec*> steps;
  for (size_t i = 0; i < codecs_.size(); ++i) {
    if (((skipped >> i) & 1) != 0) continue;
    steps.push_back(&codecs_[i]);
    bytes_max.push_back(stored_after(codecs_[i], bytes_max.back()));
  }
  Bytes bytes = stored;
  int other = 0;  // the memory without the input of the next step
  for (size_t i = steps.size(); i-- > 0;) {
    const Codec& codec = *steps[i];
    if (is_checksum(codec.kind)) {
      bytes = checked(codec.kind, bytes);
      continue;
    }
    const auto room = i == 0 ? decoded : workspace.between(other).at_least(bytes_max[i]);
    other = 1 - other;
    if (codec.kind != CodecKind::kShuffle) {
      bytes = decompress(codec, bytes, room, workspace.contexts(), i == 0 ? wanted : std::nullopt);
    } else if (bytes.size() <= room.size()) {
      unshuffle_bytes(bytes, room.first(bytes.size()), codec.element_bytes);
      bytes = room.first(bytes.size());
    }  // otherwise it is too long: an error below
  }
  if (bytes.size() != decoded.size()) {
    throw Error(ErrorKind::kFormat, "decoded to " + std::to_string(bytes.size()) + " bytes, but a chunk has " +
                                        std::to_string(decoded.size()));
  }
  if (bytes.data() != decoded.data() && !bytes.empty()) std::memcpy(decoded.data(), bytes.data(), bytes.size());
}

Bytes CodecChain::encode(Bytes decoded, CodecWorkspace& workspace, uint32_t* skipped) const {
  if (skipped != nullptr) *skipped = 0;
  Bytes bytes = decoded;
  int other = 0;  // the memory without the input of the next step
  for (size_t i = 0; i < codecs_.size(); ++i) {
    const Codec& codec = codecs_[i];
    const auto room = workspace.between(other).at_least(stored_after(codec, static_cast<int64_t>(bytes.size())));
    if (codec.kind == CodecKind::kShuffle) {
      shuffle_bytes(bytes, room.first(bytes.size()), codec.element_bytes);
      bytes = room.first(bytes.size());
    } else if (is_checksum(codec.kind)) {
      const uint32_t sum = sum_of(codec.kind, bytes);
      if (!bytes.empty()) std::memcpy(room.data(), bytes.data(), bytes.size());
      for (size_t b = 0; b < kChecksumBytes; ++b) room[bytes.size() + b] = static_cast<std::byte>(sum >> (8 * b));
      bytes = room.first(bytes.size() + kChecksumBytes);
    } else {
      const Bytes compressed = compress(codec, bytes, room, workspace.contexts());
      // Only this one of HDF5's filters gives up. If a chunk keeps its size, HDF5's library does not notice that a
      // filter is applied again: so filters that can always be applied are always applied.
      if (skipped != nullptr && codec.kind == CodecKind::kBlosc && compressed.size() >= bytes.size()) {
        *skipped |= uint32_t{1} << i;
        continue;
      }
      bytes = compressed;
    }
    other = 1 - other;
  }
  return bytes;
}

}  // namespace swath
