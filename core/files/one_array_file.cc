#include "files/one_array_file.h"

#include <utility>

namespace swath {

OneArrayFile open(std::shared_ptr<Comm> comm, const std::string& path, const std::optional<std::string>& variable,
                  OpenMode mode, const DataFileOptions& options) {
  auto file = DataFile::open(std::move(comm), path, mode, options);
  try {
    auto array = file->array(variable);
    return {std::move(file), std::move(array)};
  } catch (...) {  // thrown on all ranks alike
    file->close();
    throw;
  }
}

OneArrayFile create(std::shared_ptr<Comm> comm, const std::string& path, const formats::NewArray& array,
                    const NewFileOptions& create, const DataFileOptions& options) {
  auto file = DataFile::create_with(std::move(comm), path, create, &array, options);
  auto made = file->array(array.variable);
  return {std::move(file), std::move(made)};
}

}  // namespace swath
