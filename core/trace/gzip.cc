#include "trace/gzip.h"

#include <algorithm>
#include <cstdint>

#include "base/crc32.h"

#ifdef SWATH_HAVE_LIBDEFLATE
#include <libdeflate.h>

#include <memory>
#endif

namespace swath::trace {
namespace {

void append_number(std::string& bytes, uint32_t value, int count) {
  for (int at = 0; at < count; ++at) bytes += static_cast<char>(value >> (8 * at) & 0xFF);
}

}  // namespace

// Uses stored blocks (RFC 1951, 3.2.4).
std::string stored_gzip_member(std::string_view text) {
  std::string bytes("\x1f\x8b\x08\0\0\0\0\0\0\xff", 10);
  std::string_view rest = text;
  do {
    const std::string_view block = rest.substr(0, 0xFFFF);
    rest.remove_prefix(block.size());
    bytes += rest.empty() ? '\1' : '\0';
    const auto length = static_cast<uint32_t>(block.size());
    append_number(bytes, length, 2);
    append_number(bytes, ~length, 2);
    bytes += block;
  } while (!rest.empty());
  append_number(bytes, crc32(text), 4);
  append_number(bytes, static_cast<uint32_t>(text.size()), 4);
  return bytes;
}

#ifdef SWATH_HAVE_LIBDEFLATE

std::string gzip_member(std::string_view text) {
  constexpr int kFast = 1;
  const std::unique_ptr<libdeflate_compressor, void (*)(libdeflate_compressor*)> compressor(
      libdeflate_alloc_compressor(kFast), libdeflate_free_compressor);
  if (compressor == nullptr) return stored_gzip_member(text);
  std::string bytes(libdeflate_gzip_compress_bound(compressor.get(), text.size()), '\0');
  const size_t count = libdeflate_gzip_compress(compressor.get(), text.data(), text.size(), bytes.data(), bytes.size());
  if (count == 0) return stored_gzip_member(text);
  bytes.resize(count);
  return bytes;
}

#else

std::string gzip_member(std::string_view text) { return stored_gzip_member(text); }

#endif

}  // namespace swath::trace
