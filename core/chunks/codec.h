// How the bytes of a chunk are coded: compressors, checksums and shuffles, one after another.
//
// Sources: the Zarr specifications (version 2, and version 3 with its registered codecs), numcodecs' formats, and
// HDF5's filter pipeline with the registered filter 32004 (hdf5-lz4). What order, byte order and dtype do to elements
// is not here: chunks are copied by their strides.
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

// One step. What a kind does not need is not looked at.
struct Codec {
  CodecKind kind = CodecKind::kZstd;
  int level = 1;              // of compression; of lz4 its acceleration
  bool checksum = false;      // zstd
  int64_t element_bytes = 1;  // shuffle, blosc
  std::string compressor;     // blosc: "lz4", "lz4hc", "blosclz", "zstd", "zlib", "snappy"
  int shuffle = 0;            // blosc: 0 none, 1 by bytes, 2 by bits
  int64_t block_bytes = 0;    // blosc: 0 lets it choose; hdf5-lz4: 0 is 1 GiB
};

// "zstd", "blosc", "lz4", "hdf5-lz4", "gzip", "zlib", "crc32c", "fletcher32" or "shuffle". Throws Error{kUnsupported}
// for any other name, and where this build has not the library, naming the package that brings it.
CodecKind codec_named(const std::string& name);
std::string to_string(CodecKind kind);

// Memory that grows and is never cleared: what is read or decoded into it overwrites it.
class Buffer {
 public:
  std::span<std::byte> at_least(int64_t bytes);
  int64_t capacity() const { return capacity_; }

 private:
  std::unique_ptr<std::byte[]> memory_;
  int64_t capacity_ = 0;
};

// What coding needs besides input and output: contexts of the libraries, and memory between two steps. One a thread.
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

// Bytes to bytes, in the order of encoding.
class CodecChain {
 public:
  CodecChain() = default;
  explicit CodecChain(std::vector<Codec> codecs) : codecs_(std::move(codecs)) {}

  const std::vector<Codec>& codecs() const { return codecs_; }
  // Whether nothing is done to the bytes. Bit i of `skipped` leaves codec i out, as HDF5's filter mask does.
  bool is_plain(uint32_t skipped = 0) const;
  // Whether decode() makes use of what is wanted.
  bool decodes_parts() const { return !codecs_.empty() && codecs_.front().kind == CodecKind::kBlosc; }
  // Not even a hostile chunk is larger than this for so many decoded bytes: what is longer is refused unread.
  int64_t stored_bytes_max(int64_t decoded_bytes) const;

  // Decodes `stored` to all of `decoded`. Throws Error{kFormat} where a checksum differs, a stream is damaged, or its
  // size is not that of `decoded`. Writes nowhere else, whatever the input is.
  // `wanted`: the rest of `decoded` may become anything, and damage that only it has may stay unseen. Blosc's blocks
  // are decoded on their own: for one row of 4 KiB in a chunk of 4 MiB one block of many.
  void decode(std::span<const std::byte> stored, std::span<std::byte> decoded, uint32_t skipped,
              CodecWorkspace& workspace, std::optional<ByteRange> wanted = std::nullopt) const;
  // The stored form; it lies in the workspace, or is `decoded` itself where nothing is done. `skipped` (may be null):
  // blosc is left out where it would not make its input smaller, as HDF5 does, and this gets a bit for it.
  std::span<const std::byte> encode(std::span<const std::byte> decoded, CodecWorkspace& workspace,
                                    uint32_t* skipped = nullptr) const;

 private:
  std::vector<Codec> codecs_;
};

}  // namespace swath
