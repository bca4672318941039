#include "chunks/compressors.h"

#include <algorithm>
#include <climits>
#include <cstring>
#include <vector>

#include "base/error.h"

#ifdef SWATH_HAVE_ZSTD
#include <zstd.h>
#endif
#ifdef SWATH_HAVE_BLOSC
#include <blosc.h>
#endif
#ifdef SWATH_HAVE_LZ4
#include <lz4.h>
#endif
#ifdef SWATH_HAVE_LIBDEFLATE
#include <libdeflate.h>
#endif

namespace swath {
namespace {

using Bytes = std::span<const std::byte>;
using Room = std::span<std::byte>;

[[noreturn]] void fail_damaged(CodecKind kind, const std::string& what) {
  throw Error(ErrorKind::kFormat, to_string(kind) + ": " + what);
}

[[noreturn]] void fail_compress(CodecKind kind, const std::string& what) {
  throw Error(ErrorKind::kArgument, to_string(kind) + " cannot compress: " + what);
}

[[noreturn, maybe_unused]] void fail_without(CodecKind kind) {
  throw Error(ErrorKind::kUnsupported, compressor_refusal(kind));
}

// Some libraries count with int.
[[maybe_unused]] void check_int(CodecKind kind, size_t bytes) {
  if (bytes > static_cast<size_t>(INT_MAX)) fail_damaged(kind, std::to_string(bytes) + " bytes are beyond its 2 GiB");
}

}  // namespace

struct CodecWorkspace::Contexts {
#ifdef SWATH_HAVE_ZSTD
  std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> unzstd{nullptr, &ZSTD_freeDCtx};
  std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> zstd{nullptr, &ZSTD_freeCCtx};
#endif
#ifdef SWATH_HAVE_LIBDEFLATE
  std::unique_ptr<libdeflate_decompressor, decltype(&libdeflate_free_decompressor)> inflate{
      nullptr, &libdeflate_free_decompressor};
  std::unique_ptr<libdeflate_compressor, decltype(&libdeflate_free_compressor)> deflate{nullptr,
                                                                                        &libdeflate_free_compressor};
  int deflate_level = -1;
#endif
};

CodecWorkspace::CodecWorkspace() : contexts_(std::make_unique<Contexts>()) {}
CodecWorkspace::~CodecWorkspace() = default;
CodecWorkspace::CodecWorkspace(CodecWorkspace&&) noexcept = default;

namespace {

using Contexts = CodecWorkspace::Contexts;

#ifdef SWATH_HAVE_ZSTD
Room unzstd(Bytes stored, Room room, Contexts& contexts) {
  if (contexts.unzstd == nullptr) contexts.unzstd.reset(ZSTD_createDCtx());
  const size_t bytes =
      ZSTD_decompressDCtx(contexts.unzstd.get(), room.data(), room.size(), stored.data(), stored.size());
  if (ZSTD_isError(bytes) != 0) fail_damaged(CodecKind::kZstd, ZSTD_getErrorName(bytes));
  return room.first(bytes);
}

Bytes zstd(const Codec& codec, Bytes bytes, Room room, Contexts& contexts) {
  if (contexts.zstd == nullptr) contexts.zstd.reset(ZSTD_createCCtx());
  ZSTD_CCtx* context = contexts.zstd.get();
  ZSTD_CCtx_reset(context, ZSTD_reset_session_and_parameters);
  ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, codec.level);
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, codec.checksum ? 1 : 0);
  const size_t size = ZSTD_compress2(context, room.data(), room.size(), bytes.data(), bytes.size());
  if (ZSTD_isError(size) != 0) fail_compress(CodecKind::kZstd, ZSTD_getErrorName(size));
  return room.first(size);
}
#else
Room unzstd(Bytes, Room, Contexts&) { fail_without(CodecKind::kZstd); }
Bytes zstd(const Codec&, Bytes, Room, Contexts&) { fail_without(CodecKind::kZstd); }
#endif

#ifdef SWATH_HAVE_BLOSC
// Decompresses only the blocks with these bytes, if they are few; else returns false. The header was checked.
bool unblosc_blocks(Bytes stored, Room room, ByteRange wanted) {
  size_t item_bytes = 0;
  int flags = 0;
  blosc_cbuffer_metainfo(stored.data(), &item_bytes, &flags);
  if (item_bytes == 0 || static_cast<size_t>(wanted.end - wanted.begin) > room.size() / 2) return false;
  const size_t first = static_cast<size_t>(wanted.begin) / item_bytes;
  const size_t last = (static_cast<size_t>(wanted.end) + item_bytes - 1) / item_bytes;
  if (last > room.size() / item_bytes) return false;  // the range ends in an incomplete item
  const int got = blosc_getitem(stored.data(), static_cast<int>(first), static_cast<int>(last - first),
                                room.data() + first * item_bytes);
  if (got < 0 || static_cast<size_t>(got) != (last - first) * item_bytes) {
    fail_damaged(CodecKind::kBlosc, "a block is damaged, or its compressor is not in the blosc library");
  }
  return true;
}

