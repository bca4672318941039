// The codecs of a chunk's bytes: compressors, checksums and shuffles, one after another.
//
// Sources: the Zarr specifications (version 2, and version 3 with its registered codecs), numcodecs' formats, and
// HDF5's filter pipeline with the registered filter 32004 (hdf5-lz4). Order, byte order and dtype are handled
// elsewhere: chunks are copied by their strides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace swath {

enum class CodecKind { kZstd, kBlosc, kLz4, kHdf5Lz4, kGzip, kZlib, kCrc32c, kFletcher32, kShuffle };

// One codec. Fields that its kind does not use are ignored.
struct Codec {
  CodecKind kind = CodecKind::kZstd;
  int level = 1;              // of compression; for lz4 its acceleration
  bool checksum = false;      // zstd
  int64_t element_bytes = 1;  // shuffle, blosc
  std::string compressor;     // blosc: "lz4", "lz4hc", "blosclz", "zstd", "zlib", "snappy"
  int shuffle = 0;            // blosc: 0 none, 1 by bytes, 2 by bits
  int64_t block_bytes = 0;    // blosc: 0 is its own choice; hdf5-lz4: 0 is 1 GiB
};

// "zstd", "blosc", "lz4", "hdf5-lz4", "gzip", "zlib", "crc32c", "fletcher32" or "shuffle". Throws Error{kUnsupported}
// for other names, and, with the package to install, if this build lacks the library.
CodecKind codec_named(const std::string& name);
std::string to_string(CodecKind kind);

// Memory that grows and is never cleared: reads and decoders overwrite it.
class Buffer {
 public:
  std::span<std::byte> at_least(int64_t bytes);
  int64_t capacity() const { return capacity_; }

 private:
  std::unique_ptr<std::byte[]> memory_;
  int64_t capacity_ = 0;
};

// The resources of a codec chain: library contexts, and memory between two codecs. One for each thread.
class CodecWorkspace {
 public:
  CodecWorkspace();
  ~CodecWorkspace();
  CodecWorkspace(CodecWorkspace&&) noexcept;
  CodecWorkspace(const CodecWorkspace&) = delete;
  CodecWorkspace& operator=(const CodecWorkspace&) = delete;
  CodecWorkspace& operator=(CodecWorkspace&&) = delete;

  // Contexts are made at first use and kept.
  struct Contexts;
  Contexts& contexts() { return *contexts_; }
  Buffer& between(int which) { return between_[which]; }
  int64_t capacity() const { return between_[0].capacity() + between_[1].capacity(); }

 private:
  std::unique_ptr<Contexts> contexts_;
  Buffer between_[2];
};

// Bytes [begin, end) of a decoded chunk.
struct ByteRange {
  int64_t begin;
  int64_t end;
};

// A chain of codecs, in the order of encoding.
class CodecChain {
 public:
  CodecChain() = default;
  explicit CodecChain(std::vector<Codec> codecs) : codecs_(std::move(codecs)) {}

  const std::vector<Codec>& codecs() const { return codecs_; }
  // True if the bytes do not change. Bit i of `skipped` skips codec i, as HDF5's filter mask does.
  bool is_plain(uint32_t skipped = 0) const;
  // True if decode() uses its argument `wanted`.
  bool decodes_parts() const { return !codecs_.empty() && codecs_.front().kind == CodecKind::kBlosc; }
  // The upper bound of the stored bytes of a chunk, hostile ones too: longer chunks are refused unread.
  int64_t stored_bytes_max(int64_t decoded_bytes) const;

  // Decodes `stored` to all of `decoded`. Throws Error{kFormat} if a checksum differs, a stream is damaged, or the size
  // does not match. Never writes outside, whatever the input is. `wanted`: other bytes of `decoded` become undefined,
  // and damage in them may stay undetected. Blosc's blocks are decoded separately: one row of 4 KiB in a chunk of 4 MiB
  // needs one block of many.
  void decode(std::span<const std::byte> stored, std::span<std::byte> decoded, uint32_t skipped,
              CodecWorkspace& workspace, std::optional<ByteRange> wanted = std::nullopt) const;
  // Returns the stored form; it is in the workspace, or is `decoded` itself if no codec is applied. `skipped` (may be
  // null): blosc is skipped if it does not make its input smaller, as in HDF5, and sets its bit here.
  std::span<const std::byte> encode(std::span<const std::byte> decoded, CodecWorkspace& workspace,
                                    uint32_t* skipped = nullptr) const;

 private:
  std::vector<Codec> codecs_;
};

}  // namespace swath
