// Allocates space in the file for coded chunks of one array, if the file keeps a chunk table.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "array/chunk_writing.h"
#include "files/file_changes.h"

namespace swath {

// Used on rank 0, by a write of the array.
class ChunkRoom final : public ChunkAllocator {
 public:
  ChunkRoom(std::shared_ptr<FileChanges> changes, std::string variable);

  std::vector<int64_t> place(const Shape& shape, std::span<const NewChunk> chunks) override;
  void keep() override;
  void undo() override;

 private:
  const std::shared_ptr<FileChanges> changes_;
  const std::string variable_;
  std::optional<Mark> mark_;  // set before the first chunk of this write
};

}  // namespace swath
