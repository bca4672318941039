// Functions of open files: contents, new arrays, sync, close.
#include <algorithm>
#include <utility>

#include "arguments.h"
#include "errors.h"
#include "formats/description.h"
#include "handles.h"
#include "plan/method.h"

namespace swath::c_interface {
namespace {

swath_file& file_given(swath_file* file) { return *given(file, "file"); }
const DataFile& file_given(const swath_file* file) { return *given(file, "file")->file; }

void refuse_of_array(const swath_file& file, const char* doing) {
  if (file.is_of_array) {
    fail_argument(std::string(doing) + " " + file.file->path() + ": the file belongs to its array: " + doing +
                  " that (swath_close, swath_discard)");
  }
}

// The handle of an array that belongs to its file. Each array has one handle.
swath_array* handle_of(swath_file& file, std::shared_ptr<FileArray> array) {
  const auto found = std::find_if(file.arrays.begin(), file.arrays.end(),
                                  [&](const auto& known_one) { return known_one->array == array; });
  if (found != file.arrays.end()) return found->get();
  auto handle = std::make_unique<swath_array>();
  array->set_method(file.method);
  handle->array = std::move(array);
  handle->file = &file;
  file.arrays.push_back(std::move(handle));
  return file.arrays.back().get();
}

// Discards the file on all ranks. When it returns on any rank, the file is removed: ranks agree after the removal.
void discard(std::unique_ptr<swath_file> file) {
  const std::shared_ptr<Comm> comm = file->comm;
  const std::string path = file->file->path();
  file.reset();
  agree_same(*comm, "discard " + path);
}

const std::string& numbered(const auto& list, int64_t number, const std::string& what) {
  if (number < 0 || number >= std::ssize(list)) {
    fail_argument(what + " " + std::to_string(number) + ": there are " + std::to_string(std::ssize(list)));
  }
  return list[static_cast<size_t>(number)].path;
}

}  // namespace
}  // namespace swath::c_interface

using namespace swath;
using namespace swath::c_interface;

int swath_file_sync(swath_file* file) {
  return guarded([&] { file_given(file).file->sync(); });
}

int swath_file_close(swath_file* file) {
  return guarded([&] {
    refuse_of_array(file_given(file), "close");
    const std::unique_ptr<swath_file> owned(file);
    owned->file->close();
  });
}

int swath_file_discard(swath_file* file) {
  return guarded([&] {
    refuse_of_array(file_given(file), "discard");
    discard(std::unique_ptr<swath_file>(file));
  });
}

// NOLINTNEXTLINE(readability-function-size)
int swath_define(swath_file* file, const char* variable, int ndim, const int64_t* shape, const char* const* dimensions,
                 const char* dtype, const swath_options* options, swath_array** array) {
  return guarded([&] {
    swath_file& handle = file_given(file);
    std::string method;
    const formats::NewArray wanted = parsed(*handle.comm, [&] {
      *given(array, "array") = nullptr;
      const swath_options known_options = known(options);
      method = known_options.method == nullptr ? handle.method : known_options.method;
      parse_choice(method);
      const NewArrayArguments arguments{given(variable, "variable"), ndim, shape, dimensions, dtype};
      return new_array(arguments, known_options, handle.file->contents().format());
    });
    *array = handle_of(handle, handle.file->add(wanted));
    (*array)->array->set_method(method);
  });
}

int swath_variable(swath_file* file, const char* name, swath_array** array) {
  return guarded([&] {
    swath_file& handle = file_given(file);
    const auto wanted = parsed(*handle.comm, [&] {
      *given(array, "array") = nullptr;
      return name == nullptr ? std::optional<std::string>() : std::optional<std::string>(name);
    });
    *array = handle_of(handle, handle.file->array(wanted));
  });
}

int swath_variable_count(const swath_file* file, int64_t* count) {
  return guarded([&] { *given(count, "count") = std::ssize(file_given(file).contents().variables()); });
}

int swath_variable_name(const swath_file* file, int64_t number, const char** name) {
  return guarded(
      [&] { *given(name, "name") = numbered(file_given(file).contents().variables(), number, "variable").c_str(); });
}

int swath_group_count(const swath_file* file, int64_t* count) {
  return guarded([&] { *given(count, "count") = std::ssize(file_given(file).contents().groups()); });
}

int swath_group_name(const swath_file* file, int64_t number, const char** name) {
  return guarded(
      [&] { *given(name, "name") = numbered(file_given(file).contents().groups(), number, "group").c_str(); });
}

int swath_sync(swath_array* array) {
  return guarded([&] { given(array, "array")->file->file->sync(); });
}

int swath_close(swath_array* array) {
  return guarded([&] {
    if (given(array, "array")->own_file == nullptr) return;
    const std::unique_ptr<swath_array> owned(array);
    owned->own_file->file->close();
  });
}

int swath_discard(swath_array* array) {
  return guarded([&] {
    if (given(array, "array")->own_file == nullptr) {
      fail_argument("discard " + array->array->path() + ": the array belongs to a file: discard that");
    }
    std::unique_ptr<swath_file> file = std::move(array->own_file);
    delete array;
    discard(std::move(file));
  });
}

swath_file* swath_file_of(swath_array* array) { return array == nullptr ? nullptr : array->file; }

int swath_inquire(const swath_array* array, int* ndim, int64_t* shape, char* dtype) {
  return guarded([&] {
    const FileArray& known_array = *given(array, "array")->array;
    const Shape& extents = known_array.shape();
    const std::string type = known_array.type().in_byte_order(formats::kIsBigEndianHere).to_string();
    if (extents.size() > SWATH_DIMENSIONS_MAX) {
      throw Error(ErrorKind::kUnsupported, known_array.path() + " has " + std::to_string(extents.size()) +
                                               " dimensions; C's interface knows " +
                                               std::to_string(SWATH_DIMENSIONS_MAX));
    }
    if (dtype != nullptr && type.size() >= SWATH_DTYPE_MAX) {
      throw Error(ErrorKind::kUnsupported,
                  known_array.path() + ": its type has a longer name than SWATH_DTYPE_MAX: " + type);
    }
    if (ndim != nullptr) *ndim = static_cast<int>(extents.size());
    if (shape != nullptr) std::copy(extents.begin(), extents.end(), shape);
    if (dtype != nullptr) dtype[type.copy(dtype, type.size())] = '\0';
  });
}

int swath_array_name(const swath_array* array, const char** name) {
  return guarded([&] { *given(name, "name") = given(array, "array")->array->path().c_str(); });
}

int swath_dimension(const swath_array* array, int dimension, const char** name, int* is_unlimited) {
  return guarded([&] {
    const formats::Description& described = given(array, "array")->array->description();
    const auto axis = static_cast<size_t>(dimension);
    if (dimension < 0 || axis >= described.shape.size()) {
      fail_argument("dimension " + std::to_string(dimension) + " of " + described.name() + ": it has " +
                    std::to_string(described.shape.size()));
    }
    if (name != nullptr) *name = axis < described.dimensions.size() ? described.dimensions[axis].c_str() : "";
    if (is_unlimited != nullptr) *is_unlimited = axis < described.unlimited.size() && described.unlimited[axis] ? 1 : 0;
  });
}