Room unblosc(Bytes stored, Room room, std::optional<ByteRange> wanted) {
  check_int(CodecKind::kBlosc, room.size());
  size_t bytes = 0;
  // The header states the length of the buffer; the decompressor does not check it.
  if (stored.size() < BLOSC_MIN_HEADER_LENGTH || blosc_cbuffer_validate(stored.data(), stored.size(), &bytes) != 0) {
    fail_damaged(CodecKind::kBlosc, "the header does not fit the " + std::to_string(stored.size()) + " bytes stored");
  }
  if (bytes > room.size()) {
    fail_damaged(CodecKind::kBlosc, "holds " + std::to_string(bytes) + " bytes, more than the " +
                                        std::to_string(room.size()) + " expected");
  }
  if (bytes == 0) return room.first(0);
  if (wanted.has_value() && bytes == room.size() && unblosc_blocks(stored, room, *wanted)) return room;
  const int got = blosc_decompress_ctx(stored.data(), room.data(), bytes, 1);
  if (got < 0 || static_cast<size_t>(got) != bytes) {
    const char* library = blosc_cbuffer_complib(stored.data());
    fail_damaged(CodecKind::kBlosc, "the stream (" + std::string(library == nullptr ? "unknown" : library) +
                                        ") is damaged, or its compressor is not in the blosc library");
  }
  return room.first(bytes);
}

Bytes blosc(const Codec& codec, Bytes bytes, Room room) {
  check_int(CodecKind::kBlosc, bytes.size());
  const int got = blosc_compress_ctx(codec.level, codec.shuffle, static_cast<size_t>(codec.element_bytes), bytes.size(),
                                     bytes.data(), room.data(), room.size(), codec.compressor.c_str(),
                                     static_cast<size_t>(codec.block_bytes), 1);
  if (got <= 0) fail_compress(CodecKind::kBlosc, "error " + std::to_string(got) + " of " + codec.compressor);
  return room.first(static_cast<size_t>(got));
}
#else
Room unblosc(Bytes, Room, std::optional<ByteRange>) { fail_without(CodecKind::kBlosc); }
Bytes blosc(const Codec&, Bytes, Room) { fail_without(CodecKind::kBlosc); }
#endif

// numcodecs' lz4: the decoded size in four little-endian bytes, then one block.
constexpr size_t kLz4HeaderBytes = 4;

#ifdef SWATH_HAVE_LZ4
Room unlz4(Bytes stored, Room room) {
  if (stored.size() < kLz4HeaderBytes) fail_damaged(CodecKind::kLz4, "shorter than its header");
  check_int(CodecKind::kLz4, std::max(stored.size(), room.size()));
  uint32_t bytes = 0;
  for (size_t i = 0; i < kLz4HeaderBytes; ++i) bytes |= static_cast<uint32_t>(stored[i]) << (8 * i);
  if (bytes > room.size()) {
    fail_damaged(CodecKind::kLz4, "holds " + std::to_string(bytes) + " bytes, more than the " +
                                      std::to_string(room.size()) + " expected");
  }
  const Bytes block = stored.subspan(kLz4HeaderBytes);
  const int got = LZ4_decompress_safe(reinterpret_cast<const char*>(block.data()), reinterpret_cast<char*>(room.data()),
                                      static_cast<int>(block.size()), static_cast<int>(bytes));
  if (got < 0 || static_cast<uint32_t>(got) != bytes) fail_damaged(CodecKind::kLz4, "the block is damaged");
  return room.first(bytes);
}

Bytes lz4(const Codec& codec, Bytes bytes, Room room) {
  check_int(CodecKind::kLz4, std::max(bytes.size(), room.size()));
  for (size_t i = 0; i < kLz4HeaderBytes; ++i) room[i] = static_cast<std::byte>(bytes.size() >> (8 * i));
  const int got = LZ4_compress_fast(
      reinterpret_cast<const char*>(bytes.data()), reinterpret_cast<char*>(room.data() + kLz4HeaderBytes),
      static_cast<int>(bytes.size()), static_cast<int>(room.size() - kLz4HeaderBytes), std::max(codec.level, 1));
  if (got <= 0) fail_compress(CodecKind::kLz4, "no room");
  return room.first(kLz4HeaderBytes + static_cast<size_t>(got));
}

