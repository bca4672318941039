#include "formats/hdf5/filters.h"

#include <algorithm>
#include <iterator>

#include "base/error.h"

namespace swath::formats::hdf5 {
namespace {

constexpr unsigned kLevelMax = 9;
constexpr unsigned kLz4BlockBytesMin =
    64;  // with smaller blocks, the stored data are longer than the core allows for a chunk
constexpr const char* kBloscCompressors[] = {"blosclz", "lz4",  "lz4hc",
                                             "snappy",  "zlib", "zstd"};  // by Blosc's numbers

using Numbers = std::vector<unsigned>;

std::optional<Codec> deflate(const Numbers& numbers) {
  const unsigned level = numbers.empty() ? 6 : numbers[0];
  if (level > kLevelMax) return std::nullopt;
  return Codec{.kind = CodecKind::kZlib, .level = static_cast<int>(level)};
}

std::optional<Codec> shuffle(const Numbers& numbers) {
  if (numbers.empty()) return std::nullopt;
  return Codec{.kind = CodecKind::kShuffle, .element_bytes = numbers[0]};
}

std::optional<Codec> zstd(const Numbers& numbers) {
  // A negative level is stored as an unsigned number.
  return Codec{.kind = CodecKind::kZstd, .level = numbers.empty() ? 3 : static_cast<int>(numbers[0])};
}

std::optional<Codec> lz4(const Numbers& numbers) {
  const unsigned block_bytes = numbers.empty() ? 0 : numbers[0];
  if (block_bytes > 0 && block_bytes < kLz4BlockBytesMin) return std::nullopt;
  return Codec{.kind = CodecKind::kHdf5Lz4, .block_bytes = block_bytes};
}

// If numbers are missing, the filter uses these defaults.
std::optional<Codec> blosc(const Numbers& numbers) {
  unsigned all[7] = {0, 0, 1, 0, 5, 1, 0};
  std::copy_n(numbers.begin(), std::min(numbers.size(), std::size(all)), all);
  const unsigned element_bytes = all[2], level = all[4], shuffled = all[5], compressor = all[6];
  if (compressor >= std::size(kBloscCompressors) || shuffled > 2 || level > kLevelMax) return std::nullopt;
  return Codec{.kind = CodecKind::kBlosc,
               .level = static_cast<int>(level),
               .element_bytes = std::max(element_bytes, 1U),
               .compressor = kBloscCompressors[compressor],
               .shuffle = static_cast<int>(shuffled)};
}

std::optional<Codec> codec_of(const Filter& filter) {
  switch (filter.code) {
    case kDeflate:
      return deflate(filter.numbers);
    case kShuffle:
      return shuffle(filter.numbers);
    case kFletcher32:
      return Codec{.kind = CodecKind::kFletcher32};
    case kBlosc:
      return blosc(filter.numbers);
    case kLz4:
      return lz4(filter.numbers);
    case kZstd:
      return zstd(filter.numbers);
    default:
      return std::nullopt;
  }
}

bool is_built(CodecKind kind) {
  try {
    codec_named(to_string(kind));
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

unsigned blosc_compressor_number(const std::string& compressor) {
  const auto found = std::find(std::begin(kBloscCompressors), std::end(kBloscCompressors), compressor);
  if (found == std::end(kBloscCompressors)) fail_argument("codecs: blosc has no compressor '" + compressor + "'");
  return static_cast<unsigned>(found - std::begin(kBloscCompressors));
}

std::vector<Filter> filters_of(hid_t properties) {
  std::vector<Filter> found;
  const int count = checked(library().H5Pget_nfilters(properties));
  for (unsigned i = 0; i < static_cast<unsigned>(count); ++i) {
    unsigned flags = 0, config = 0, numbers[16] = {};
    size_t number_count = std::size(numbers);
    char name[257] = {};
    const int code = checked(
        library().H5Pget_filter2(properties, i, &flags, &number_count, numbers, sizeof name - 1, name, &config));
    found.push_back({code, Numbers(numbers, numbers + std::min(number_count, std::size(numbers))), name});
  }
  return found;
}

std::optional<std::vector<Codec>> codecs_of(const std::vector<Filter>& filters) {
  std::vector<Codec> found;
  for (const Filter& filter : filters) {
    std::optional<Codec> codec = codec_of(filter);
    if (!codec || !is_built(codec->kind)) return std::nullopt;
    found.push_back(std::move(*codec));
  }
  return found;
}

}  // namespace swath::formats::hdf5
