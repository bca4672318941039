#include "formats/hdf5/layout.h"

#include <algorithm>
#include <limits>

#include "base/error.h"

namespace swath::formats::hdf5 {
namespace {

constexpr int64_t kBeyond = std::numeric_limits<int64_t>::max();
// The most chunks of a dataset; their table takes 4 GiB. A false shape must not allocate unlimited memory.
constexpr int64_t kChunksMax = int64_t{1} << 25;

// Returns the largest number if the product is beyond 64 bits.
int64_t product(int64_t first, const Shape& lengths) {
  int64_t all = first;
  if (std::find(lengths.begin(), lengths.end(), 0) != lengths.end()) return 0;
  for (const int64_t length : lengths) {
    if (__builtin_mul_overflow(all, length, &all)) return kBeyond;
  }
  return all;
}

// The number of chunks along each dimension.
Shape grid_of(const Shape& shape, const Shape& chunks) {
  Shape grid;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (d >= chunks.size() || chunks[d] <= 0) throw CallError("its chunks have other dimensions than it has", 0);
    grid.push_back(shape[d] / chunks[d] + (shape[d] % chunks[d] != 0));
  }
  return grid;
}

std::string with_commas(int64_t number) {
  std::string text = std::to_string(number);
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3)
    text.insert(static_cast<size_t>(at), ",");
  return text;
}

uint64_t user_block_bytes(const OpenFile& file) {
  const Handle properties(library().H5Fget_create_plist(file.id()));
  hsize_t bytes = 0;
  checked(library().H5Pget_userblock(properties.get(), &bytes));
  return bytes;
}

// ---- Why the library must be asked ----------------------------------------------------------------------------------

using Reason = std::optional<std::string>;

Reason reason_of_storage(const Dataset& dataset) {
  switch (dataset.storage.layout) {
    case H5D_VIRTUAL:
      return "virtual dataset: its elements are those of other datasets";
    case H5D_COMPACT:
      return "compact dataset: its elements lie inside the metadata";
    case H5D_CONTIGUOUS:
    case H5D_CHUNKED:
      break;
    default:
      return "HDF5 has a storage layout of its kind (" + std::to_string(dataset.storage.layout) +
             "), and Swath has not";
  }
  if (checked(library().H5Pget_external_count(dataset.storage.properties.get())) > 0) {
    return "external storage: its elements lie in other files";
  }
  if (dataset.type.is_text()) return "text of variable length, which HDF5 keeps apart from its place";
  return std::nullopt;
}

Reason reason_of_filters(const Dataset& dataset) {
  const std::vector<Filter>& filters = dataset.storage.filters;
  if (filters.empty()) return std::nullopt;
  if (!dataset.storage.codecs) {
    std::string names;
    bool is_compressed = false;
    for (const Filter& filter : filters) {
      names += (names.empty() ? "" : ", ") + (filter.code == kDeflate ? "gzip" : filter.name);
      is_compressed = is_compressed || filter.code != kFletcher32;
    }
    return std::string("chunks are ") + (is_compressed ? "compressed" : "filtered") + " (" + names + ")";
  }
  unsigned options = 0;
  checked(library().H5Pget_chunk_opts(dataset.storage.properties.get(), &options));
  if (options == H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS) return "chunks at the edge are stored without filters";
  if (options != 0) return "chunks have options " + std::to_string(options);
  return std::nullopt;
}

// Whether HDF5 may report a chunk's coordinates in the order of its index, with the growing dimension first. This
// concerns datasets with a new header and one growing dimension: their index is an extensible array. As of HDF5 2.0.
bool turns_chunks_round(const Dataset& dataset) {
  const std::vector<bool> grows = unlimited_of(dataset.extent);
  return std::count(grows.begin(), grows.end(), true) == 1 && !grows[0] && object_info(dataset.id).hdr.version > 1;
}

// Whether an array of this shape has elements after the end of a shorter dataset that are in the dataset's last chunks.
bool ends_within_chunks(const Dataset& dataset, const Shape& shape) {
  const Shape& stored = dataset.extent.shape;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] > stored[d] && stored[d] % (*dataset.storage.chunks)[d] != 0) return true;
  }
  return false;
}

Reason reason_of_chunks(const Dataset& dataset, const Shape& shape) {
  if (!dataset.storage.chunks) return std::nullopt;
  const Library& all = library();
  if (all.H5Dget_chunk_info == nullptr && all.H5Dchunk_iter == nullptr) {
    return "this version of HDF5 does not say where chunks are";
  }
  if (all.version < Version{1, 14, 5} && user_block_bytes(dataset.file) > 0) {
    // https://github.com/HDFGroup/hdf5/issues/3003
    return "this version of HDF5 misreports where chunks are in a file with a user block";
  }
  if (turns_chunks_round(dataset)) {
    return "HDF5 misreports where chunks are that grow along another dimension than the first";
  }
  if (is_never_filled(dataset.storage.properties.get()) && ends_within_chunks(dataset, shape)) {
    return "it ends within chunks that are never filled, and its dimension is longer";
  }
  return std::nullopt;
}