// HDF5's filter of that name: the decoded size in eight big-endian bytes, that of a block in four; then, for each
// block, its stored size in four and the block, uncompressed if compression would not make it smaller.
constexpr size_t kHdf5Lz4HeaderBytes = 12;
constexpr size_t kHdf5Lz4BlockBytes = size_t{1} << 30;
constexpr size_t kHdf5Lz4BlockBytesMin = 64;  // with smaller blocks, the sizes take more than a chunk may grow by

uint64_t big_endian_at(Bytes bytes, size_t offset, size_t count) {
  uint64_t number = 0;
  for (size_t i = 0; i < count; ++i) number = number << 8 | static_cast<uint64_t>(bytes[offset + i]);
  return number;
}

void put_big_endian(Room bytes, size_t offset, size_t count, uint64_t number) {
  for (size_t i = count; i-- > 0; number >>= 8) bytes[offset + i] = static_cast<std::byte>(number);
}

Room unlz4_blocks(Bytes stored, Room room) {
  const auto check = [](bool is_right, const std::string& what) {
    if (!is_right) fail_damaged(CodecKind::kHdf5Lz4, what);
  };
  check(stored.size() >= kHdf5Lz4HeaderBytes, "shorter than its header");
  const uint64_t bytes = big_endian_at(stored, 0, 8);
  const uint64_t block_bytes = std::min(big_endian_at(stored, 8, 4), bytes);
  check(bytes <= room.size(),
        "holds " + std::to_string(bytes) + " bytes, more than the " + std::to_string(room.size()) + " expected");
  check(block_bytes > 0 || bytes == 0, "blocks of no bytes");
  stored = stored.subspan(kHdf5Lz4HeaderBytes);
  for (uint64_t done = 0; done < bytes;) {
    const auto decoded = room.subspan(done, std::min(block_bytes, bytes - done));
    check_int(CodecKind::kHdf5Lz4, decoded.size());
    check(stored.size() >= 4, "ends between blocks");
    const uint64_t size = big_endian_at(stored, 0, 4);
    check(size <= stored.size() - 4 && size <= INT_MAX, "ends in a block");
    const Bytes block = stored.subspan(4, size);
    if (size == decoded.size()) {
      std::memcpy(decoded.data(), block.data(), size);
    } else {
      const int got =
          LZ4_decompress_safe(reinterpret_cast<const char*>(block.data()), reinterpret_cast<char*>(decoded.data()),
                              static_cast<int>(size), static_cast<int>(decoded.size()));
      check(got >= 0 && static_cast<uint64_t>(got) == decoded.size(), "a block is damaged");
    }
    stored = stored.subspan(4 + size);
    done += decoded.size();
  }
  return room.first(bytes);
}

Bytes lz4_blocks(const Codec& codec, Bytes bytes, Room room) {
  check_int(CodecKind::kHdf5Lz4, bytes.size());
  const size_t asked = codec.block_bytes == 0 ? kHdf5Lz4BlockBytes : static_cast<size_t>(codec.block_bytes);
  if (asked < kHdf5Lz4BlockBytesMin) {
    fail_compress(CodecKind::kHdf5Lz4, "blocks of " + std::to_string(asked) + " bytes; expected at least " +
                                           std::to_string(kHdf5Lz4BlockBytesMin));
  }
  const size_t block_bytes = std::min(asked, bytes.size());
  put_big_endian(room, 0, 8, bytes.size());
  put_big_endian(room, 8, 4, block_bytes);
  size_t end = kHdf5Lz4HeaderBytes;
  for (size_t done = 0; done < bytes.size(); done += block_bytes) {
    const Bytes block = bytes.subspan(done, std::min(block_bytes, bytes.size() - done));
    const Room target = room.subspan(end + 4);
    // No longer than the block is: there is room for that.
    int size = LZ4_compress_default(reinterpret_cast<const char*>(block.data()), reinterpret_cast<char*>(target.data()),
                                    static_cast<int>(block.size()),
                                    static_cast<int>(std::min(target.size(), block.size() - 1)));
    if (size <= 0) {
      std::memcpy(target.data(), block.data(), block.size());
      size = static_cast<int>(block.size());
    }
    put_big_endian(room, end, 4, static_cast<uint64_t>(size));
    end += 4 + static_cast<size_t>(size);
  }
  return room.first(end);
}
#else
Room unlz4(Bytes, Room) { fail_without(CodecKind::kLz4); }
Bytes lz4(const Codec&, Bytes, Room) { fail_without(CodecKind::kLz4); }
Room unlz4_blocks(Bytes, Room) { fail_without(CodecKind::kHdf5Lz4); }
Bytes lz4_blocks(const Codec&, Bytes, Room) { fail_without(CodecKind::kHdf5Lz4); }
#endif

