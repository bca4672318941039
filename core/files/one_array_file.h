// One array together with its file, opened and closed by one call. Formats that hold one array only work, too.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "files/data_file.h"
#include "files/file_array.h"
#include "formats/new_array.h"

namespace swath {

struct OneArrayFile {
  std::shared_ptr<DataFile> file;
  std::shared_ptr<FileArray> array;

  FileArray* operator->() const { return array.get(); }
  FileArray& operator*() const { return *array; }
  // Collective: see DataFile::close().
  void close() { file->close(); }
};

// Collective. `variable`: its path in the file; none: the file's only array. Throws as DataFile::open() does, and
// Error{kArgument} if there is no such variable.
OneArrayFile open(std::shared_ptr<Comm> comm, const std::string& path, const std::optional<std::string>& variable = {},
                  OpenMode mode = OpenMode::kRead, const DataFileOptions& options = {});

// Collective. A new file with one array in it. Throws as DataFile::create() does.
OneArrayFile create(std::shared_ptr<Comm> comm, const std::string& path, const formats::NewArray& array,
                    const NewFileOptions& create = {}, const DataFileOptions& options = {});

}  // namespace swath
