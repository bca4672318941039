#include "formats/zarr/codecs.h"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "base/error.h"

namespace swath::zarr {
namespace {

constexpr std::string_view kOfNumcodecs = "numcodecs.";
constexpr std::array<std::string_view, 3> kBloscShuffles = {"noshuffle", "shuffle", "bitshuffle"};
const std::vector<std::string_view> kBloscCompressors = {"blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"};
constexpr int64_t kBloscBytesMax = (int64_t{1} << 31) - 17;
constexpr int64_t kBloscElementBytesMax = 255;
constexpr int64_t kSizeMax = (int64_t{1} << 31) - 1;

std::string without_prefix(const std::string& name, std::string_view prefix) {
  return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
}

struct Levels {
  int least;
  int most;
  int usual;
};

Levels levels_of(CodecKind kind) {
  if (kind == CodecKind::kZstd) return {-131072, 22, 0};
  if (kind == CodecKind::kGzip) return {0, 9, 5};
  return {0, 9, kind == CodecKind::kZlib ? 1 : 5};
}

int level_of(CodecKind kind, const Field& level) {
  const int64_t* stored = level.value().integer();
  const bool is_deflate = kind == CodecKind::kGzip || kind == CodecKind::kZlib;
  if (stored != nullptr && *stored == -1 && is_deflate) return 6;  // zlib's own default
  const Levels levels = levels_of(kind);
  return static_cast<int>(level.integer(levels.least, levels.most, levels.usual));
}

// The size of an element or a block; 0 means the default.
int64_t size_of(const Field& size, int64_t usual) {
  const int64_t found = size.integer(0, kSizeMax, 0);
  return found == 0 ? usual : found;
}

int shuffle_of(const Field& shuffle, int64_t element_bytes) {
  if (shuffle.value().text() != nullptr) {
    const std::string word = shuffle.text({kBloscShuffles.begin(), kBloscShuffles.end()});
    return static_cast<int>(std::find(kBloscShuffles.begin(), kBloscShuffles.end(), word) - kBloscShuffles.begin());
  }
  const int64_t found = shuffle.integer(-1, 2, 1);
  if (found >= 0) return static_cast<int>(found);
  return element_bytes == 1 ? 2 : 1;  // numcodecs shuffles bits of single bytes, else bytes
}

bool is_built(const std::string& name) {
  try {
    codec_named(name);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kUnsupported) throw;
    return false;
  }
  return true;
}

void configure(Codec& codec, const Field& settings, int64_t element_bytes) {
  switch (codec.kind) {
    case CodecKind::kBlosc:
      codec.compressor = settings.of("cname").text(kBloscCompressors, "lz4");
      codec.level = level_of(codec.kind, settings.of("clevel"));
      codec.shuffle = shuffle_of(settings.of("shuffle"), element_bytes);
      codec.element_bytes = size_of(settings.of("typesize"), element_bytes);
      codec.block_bytes = size_of(settings.of("blocksize"), 0);
      return;
    case CodecKind::kShuffle:
      codec.element_bytes = size_of(settings.of("elementsize"), 4);
      return;
    case CodecKind::kZstd:
      codec.level = level_of(codec.kind, settings.of("level"));
      codec.checksum = settings.of("checksum").flag();
      return;
    case CodecKind::kLz4:
      codec.level = static_cast<int>(size_of(settings.of("acceleration"), 1));
      return;
    case CodecKind::kHdf5Lz4:
      codec.block_bytes = size_of(settings.of("blocksize"), 0);
      return;
    case CodecKind::kGzip:
    case CodecKind::kZlib:
      codec.level = level_of(codec.kind, settings.of("level"));
      return;
    case CodecKind::kCrc32c:
    case CodecKind::kFletcher32:
      return;
  }
}

std::vector<int> permutation_of(const Field& order, size_t ndim) {
  std::vector<int> found(ndim);
  std::iota(found.begin(), found.end(), 0);
  if (const std::string* word = order.value().text(); word != nullptr && (*word == "C" || *word == "F")) {
    if (*word == "F") std::reverse(found.begin(), found.end());
    return found;
  }
  const Shape asked = order.lengths(0);
  if (!std::is_permutation(asked.begin(), asked.end(), found.begin(), found.end())) {
    throw order.wrong("each of the " + std::to_string(ndim) + " dimensions that transpose is to reorder once");
  }
  return {asked.begin(), asked.end()};
}

bool can_be_shuffled_by_blosc(CodecKind kind) {
  return kind == CodecKind::kZlib || kind == CodecKind::kGzip || kind == CodecKind::kZstd || kind == CodecKind::kLz4 ||
         kind == CodecKind::kHdf5Lz4;
}

Codec of_kind(CodecKind kind) {
  Codec codec;
  codec.kind = kind;
  return codec;
}

// Blosc has its own names and levels for compressors.
Codec as_blosc(const Codec& codec, int64_t element_bytes) {
  Codec made = of_kind(CodecKind::kBlosc);
  made.element_bytes = element_bytes;
  made.shuffle = element_bytes > 1 ? 1 : 0;
  int level = codec.level;
  if (codec.kind == CodecKind::kZstd) {
    made.compressor = "zstd";
    level = static_cast<int>((static_cast<int64_t>(codec.level) + 1) >> 1);
  } else if (codec.kind == CodecKind::kLz4 || codec.kind == CodecKind::kHdf5Lz4) {
    made.compressor = "lz4";
    level = codec.kind == CodecKind::kLz4 ? 10 - codec.level : 9;
  } else {
    made.compressor = "zlib";
  }
  made.level = std::clamp(level, 1, 9);
  return made;
}

}  // namespace