#ifdef SWATH_HAVE_LIBDEFLATE
Room inflate(CodecKind kind, Bytes stored, Room room, Contexts& contexts) {
  if (contexts.inflate == nullptr) contexts.inflate.reset(libdeflate_alloc_decompressor());
  const auto one = kind == CodecKind::kGzip ? libdeflate_gzip_decompress_ex : libdeflate_zlib_decompress_ex;
  size_t done = 0;
  do {  // a gzip file may have several members
    size_t taken = 0;
    size_t bytes = 0;
    const libdeflate_result result = one(contexts.inflate.get(), stored.data(), stored.size(), room.data() + done,
                                         room.size() - done, &taken, &bytes);
    if (result == LIBDEFLATE_INSUFFICIENT_SPACE) {
      fail_damaged(kind, "holds more than the " + std::to_string(room.size()) + " bytes expected");
    }
    if (result != LIBDEFLATE_SUCCESS) fail_damaged(kind, "the stream is damaged or cut short");
    stored = stored.subspan(taken);
    done += bytes;
  } while (kind == CodecKind::kGzip && !stored.empty());
  return room.first(done);
}

Bytes deflate(const Codec& codec, Bytes bytes, Room room, Contexts& contexts) {
  if (contexts.deflate == nullptr || contexts.deflate_level != codec.level) {
    contexts.deflate.reset(libdeflate_alloc_compressor(codec.level));
    contexts.deflate_level = codec.level;
  }
  if (contexts.deflate == nullptr) fail_compress(codec.kind, "no level " + std::to_string(codec.level));
  const auto one = codec.kind == CodecKind::kGzip ? libdeflate_gzip_compress : libdeflate_zlib_compress;
  const size_t size = one(contexts.deflate.get(), bytes.data(), bytes.size(), room.data(), room.size());
  if (size == 0) fail_compress(codec.kind, "no room");
  return room.first(size);
}
#else
Room inflate(CodecKind kind, Bytes, Room, Contexts&) { fail_without(kind); }
Bytes deflate(const Codec& codec, Bytes, Room, Contexts&) { fail_without(codec.kind); }
#endif

}  // namespace

std::string compressor_refusal(CodecKind kind) {
  [[maybe_unused]] const auto missing = [&](const std::string& library, const std::string& package) {
    return to_string(kind) + ": Swath was built without " + library + ": install " + package +
           " (as Debian calls it) and build Swath again";
  };
  switch (kind) {
#ifndef SWATH_HAVE_ZSTD
    case CodecKind::kZstd:
      return missing("libzstd", "libzstd-dev");
#endif
#ifndef SWATH_HAVE_BLOSC
    case CodecKind::kBlosc:
      return missing("c-blosc", "libblosc-dev");
#endif
#ifndef SWATH_HAVE_LZ4
    case CodecKind::kLz4:
    case CodecKind::kHdf5Lz4:
      return missing("liblz4", "liblz4-dev");
#endif
#ifndef SWATH_HAVE_LIBDEFLATE
    case CodecKind::kGzip:
    case CodecKind::kZlib:
      return missing("libdeflate", "libdeflate-dev");
#endif
    default:
      return "";
  }
}

std::span<std::byte> decompress(const Codec& codec, std::span<const std::byte> stored, std::span<std::byte> room,
                                CodecWorkspace::Contexts& contexts, std::optional<ByteRange> wanted) {
  switch (codec.kind) {
    case CodecKind::kZstd:
      return unzstd(stored, room, contexts);
    case CodecKind::kBlosc:
      return unblosc(stored, room, wanted);
    case CodecKind::kLz4:
      return unlz4(stored, room);
    case CodecKind::kHdf5Lz4:
      return unlz4_blocks(stored, room);
    case CodecKind::kGzip:
    case CodecKind::kZlib:
      return inflate(codec.kind, stored, room, contexts);
    default:
      throw Error(ErrorKind::kInternal, to_string(codec.kind) + " is no compressor");
  }
}

std::span<const std::byte> compress(const Codec& codec, std::span<const std::byte> bytes, std::span<std::byte> room,
                                    CodecWorkspace::Contexts& contexts) {
  switch (codec.kind) {
    case CodecKind::kZstd:
      return zstd(codec, bytes, room, contexts);
    case CodecKind::kBlosc:
      return blosc(codec, bytes, room);
    case CodecKind::kLz4:
      return lz4(codec, bytes, room);
    case CodecKind::kHdf5Lz4:
      return lz4_blocks(codec, bytes, room);
    case CodecKind::kGzip:
    case CodecKind::kZlib:
      return deflate(codec, bytes, room, contexts);
    default:
      throw Error(ErrorKind::kInternal, to_string(codec.kind) + " is no compressor");
  }
}

}  // namespace swath