// The reason why an array of this shape cannot be read by offsets; none if it can.
Reason library_reason(const Dataset& dataset, const Shape& shape) {
  if (auto reason = reason_of_storage(dataset)) return reason;
  if (dataset.storage.chunks) {
    const int64_t chunks = product(1, grid_of(shape, *dataset.storage.chunks));
    if (chunks > kChunksMax) return "it has " + with_commas(chunks) + " chunks: too many for a table of them";
  }
  if (auto reason = reason_of_filters(dataset)) return reason;
  const Handle stored(library().H5Dget_type(dataset.id));
  if (!is_stored_as_mapped(stored.get())) {
    return "elements are stored in a way that NumPy has no dtype for; HDF5 converts them";
  }
  return reason_of_chunks(dataset, shape);
}

// ---- Chunks ---------------------------------------------------------------------------------------------------------

struct StoredChunk {
  std::vector<hsize_t> first;  // the first element
  unsigned skipped;
  haddr_t offset;
  hsize_t bytes;
};

std::vector<StoredChunk> iterated_chunks(const Dataset& dataset) {
  struct State {
    size_t dimensions;
    std::vector<StoredChunk> found;
    Callback callback;
  } state{dataset.extent.shape.size(), {}, {}};
  const auto note = [](const hsize_t* first, unsigned skipped, haddr_t offset, hsize_t bytes, void* data) -> int {
    auto* to = static_cast<State*>(data);
    return to->callback.run([&] { to->found.push_back({{first, first + to->dimensions}, skipped, offset, bytes}); });
  };
  state.callback.finish(library().H5Dchunk_iter(dataset.id, H5P_DEFAULT, note, &state));
  return std::move(state.found);
}

// The chunks by index, for libraries before 1.14.
std::vector<StoredChunk> asked_chunks(const Dataset& dataset) {
  const Handle space(library().H5Dget_space(dataset.id));
  hsize_t count = 0;
  checked(library().H5Dget_num_chunks(dataset.id, space.get(), &count));
  std::vector<StoredChunk> found;
  for (hsize_t i = 0; i < count; ++i) {
    StoredChunk one{std::vector<hsize_t>(dataset.extent.shape.size()), 0, HADDR_UNDEF, 0};
    checked(library().H5Dget_chunk_info(dataset.id, space.get(), i, one.first.data(), &one.skipped, &one.offset,
                                        &one.bytes));
    found.push_back(std::move(one));
  }
  return found;
}

Shape as_shape(const std::vector<hsize_t>& lengths) { return {lengths.begin(), lengths.end()}; }

// The chunk's index in the table; none if the coordinates are false.
std::optional<size_t> place_of(const StoredChunk& chunk, const Shape& grid, const Shape& chunks) {
  if (chunk.offset >= static_cast<haddr_t>(kBeyond) || chunk.bytes >= static_cast<hsize_t>(kBeyond))
    return std::nullopt;
  size_t place = 0;
  for (size_t d = 0; d < grid.size(); ++d) {
    const hsize_t at = chunk.first[d] / static_cast<hsize_t>(chunks[d]);
    if (at >= static_cast<hsize_t>(grid[d])) return std::nullopt;
    place = place * static_cast<size_t>(grid[d]) + at;
  }
  return place;
}

// Whether the chunk has only rows that were added after the shape was read: by an SWMR writer, or by a process that
// extended the dataset.
bool is_of_longer_dataset(const Dataset& dataset, const Shape& shape, const StoredChunk& chunk) {
  const Shape& stored = dataset.extent.shape;
  for (size_t d = 0; d < shape.size(); ++d) {
    const int64_t end = std::min(shape[d], stored[d]);
    const bool may_be = dataset.file.is_swmr() || shape[d] < stored[d];
    if (may_be && chunk.first[d] >= static_cast<hsize_t>(end)) return true;
  }
  return false;
}

// Throws Error{kFormat} if two chunks share bytes: HDF5 never does this, so the index is damaged, and the offsets in it
// are not reliable. With an SWMR writer an index may temporarily look so, too.
void refuse_overlaps(const Dataset& dataset, std::vector<StoredChunk> chunks) {
  if (dataset.file.is_swmr()) return;
  const auto is_before = [](const StoredChunk& a, const StoredChunk& b) { return a.offset < b.offset; };
  if (!std::is_sorted(chunks.begin(), chunks.end(), is_before)) std::sort(chunks.begin(), chunks.end(), is_before);
  for (size_t i = 1; i < chunks.size(); ++i) {
    const StoredChunk &before = chunks[i - 1], &next = chunks[i];
    if (before.bytes == 0 || before.offset + before.bytes <= next.offset) continue;
    throw Error(ErrorKind::kFormat,
                dataset.name + ": the file is damaged: its chunk of element " +
                    swath::to_string(as_shape(before.first)) + " has the bytes from " + std::to_string(before.offset) +
                    " to " + std::to_string(before.offset + before.bytes) + ", and that of element " +
                    swath::to_string(as_shape(next.first)) + " begins at " + std::to_string(next.offset));
  }
}

