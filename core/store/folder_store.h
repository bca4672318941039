// Files of a folder as objects of a store, each read in part and replaced as a whole: chunks and shards of an array.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/descriptor.h"
#include "store/engine.h"
#include "store/stream.h"

namespace swath {

// A file open for reading, for any number of threads: each moves its bytes by engines of its own.
class StoredFile {
 public:
  // Throws Error{kStore}: for errors of the system, and for anything but a regular file.
  StoredFile(const std::string& path, const EngineOptions& options);
  // Takes over an open file.
  StoredFile(Descriptor file, std::string path, const EngineOptions& options);

  const std::string& path() const { return path_; }
  int64_t bytes() const { return bytes_; }
  // Makes one more engine, for one thread at a time; cheap.
  std::unique_ptr<Engine> engine(Stream& stream) const { return stream.carry(make_(nullptr)); }

 private:
  const std::string path_;
  const MakeEngine make_;
  const int64_t bytes_;
};

class FolderStore {
 public:
  // The folder that has this name now, even if it is renamed later. `options` are for the engines of its files. Throws
  // Error{kStore}.
  FolderStore(std::string path, EngineOptions options);

  const std::string& path() const { return path_; }
  std::string path_of(const std::string& name) const { return path_ + "/" + name; }
  // Null if no file has that name. Throws as StoredFile does.
  std::shared_ptr<StoredFile> open(const std::string& name) const;

 private:
  friend class NewFile;

  const std::string path_;
  const EngineOptions options_;
  const Descriptor folder_;
};

// Puts all files below the folder, and their names, on the medium, by one call for all files. Throws Error{kStore}.
void sync_folder(const std::string& path);

}  // namespace swath