Codec codec_of(const std::string& name, const Field& settings, int64_t element_bytes) {
  Codec codec;
  try {
    codec.kind = codec_named(name);
  } catch (const Error& error) {
    throw Error(error.kind(), settings.file() + ": " + error.what());
  }
  if (codec.kind == CodecKind::kCrc32c && settings.of("location").text({"start", "end"}, "end") == "start") {
    throw Error(ErrorKind::kUnsupported, settings.file() + ": crc32c at the start of a chunk");
  }
  configure(codec, settings, element_bytes);
  return codec;
}

Chain chain_of_v3(const Field& codecs, size_t ndim, int64_t element_bytes) {
  const std::vector<Field> several = codecs.items();
  Chain chain;
  chain.order.resize(ndim);
  std::iota(chain.order.begin(), chain.order.end(), 0);
  bool makes_bytes = false;
  for (const Field& codec : several) {
    const auto [name, settings] = codec.named();
    if (makes_bytes) {
      chain.codecs.push_back(codec_of(without_prefix(name, kOfNumcodecs), settings, element_bytes));
    } else if (name == "transpose") {
      std::vector<int> order;
      for (const int dimension : permutation_of(settings.of("order"), ndim)) order.push_back(chain.order[dimension]);
      chain.order = order;
    } else if (name == "bytes") {
      chain.is_big_endian = settings.of("endian").text({"little", "big"}, "little") == "big";
      makes_bytes = true;
    } else if (name == "sharding_indexed") {
      if (several.size() > 1) {
        throw Error(ErrorKind::kUnsupported,
                    codecs.file() + ": " + codecs.key() + ": Swath reads shards that no other codec changes");
      }
      chain.sharding = settings;
      return chain;
    } else {
      throw Error(ErrorKind::kUnsupported, codec.file() + ": codec " + shown(Json(name)) +
                                               " is not one of transpose, bytes and sharding_indexed");
    }
  }
  if (!makes_bytes) throw codecs.wrong("codecs of which one makes bytes, such as {\"name\": \"bytes\"}");
  return chain;
}

std::vector<Codec> codecs_of_v2(const Field& filters, const Field& compressor, int64_t element_bytes) {
  std::vector<Field> several = filters.items();
  if (!compressor.is_missing()) several.push_back(compressor);
  std::vector<Codec> codecs;
  for (const Field& codec : several) codecs.push_back(codec_of(codec.of("id").text(), codec, element_bytes));
  return codecs;
}

std::vector<Codec> registered(std::span<const Codec> codecs, int64_t chunk_bytes) {
  std::vector<Codec> found;
  int64_t element_bytes = 1;
  const bool can_be_blosc = chunk_bytes <= kBloscBytesMax && is_built("blosc");
  for (const Codec& codec : codecs) {
    const bool is_shuffled =
        element_bytes > 1 && element_bytes <= kBloscElementBytesMax && can_be_shuffled_by_blosc(codec.kind);
    const bool is_lz4 = codec.kind == CodecKind::kLz4 || codec.kind == CodecKind::kHdf5Lz4;
    if (codec.kind == CodecKind::kShuffle) {
      element_bytes = codec.element_bytes;
    } else if (codec.kind == CodecKind::kFletcher32) {
      found.push_back(of_kind(CodecKind::kCrc32c));
    } else if (can_be_blosc && (is_shuffled || is_lz4)) {
      found.push_back(as_blosc(codec, is_shuffled ? element_bytes : 1));
    } else if (codec.kind == CodecKind::kZlib) {
      found.push_back(codec);
      found.back().kind = CodecKind::kGzip;
    } else {
      found.push_back(codec);
    }
  }
  return found;
}

Json codec_to_v3(const Codec& codec) {
  const std::string name = to_string(codec.kind);
  switch (codec.kind) {
    case CodecKind::kBlosc:
      return Json::object({{"name", name},
                           {"configuration", Json::object({{"cname", codec.compressor},
                                                           {"clevel", codec.level},
                                                           {"shuffle", kBloscShuffles[codec.shuffle]},
                                                           {"typesize", codec.element_bytes},
                                                           {"blocksize", codec.block_bytes}})}});
    case CodecKind::kZstd:
      return Json::object(
          {{"name", name}, {"configuration", Json::object({{"level", codec.level}, {"checksum", codec.checksum}})}});
    case CodecKind::kGzip:
      return Json::object({{"name", name}, {"configuration", Json::object({{"level", codec.level}})}});
    case CodecKind::kCrc32c:
      return Json::object({{"name", name}});
    default:
      return Json::object(
          {{"name", std::string(kOfNumcodecs) + name}, {"configuration", codec_to_v2(codec).without("id")}});
  }
}

Json codec_to_v2(const Codec& codec) {
  const Json id = to_string(codec.kind);
  switch (codec.kind) {
    case CodecKind::kBlosc:
      return Json::object({{"id", id},
                           {"cname", codec.compressor},
                           {"clevel", codec.level},
                           {"shuffle", codec.shuffle},
                           {"blocksize", codec.block_bytes}});
    case CodecKind::kZstd:
      return Json::object({{"id", id}, {"level", codec.level}, {"checksum", codec.checksum}});
    case CodecKind::kGzip:
    case CodecKind::kZlib:
      return Json::object({{"id", id}, {"level", codec.level}});
    case CodecKind::kLz4:
      return Json::object({{"id", id}, {"acceleration", codec.level}});
    case CodecKind::kShuffle:
      return Json::object({{"id", id}, {"elementsize", codec.element_bytes}});
    default:
      return Json::object({{"id", id}});
  }
}

}  // namespace swath::zarr
