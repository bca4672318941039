#include "formats/hdf5/growing.h"

#include <fcntl.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/error.h"
#include "formats/choose.h"
#include "formats/contents.h"
#include "formats/files.h"
#include "formats/hdf5/chunk_room.h"
#include "formats/hdf5/dataset.h"
#include "formats/hdf5/filters.h"
#include "formats/hdf5/layout.h"
#include "formats/hdf5/names.h"
#include "formats/hdf5/reading.h"
#include "formats/hdf5/types.h"
#include "store/file_calls.h"

namespace swath::formats::hdf5 {
namespace {

std::atomic<bool (*)()> filter_provider = nullptr;

constexpr int64_t kKeptBlock = int64_t{16} << 10;
constexpr size_t kLookedUpMax = 8;  // up to this many chunks are looked up one by one, instead of a list of all

std::vector<hsize_t> as_lengths(const Shape& shape) { return {shape.begin(), shape.end()}; }

// The names of a dataset's filters that the library lacks.
std::string missing_filters(hid_t dataset) {
  const Handle properties(library().H5Dget_create_plist(dataset));
  std::string missing;
  for (const Filter& filter : filters_of(properties.get())) {
    if (library().H5Zfilter_avail(filter.code) > 0) continue;
    missing += (missing.empty() ? "" : ", ") + std::to_string(filter.code) + " (" + filter.name + ")";
  }
  return missing;
}

// Runs `work`, in which the library may code chunks. Throws Error{kUnsupported} if the library lacks a filter that it
// needs.
template <typename Work>
void with_filters(const std::string& name, hid_t dataset, const Work& work) {
  try {
    work();
  } catch (const CallError&) {
    const std::string missing = missing_filters(dataset);
    if (missing.empty()) throw;
    throw MissingFilter(ErrorKind::kUnsupported,
                        name + ": HDF5 needs filter " + missing +
                            " for its chunks, and has it not: pip install hdf5plugin, which has most of those that are "
                            "registered, or name the folder of the filter in HDF5_PLUGIN_PATH");
  }
}

// ---- Longer datasets ------------------------------------------------------------------------------------------------

// Writes one value to a box.
void fill_box(hid_t dataset, const Shape& first, const Shape& counts, const std::vector<std::byte>& value) {
  const Library& all = library();
  const Handle stored(all.H5Dget_type(dataset));
  const Handle in_memory = memory_type(stored.get());
  const std::vector<std::byte> values = repeated(value, element_count(counts));
  if (first.empty()) {
    checked(all.H5Dwrite(dataset, in_memory.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()));
    return;
  }
  const std::vector<hsize_t> start = as_lengths(first);
  const std::vector<hsize_t> lengths = as_lengths(counts);
  const Handle in_file(all.H5Dget_space(dataset));
  checked(all.H5Sselect_hyperslab(in_file.get(), H5S_SELECT_SET, start.data(), nullptr, lengths.data(), nullptr));
  const Handle packed(all.H5Screate_simple(static_cast<int>(lengths.size()), lengths.data(), nullptr));
  checked(all.H5Dwrite(dataset, in_memory.get(), packed.get(), in_file.get(), H5P_DEFAULT, values.data()));
}

// Calls `take` with each box of [low, high) that is in one chunk.
template <typename Take>
void for_each_piece(const Shape& low, const Shape& high, const Shape& chunks, const Take& take) {
  for (size_t d = 0; d < low.size(); ++d) {
    if (low[d] >= high[d]) return;
  }
  Shape at = low;
  for (;;) {
    Shape counts(at.size());
    for (size_t d = 0; d < at.size(); ++d) counts[d] = std::min(high[d], (at[d] / chunks[d] + 1) * chunks[d]) - at[d];
    take(at, counts);
    size_t d = at.size();
    while (d-- > 0) {
      at[d] += counts[d];
      if (at[d] < high[d]) break;
      at[d] = low[d];
    }
    if (d == ~size_t{0}) return;
  }
}

// Fills the new part of a longer dataset, if HDF5 must never fill.
void fill_new_rows(const Dataset& dataset, const Shape& before, const Shape& after) {
  const std::vector<std::byte> fill = fill_of(dataset.id, dataset.type);
  for (size_t axis = 0; axis < before.size(); ++axis) {
    Shape low(before.size(), 0);
    low[axis] = before[axis];
    Shape high = before;
    std::copy(after.begin() + static_cast<std::ptrdiff_t>(axis), after.end(),
              high.begin() + static_cast<std::ptrdiff_t>(axis));
    for_each_piece(low, high, *dataset.storage.chunks,
                   [&](const Shape& first, const Shape& counts) { fill_box(dataset.id, first, counts, fill); });
  }
}

void set_extent(hid_t dataset, const Shape& shape) {
  const std::vector<hsize_t> lengths = as_lengths(shape);
  checked(library().H5Dset_extent(dataset, lengths.data()));
}

// Extends a dataset to at least this shape along the dimensions that grow. New elements have the fill value.
void grow(const OpenFile& file, hid_t id, const Shape& shape) {
  const Extent extent = extent_of(id);
  Shape after = extent.shape;
  for (size_t axis = 0; axis < after.size(); ++axis) {
    if (extent.is_unlimited(axis)) after[axis] = std::max(after[axis], shape[axis]);
  }
  if (after == extent.shape) return;
  set_extent(id, after);
  const Storage storage = storage_of(id);
  if (!storage.chunks || !is_never_filled(storage.properties.get())) return;
  const Dataset dataset = open_dataset(file, id, file.path() + ":" + shown_name(name_of(id)));
  if (!dataset.type.is_text()) fill_new_rows(dataset, extent.shape, after);
}

// ---- Chunks that are not coded --------------------------------------------------------------------------------------

// Rows [first, last) that the caller writes next: chunks of these rows only are allocated, but not written.
struct WrittenRows {
  int64_t first = 0;
  int64_t last = 0;

