// An open file, for any number of arrays and threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "array/shared_engine.h"

namespace swath {

class File {
 public:
  // `make`: an engine of the open file `path` (store/engine.h, open_for_engines).
  File(std::string path, SharedEngine::Make make);
  // A folder whose files are chunks.
  explicit File(std::string folder) : path_(std::move(folder)) {}

  const std::string& path() const { return path_; }
  // Of what moves the bytes: "posix", "chunks", …
  std::string engine_name();
  // Throws Error{kInternal} for a folder.
  SharedEngine& engine();

  int64_t size() { return engine().lease()->size(); }
  // Bytes as they are, of this rank alone. Of what lies beyond the end none are read: how many were.
  int64_t read(int64_t offset, std::span<std::byte> bytes);
  // The file grows to hold them.
  void write(int64_t offset, std::span<const std::byte> bytes);

  // When it returns, what this node has written is on the medium; of a folder with one call, however many files.
  void sync();

 private:
  std::string path_;
  std::optional<SharedEngine> engine_;
};

}  // namespace swath
