#include "files/data_file_chunks.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "files/file_array.h"
#include "files/first_rank.h"
#include "formats/format.h"
#include "formats/serialise.h"

namespace swath {

DataFile::Chunks::Chunks(DataFile& file, const formats::Description& array)
    : file_(file.weak_from_this()), path_(array.variable.value_or("")) {}

std::vector<int64_t> DataFile::Chunks::place(std::span<const NewChunk> chunks) {
  const auto file = file_.lock();
  formats::FormatFile& metadata = file->metadata_to_change();
  if (!mark_) mark_ = file->changes_->mark();
  return metadata.place_chunks(path_, file->arrays_.at(path_)->shape(), chunks);
}

void DataFile::Chunks::keep() {
  mark_.reset();
  const auto file = file_.lock();
  file->checkpoint_written();
  if (file->metadata_ != nullptr) file->metadata_->written(formats::Room::kChunks, path_);
}

// What is known of the file is not true any more.
void DataFile::Chunks::undo() {
  if (!mark_) return;
  const auto file = file_.lock();
  file->metadata_.reset();
  file->changes_->undo(*std::exchange(mark_, std::nullopt));
}

formats::Description DataFile::allocated(const FileArray& array) {
  return formats::parse_description(on_first_rank(*comm_, words("allocate " + array.path()), [&] {
    formats::Description found = metadata_to_change().allocate(array.path());
    checkpoint_written();
    return formats::serialise(found);
  }));
}

bool may_have_chunk_table(const formats::Description& description) {
  const auto* coded = std::get_if<formats::CodedLayout>(&description.places);
  return coded != nullptr && std::holds_alternative<ChunkTable>(coded->places);
}

bool has_absent_chunks(const formats::Description& description) {
  const auto* chunked = std::get_if<formats::ChunkedLayout>(&description.places);
  if (chunked == nullptr) return false;
  return description.stored_shape ||
         std::any_of(chunked->offsets.begin(), chunked->offsets.end(), [](int64_t offset) { return offset < 0; });
}

}  // namespace swath