  // Whether all elements of a chunk are in rows that the caller writes next. Elements after the end of another
  // dimension that grows are not written.
  bool hold(const Shape& chunk, const Dataset& dataset) const {
    const Shape& lengths = *dataset.storage.chunks;
    for (size_t d = 1; d < chunk.size(); ++d) {
      if (chunk[d] + lengths[d] > dataset.extent.shape[d] && dataset.extent.may_grow(d)) return false;
    }
    return first <= chunk[0] && chunk[0] + lengths[0] <= last;
  }
};

// The first element of each chunk that is not stored.
std::vector<Shape> absent_chunks(const ChunkedLayout& layout, const Shape& shape) {
  std::vector<Shape> found;
  for (size_t i = 0; i < layout.offsets.size(); ++i) {
    if (layout.offsets[i] >= 0) continue;
    Shape first = coordinates_of(shape, layout.chunk_shape, static_cast<int64_t>(i));
    for (size_t d = 0; d < first.size(); ++d) first[d] *= layout.chunk_shape[d];
    found.push_back(std::move(first));
  }
  return found;
}

// The offsets of all chunks after the absent ones were stored.
std::vector<int64_t> offsets_after(const Dataset& dataset, const ChunkedLayout& before, const Shape& shape,
                                   size_t absent) {
  const auto look_up = library().H5Dget_chunk_info_by_coord;
  if (absent > kLookedUpMax || look_up == nullptr || has_user_block(dataset.file)) {
    return chunk_table(dataset, shape).offsets;
  }
  std::vector<int64_t> offsets = before.offsets;
  for (size_t i = 0; i < offsets.size(); ++i) {
    if (offsets[i] >= 0) continue;
    Shape first = coordinates_of(shape, before.chunk_shape, static_cast<int64_t>(i));
    for (size_t d = 0; d < first.size(); ++d) first[d] *= before.chunk_shape[d];
    const std::vector<hsize_t> at = as_lengths(first);
    unsigned skipped = 0;
    haddr_t offset = HADDR_UNDEF;
    hsize_t bytes = 0;
    checked(look_up(dataset.id, at.data(), &skipped, &offset, &bytes));
    offsets[i] = static_cast<int64_t>(offset);
  }
  return offsets;
}

// Stores the absent chunks: filled, or, for rows that the caller writes next, only allocated.
void store_chunks(JournalledFile& stored, const Dataset& dataset, Description& description,
                  const std::optional<WrittenRows>& written) {
  auto& layout = std::get<ChunkedLayout>(description.layout);
  const std::vector<Shape> absent = absent_chunks(layout, description.shape);
  if (absent.empty()) return;
  need_direct_writes(description.path);
  const int64_t bytes = element_count(layout.chunk_shape) * dataset.type.bytes;
  const BlankMemory blank(bytes);
  stored.set_blank(blank.address());
  std::vector<std::byte> filled;
  for (const Shape& first : absent) {
    if (written && written->hold(first, dataset)) {
      write_chunk(dataset.id, first, 0, bytes, blank.address());
    } else {
      if (filled.empty()) filled = repeated(description.fill, element_count(layout.chunk_shape));
      write_chunk(dataset.id, first, 0, bytes, filled.data());
    }
  }
  stored.set_blank(nullptr);
  stored.take_blank_ranges();
  layout.offsets = offsets_after(dataset, layout, description.shape, absent.size());
  description.end = end_of(dataset, description.layout);
}

// Keeps the old bytes of rows [begin, end) in chunks that exist: an undo of the rows needs them. They are kept in
// blocks: later rows are often in the same block, and a block that was kept already needs no sync.
void keep_rows(Changes& changes, const ChunkedLayout& before, const Description& after, FileRange rows) {
  if (rows.end <= rows.begin || !changes.is_durable()) return;
  const int64_t in_chunk = before.chunk_shape.front();
  const int64_t chunk_bytes = element_count(before.chunk_shape) * after.type.bytes;
  const int64_t row_bytes = chunk_bytes / in_chunk;
  const int64_t chunks_high = (after.shape.front() + in_chunk - 1) / in_chunk;
  const auto chunks_wide = std::ssize(before.offsets) / std::max<int64_t>(chunks_high, 1);
  std::vector<KeptRange> ranges;
  for (int64_t number = rows.begin / in_chunk; number < std::min((rows.end - 1) / in_chunk + 1, chunks_high);
       ++number) {
    const int64_t first = std::max<int64_t>(rows.begin - number * in_chunk, 0) * row_bytes;
    const int64_t last = std::min(rows.end - number * in_chunk, in_chunk) * row_bytes;
    for (int64_t i = number * chunks_wide; i < (number + 1) * chunks_wide; ++i) {
      const int64_t at = before.offsets[static_cast<size_t>(i)];
      for (int64_t block = first / kKeptBlock * kKeptBlock; at >= 0 && block < last; block += kKeptBlock) {
        ranges.push_back({at + block, std::min(kKeptBlock, chunk_bytes - block)});
      }
    }
  }
  if (ranges.empty()) return;
  const Descriptor file = store_errors(changes.path(), "read what is to be changed",
                                       [&] { return file_calls::open_file(changes.path(), O_RDONLY); });
  changes.keep_all(file.get(), ranges);
}

Handle growing_dataset(const OpenFile& file, const std::string& variable) {
  Handle found = dataset_called(file, variable);
  const Extent extent = found.is_open() ? extent_of(found.get()) : Extent{};
  if (extent.shape.empty() || !extent.is_unlimited(0)) {
    fail_argument(file.path() + ": no variable '" + variable + "' grows along its first dimension");
  }
  return found;
}

}  // namespace

void set_filter_provider(bool (*provide)()) { filter_provider = provide; }

bool provide_filters() {
  const auto provide = filter_provider.load();
  return provide != nullptr && provide();
}

Description extend(ChangedFile& changed, const std::string& variable, const NewRows& wanted, const Seen& seen) {
  const int64_t rows = wanted.rows;
  Description found;
  int64_t before = 0;
  std::optional<ChunkedLayout> chunks;
  changed.change([&](const OpenFile& file) {
    const Handle opened = growing_dataset(file, variable);
    const hid_t id = opened.get();
    Shape shape = extent_of(id).shape;
    before = shape.front();
    const int64_t first = wanted.written_from ? std::min(std::max(*wanted.written_from, before), rows) : rows;
    for (size_t axis = 1; axis < shape.size() && axis < seen.shape.size(); ++axis) shape[axis] = seen.shape[axis];
    shape.front() = first;
    with_filters(file.path() + ":" + variable, id, [&] {
      grow(file, id, shape);
      Shape now = extent_of(id).shape;
      if (std::exchange(now.front(), rows) != rows) set_extent(id, now);
    });
    const Shape now = extent_of(id).shape;
    wanted.written_from ? changed.expect(Room::kRows, variable) : changed.written(Room::kRows, variable);
    const std::string name(shown_name(name_of(id)));
    found = describe_open(file, id, {{name, {now, seen.dimensions}}});
    const auto* layout = std::get_if<ChunkedLayout>(&found.layout);
    if (layout == nullptr) return;
    chunks = *layout;
    const auto written = wanted.written_from ? std::optional(WrittenRows{first, rows}) : std::nullopt;
    store_chunks(changed.stored(), open_dataset(file, id, name), found, written);
  });
  if (chunks) keep_rows(changed.changes(), *chunks, found, {before, rows});
  formats::extend(changed.path(), found.end);
  return found;
}

void set_length(ChangedFile& changed, const std::string& dimension, int64_t rows) {
  const auto [group, name] = group_and_name(without_slashes(dimension));
  changed.change([&](const OpenFile& file) {
    const Scales scales(file, changed.dimensions());
    Handle scale = scales.find(group, name);
    if (!scale.is_open() || !extent_of(scale.get()).is_unlimited(0)) {
      fail_argument(file.path() + ": there is no dimension '" + dimension + "' that grows");
    }
    std::vector<Scales::User> along = scales.users(scale.get());
    along.insert(along.begin(), {std::move(scale), 0});
    for (const Scales::User& one : along) {
      Shape shape = extent_of(one.dataset.get()).shape;
      if (shape[one.axis] >= rows) continue;
      shape[one.axis] = rows;
      with_filters(file.path() + ":" + shown_name(name_of(one.dataset.get())), one.dataset.get(),
                   [&] { grow(file, one.dataset.get(), shape); });
    }
  });
}

Description allocate(ChangedFile& changed, const Description& description) {
  const auto* layout = std::get_if<ChunkedLayout>(&description.layout);
  const bool has_absent =
      layout != nullptr && (description.stored_shape ||
                            std::any_of(layout->offsets.begin(), layout->offsets.end(), [](auto o) { return o < 0; }));
  if (!has_absent) return description;
  const std::string variable = description.variable.value_or("");
  Description found;
  changed.change([&](const OpenFile& file) {
    const Handle opened = dataset_called(file, variable);
    const hid_t id = opened.get();
    grow(file, id, description.shape);
    const Dataset dataset = open_dataset(file, id, description.name());
    if (dataset.storage.chunks) {
      found = description;
      found.stored_shape.reset();
      found.layout = layout_of(dataset, description.shape);
      if (std::holds_alternative<ChunkedLayout>(found.layout)) {
        store_chunks(changed.stored(), dataset, found, std::nullopt);
      }
    } else {
      // one element is enough: the library fills the others
      const Shape first(description.shape.size(), 0);
      fill_box(id, first, Shape(first.size(), 1), description.fill);
    }
    found = describe_open(file, id, {{variable, {description.shape, description.dimensions}}});
  });
  formats::extend(changed.path(), found.end);
  return found;
}

std::vector<int64_t> place_chunks(ChangedFile& changed, const std::string& variable, const Shape& shape,
                                  std::span<const NewChunk> chunks) {
  int64_t longest = 0;
  for (const NewChunk& chunk : chunks) longest = std::max(longest, chunk.bytes);
  const BlankMemory blank(longest + 1);
  std::vector<int64_t> offsets;
  changed.change([&](const OpenFile& file) {
    need_direct_writes(file.path());
    const Handle dataset = dataset_called(file, variable);
    if (!dataset.is_open()) fail_argument(file.path() + ": there is no variable '" + variable + "'");
    grow(file, dataset.get(), shape);
    const Storage storage = storage_of(dataset.get());
    JournalledFile& stored = changed.stored();
    stored.take_blank_ranges();
    stored.set_blank(blank.address());
    for (const NewChunk& chunk : chunks) {
      Shape first = chunk.at;
      for (size_t d = 0; d < first.size(); ++d) first[d] *= (*storage.chunks)[d];
      // HDF5 records the skipped filters only if the size changes.
      if (chunk.is_recoded) write_chunk(dataset.get(), first, chunk.skipped, chunk.bytes + 1, blank.address());
      write_chunk(dataset.get(), first, chunk.skipped, chunk.bytes, blank.address());
      const std::vector<KeptRange> room = stored.take_blank_ranges();
      if (room.size() != (chunk.is_recoded ? 2 : 1) || room.back().bytes != chunk.bytes) {
        if (stored.failure()) return;  // the failure is thrown at the end of the change
        throw Error(ErrorKind::kInternal,
                    file.path() + ": HDF5 has not written a chunk of " + variable + " in one piece");
      }
      offsets.push_back(room.back().offset);
    }
    stored.set_blank(nullptr);
    changed.expect(Room::kChunks, variable);
  });
  return offsets;
}

}  // namespace swath::formats::hdf5
