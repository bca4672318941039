#include "files/chunk_room.h"

#include <utility>

namespace swath {

ChunkRoom::ChunkRoom(std::shared_ptr<FileChanges> changes, std::string variable)
    : changes_(std::move(changes)), variable_(std::move(variable)) {}

std::vector<int64_t> ChunkRoom::place(const Shape& shape, std::span<const NewChunk> chunks) {
  return changes_->change([&](formats::FormatFile& file) {
    if (!mark_) mark_ = changes_->mark();
    return file.place_chunks(variable_, shape, chunks);
  });
}

void ChunkRoom::keep() {
  if (!mark_) return;
  changes_->checkpoint_written();
  changes_->written(formats::Room::kChunks, variable_);
  mark_.reset();  // else it is taken back
}

void ChunkRoom::undo() {
  if (mark_) changes_->undo(std::exchange(mark_, std::nullopt));
}

}  // namespace swath
