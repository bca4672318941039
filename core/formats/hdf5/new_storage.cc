#include "formats/hdf5/new_storage.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "base/error.h"
#include "formats/default_chunks.h"
#include "formats/hdf5/filters.h"
#include "formats/refusals.h"

namespace swath::formats::hdf5 {
namespace {

constexpr int64_t kCodedChunkBytes = int64_t{1} << 20;       // HDF5's readers cache this many decoded bytes
constexpr int64_t kGrowingChunkBytesMax = int64_t{4} << 20;  // the default for an array that grows

bool is_compressor(CodecKind kind) {
  return kind == CodecKind::kZlib || kind == CodecKind::kZstd || kind == CodecKind::kBlosc ||
         kind == CodecKind::kHdf5Lz4;
}

// The user's name of the filter.
std::string filter_name(CodecKind kind) { return kind == CodecKind::kHdf5Lz4 ? "lz4" : to_string(kind); }

// The number of a registered filter; 0 for HDF5's own.
int registered_number(CodecKind kind) {
  switch (kind) {
    case CodecKind::kZstd:
      return kZstd;
    case CodecKind::kBlosc:
      return kBlosc;
    case CodecKind::kHdf5Lz4:
      return kLz4;
    default:
      return 0;
  }
}

void check_is_filter(CodecKind kind) {
  const bool is_own = kind == CodecKind::kZlib || kind == CodecKind::kShuffle || kind == CodecKind::kFletcher32;
  const int number = registered_number(kind);
  if (!is_own && number == 0) {
    fail_argument("codecs: HDF5 has no " + to_string(kind) +
                  "; it has zlib, zstd, blosc, lz4, shuffle and fletcher32; or create a .zarr store");
  }
  if (is_own || library().H5Zfilter_avail(number) > 0) return;
  throw Error(ErrorKind::kUnsupported,
              "codecs: " + filter_name(kind) +
                  " is no filter of HDF5's own: who creates it, or reads it otherwise than by Swath, needs hdf5plugin: "
                  "pip install hdf5plugin, or name the folder of the filter in HDF5_PLUGIN_PATH");
}

std::string names_of(const std::vector<Codec>& codecs) {
  std::string names;
  for (const Codec& codec : codecs) names += (names.empty() ? "" : ", ") + filter_name(codec.kind);
  return names;
}

void set_registered(hid_t properties, int number, const std::vector<unsigned>& values) {
  checked(library().H5Pset_filter(properties, number, H5Z_FLAG_OPTIONAL, values.size(), values.data()));
}

void set_filter(hid_t properties, const Codec& codec) {
  switch (codec.kind) {
    case CodecKind::kZlib:
      checked(library().H5Pset_deflate(properties, static_cast<unsigned>(codec.level)));
      break;
    case CodecKind::kShuffle:
      checked(library().H5Pset_shuffle(properties));
      break;
    case CodecKind::kFletcher32:
      checked(library().H5Pset_fletcher32(properties));
      break;
    case CodecKind::kZstd:
      set_registered(properties, kZstd, {static_cast<unsigned>(codec.level)});
      break;
    case CodecKind::kHdf5Lz4:
      set_registered(properties, kLz4, {static_cast<unsigned>(codec.block_bytes)});
      break;
    default:  // the filter itself sets the first four numbers
      set_registered(properties, kBlosc,
                     {0, 0, 0, 0, static_cast<unsigned>(codec.level), static_cast<unsigned>(codec.shuffle),
                      blosc_compressor_number(codec.compressor)});
  }
}

using Settings = std::vector<std::pair<std::string, std::string>>;

// The parameters of a filter by the users' names.
Settings settings_of(const Codec& codec) {
  const std::pair<std::string, std::string> level{"level", std::to_string(codec.level)};
  const std::pair<std::string, std::string> element_bytes{"element_bytes", std::to_string(codec.element_bytes)};
  const std::pair<std::string, std::string> block_bytes{"block_bytes", std::to_string(codec.block_bytes)};
  switch (codec.kind) {
    case CodecKind::kZlib:
      return {level};
    case CodecKind::kShuffle:
      return {element_bytes};
    case CodecKind::kZstd:
      return {level, {"checksum", codec.checksum ? "1" : "0"}};
    case CodecKind::kHdf5Lz4:
      return {block_bytes};
    case CodecKind::kBlosc:
      return {{"compressor", codec.compressor},
              level,
              {"shuffle", std::to_string(codec.shuffle)},
              element_bytes,
              block_bytes};
    default:
      return {};
  }
}

void check_chunks(const NewArray& array, const Shape& chunks) {
  const bool is_fit = chunks.size() == array.shape.size() && !chunks.empty() &&
                      std::all_of(chunks.begin(), chunks.end(), [](int64_t length) { return length > 0; });
  if (!is_fit) {
    fail_argument("chunks=" + tuple_text(chunks) + ": expected a positive length for each dimension of " +
                  tuple_text(array.shape));
  }
  for (size_t axis = 0; axis < chunks.size(); ++axis) {
    const bool has_limit = axis < array.maxshape.size();
    if (array.grows(axis) || array.shape[axis] == 0 || (has_limit && !array.maxshape[axis])) continue;
    const int64_t longest = std::max(array.shape[axis], has_limit ? *array.maxshape[axis] : 0);
    if (chunks[axis] <= longest) continue;
    fail_argument("chunks=" + tuple_text(chunks) + ": a chunk of HDF5 is no longer than a dimension may become, and " +
                  "dimension " + std::to_string(axis) + " of " + tuple_text(array.shape) + " has at most " +
                  std::to_string(longest) + " elements");
  }
}

}  // namespace

std::vector<Codec> codecs_of_new(const NewArray& array) {
  const std::vector<Codec> codecs = array.codecs.value_or(std::vector<Codec>{});
  const auto place_of = [&](const auto& is_meant) { return std::find_if(codecs.begin(), codecs.end(), is_meant); };
  for (const Codec& codec : codecs) {
    const auto same = std::count_if(codecs.begin(), codecs.end(), [&](const Codec& o) { return o.kind == codec.kind; });
    if (same > 1) fail_argument("codecs: HDF5 has each filter once at most, not " + names_of(codecs));
  }
  const auto compressor = place_of([](const Codec& one) { return is_compressor(one.kind); });
  const auto shuffle = place_of([](const Codec& one) { return one.kind == CodecKind::kShuffle; });
  if (shuffle != codecs.end() && shuffle > compressor) {
    fail_argument("codecs: shuffle helps the compressor that follows it; put it before " +
                  filter_name(compressor->kind));
  }
  for (const Codec& codec : codecs) check_is_filter(codec.kind);
  return codecs;
}

std::optional<Shape> chunks_of_new(const NewArray& array) {
  if (array.shards) fail_argument("shards=: HDF5 has none; leave it out, or create a .zarr store");
  if (array.chunks) {
    check_chunks(array, *array.chunks);
    return array.chunks;
  }
  const bool has_codecs = array.codecs && !array.codecs->empty();
  if (has_codecs && array.shape.empty()) fail_argument("codecs=: HDF5 stores a scalar as it is; leave them out");
  if (has_codecs) return default_chunks(array.shape, array.type.bytes, kCodedChunkBytes);
  if (array.may_grow()) return default_chunks(array.shape, array.type.bytes, kGrowingChunkBytesMax);
  return std::nullopt;
}

std::optional<Shape> chunks_of_rows(const NewArray& array) {
  if (array.chunks || array.shards || !array.grows()) return chunks_of_new(array);
  Shape first = array.shape;
  for (size_t axis = 0; axis < first.size(); ++axis) {
    if (array.grows(axis)) first[axis] = 0;
  }
  const bool has_codecs = array.codecs && !array.codecs->empty();
  return default_chunks(first, array.type.bytes, has_codecs ? kCodedChunkBytes : kGrowingChunkBytesMax);
}

void set_storage(hid_t properties, const NewArray& array, const std::optional<Shape>& chunks) {
  const Library& all = library();
  const std::vector<Codec> codecs = codecs_of_new(array);
  if (chunks) {
    const std::vector<hsize_t> lengths(chunks->begin(), chunks->end());
    checked(all.H5Pset_chunk(properties, static_cast<int>(lengths.size()), lengths.data()));
  } else {
    checked(all.H5Pset_layout(properties, H5D_CONTIGUOUS));
  }
  for (const Codec& codec : codecs) set_filter(properties, codec);
  if (!codecs.empty() || array.may_grow()) {
    checked(all.H5Pset_alloc_time(properties, H5D_ALLOC_TIME_INCR));  // a chunk is stored at its first write
  } else if (!array.type.is_text()) {  // texts are stored elsewhere, and the library writes them
    checked(all.H5Pset_alloc_time(properties, H5D_ALLOC_TIME_EARLY));
    checked(all.H5Pset_fill_time(properties, H5D_FILL_TIME_NEVER));  // otherwise the library would write every element
  }
}

void check_kept(hid_t properties, const std::vector<Codec>& codecs) {
  const auto kept = codecs_of(filters_of(properties));
  if (!kept || kept->size() != codecs.size()) return;
  for (size_t i = 0; i < codecs.size(); ++i) {
    const Settings wanted = settings_of(codecs[i]);
    const Settings stored = settings_of((*kept)[i]);
    for (size_t j = 0; j < wanted.size() && j < stored.size(); ++j) {
      if (wanted[j] == stored[j]) continue;
      fail_argument("codecs: HDF5's " + to_string(codecs[i].kind) + " keeps no " + wanted[j].first + "=" +
                    wanted[j].second + "; leave it out, or create a .zarr store");
    }
  }
}

}  // namespace swath::formats::hdf5
