// Who gives the coded chunks of an open file's arrays their places, where the file keeps a table of them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "array/chunk_writing.h"
#include "files/data_file.h"
#include "formats/description.h"
#include "journal/changes.h"

namespace swath {

// Used on rank 0, by a write of the array.
class DataFile::Chunks final : public ChunkAllocator {
 public:
  Chunks(DataFile& file, const formats::Description& array);

  std::vector<int64_t> place(std::span<const NewChunk> chunks) override;
  void keep() override;
  void undo() override;

 private:
  const std::weak_ptr<DataFile> file_;
  const std::string path_;
  std::optional<Mark> mark_;  // before the first chunk of this write
};

// Whether chunks of an array have places in its file, now or when they are coded.
bool may_have_chunk_table(const formats::Description& description);
// Whether a write of it must have its chunks placed first, or the dataset made longer.
bool has_absent_chunks(const formats::Description& description);

}  // namespace swath