std::vector<int64_t> strides_of(const Dataset& dataset) {
  const Shape& shape = dataset.extent.shape;
  std::vector<int64_t> strides(shape.size());
  int64_t step = dataset.type.bytes;
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = step;
    if (__builtin_mul_overflow(step, std::max<int64_t>(shape[d], 1), &step)) {
      throw Error(ErrorKind::kFormat, dataset.name + ": the header cannot be true: an array of shape " +
                                          swath::to_string(shape) + " and " + std::to_string(dataset.type.bytes) +
                                          "-byte elements is beyond 64-bit offsets");
    }
  }
  return strides;
}

}  // namespace

Dataset open_dataset(const OpenFile& file, hid_t id, const std::string& name) {
  Dataset found{.file = file, .id = id, .name = name};
  found.type = element_type_of(name, id);
  found.extent = extent_of(id);
  found.storage = storage_of(id);
  return found;
}

ChunkTable chunk_table(const Dataset& dataset, const Shape& shape) {
  const Shape& chunks = *dataset.storage.chunks;
  const Shape grid = grid_of(shape, chunks);
  const auto count = static_cast<size_t>(product(1, grid));
  ChunkTable table{std::vector<int64_t>(count, -1), std::vector<int64_t>(count, 0), std::vector<uint32_t>(count, 0)};
  const bool iterates = library().H5Dchunk_iter != nullptr;
  std::vector<StoredChunk> stored = iterates ? iterated_chunks(dataset) : asked_chunks(dataset);
  for (const StoredChunk& chunk : stored) {
    if (is_of_longer_dataset(dataset, shape, chunk)) continue;
    const auto place = place_of(chunk, grid, chunks);
    if (!place) {
      throw Error(ErrorKind::kFormat, dataset.name + ": the file places a chunk of element " +
                                          swath::to_string(as_shape(chunk.first)) + " at byte " +
                                          std::to_string(chunk.offset) + ", but the array has shape " +
                                          swath::to_string(shape) + " and chunks of " + swath::to_string(chunks));
    }
    table.offsets[*place] = static_cast<int64_t>(chunk.offset);
    table.bytes[*place] = static_cast<int64_t>(chunk.bytes);
    table.skipped[*place] = chunk.skipped;
  }
  refuse_overlaps(dataset, std::move(stored));
  return table;
}

bool has_user_block(const OpenFile& file) { return user_block_bytes(file) > 0; }

StorageLayout layout_of(const Dataset& dataset, const Shape& shape) {
  const Storage& storage = dataset.storage;
  if (const Reason reason = library_reason(dataset, shape)) {
    return LibraryLayout{*reason, storage.chunks, storage.codecs};
  }
  if (!storage.filters.empty()) {  // also without elements: new rows will be coded
    return CodedLayout{dataset.file.path(), *storage.chunks, c_order(shape.size()), *storage.codecs,
                       chunk_table(dataset, shape)};
  }
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return StridedLayout{0, strides_of(dataset)};
  if (storage.chunks) return ChunkedLayout{*storage.chunks, chunk_table(dataset, shape).offsets};
  const haddr_t offset = library().H5Dget_offset(dataset.id);
  // With a user block, HDF5 adds its length to the address of a dataset without storage: the result is in the block. A
  // dataset that is not allocated yet is described as one chunk that is not stored.
  if (offset == HADDR_UNDEF || offset < user_block_bytes(dataset.file)) {
    return ChunkedLayout{dataset.extent.shape, {-1}};
  }
  if (offset > static_cast<haddr_t>(kBeyond)) throw CallError("its elements are beyond 64-bit offsets", 0);
  return StridedLayout{static_cast<int64_t>(offset), strides_of(dataset)};
}

int64_t end_of(const Dataset& dataset, const StorageLayout& layout) {
  const auto behind = [](int64_t begin, int64_t bytes) {
    int64_t end = 0;
    return __builtin_add_overflow(begin, bytes, &end) ? kBeyond : end;
  };
  if (const auto* strided = std::get_if<StridedLayout>(&layout)) {
    return behind(strided->offset, product(dataset.type.bytes, dataset.extent.shape));
  }
  if (const auto* chunked = std::get_if<ChunkedLayout>(&layout)) {
    const auto last = std::max_element(chunked->offsets.begin(), chunked->offsets.end());
    if (last == chunked->offsets.end() || *last < 0) return 0;
    return behind(*last, product(dataset.type.bytes, chunked->chunk_shape));
  }
  const auto* coded = std::get_if<CodedLayout>(&layout);
  const auto* table = coded == nullptr ? nullptr : std::get_if<ChunkTable>(&coded->places);
  int64_t end = 0;
  for (size_t i = 0; table != nullptr && i < table->offsets.size(); ++i) {
    end = std::max(end, behind(table->offsets[i], table->bytes[i]));
  }
  return end;
}

}  // namespace swath::formats::hdf5
