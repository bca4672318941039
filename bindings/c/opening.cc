#include "opening.h"

#include <utility>

#include "errors.h"
#include "files/one_array_file.h"
#include "formats/all.h"
#include "handles.h"
#include "plan/method.h"

namespace swath::c_interface {
namespace {

struct Opening {
  std::string path;
  OpenMode mode = OpenMode::kRead;
  std::string method;
  DataFileOptions options;
};

std::string method_of(const swath_options& options) { return options.method == nullptr ? "auto" : options.method; }

std::unique_ptr<swath_file> handle_of(std::shared_ptr<Comm> comm, std::shared_ptr<DataFile> file,
                                      const std::string& method) {
  auto handle = std::make_unique<swath_file>();
  handle->comm = std::move(comm);
  handle->file = std::move(file);
  handle->method = method;
  return handle;
}

// Makes the handle of an array that is opened together with its file.
swath_array* handle_of(std::unique_ptr<swath_file> file, std::shared_ptr<FileArray> array) {
  auto handle = std::make_unique<swath_array>();
  array->set_method(file->method);
  handle->array = std::move(array);
  handle->file = file.get();
  file->is_of_array = true;
  handle->own_file = std::move(file);
  return handle.release();
}

Opening opening_of(const char* path, const char* mode, const swath_options* options) {
  const swath_options known_options = known(options);
  Opening found;
  found.path = given(path, "path");
  found.mode = mode_of_text(mode);
  found.method = method_of(known_options);
  parse_choice(found.method);
  found.options = file_options(known_options, found.path);
  return found;
}

Opening creation_of(const char* path, const swath_options* options) { return opening_of(path, "r+", options); }

}  // namespace

void open_file(const std::shared_ptr<Comm>& comm, const char* path, const char* mode, const swath_options* options,
               swath_file** file) {
  const Opening how = parsed(*comm, [&] {
    *given(file, "file") = nullptr;
    return opening_of(path, mode, options);
  });
  *file = handle_of(comm, DataFile::open(comm, how.path, how.mode, how.options), how.method).release();
}

void create_file(const std::shared_ptr<Comm>& comm, const char* path, const swath_options* options, swath_file** file) {
  const Opening how = parsed(*comm, [&] {
    *given(file, "file") = nullptr;
    return creation_of(path, options);
  });
  auto made = DataFile::create(comm, how.path, new_file_options(known(options)), how.options);
  *file = handle_of(comm, std::move(made), how.method).release();
}

void open_array(const std::shared_ptr<Comm>& comm, const ArrayToOpen& wanted, swath_array** array) {
  const Opening how = parsed(*comm, [&] {
    *given(array, "array") = nullptr;
    Opening found = opening_of(wanted.path, wanted.mode, wanted.options);
    if (!wanted.is_raw) return found;
    const swath_options options = known(wanted.options);
    const formats::NewArray held = new_array(wanted.raw, {.size = sizeof(options), .order = options.order}, "raw");
    if (held.grows()) fail_argument("shape: a raw array does not grow; give its lengths");
    found.options.raw = formats::RawElements{held.shape, held.type, held.order, options.offset};
    return found;
  });
  std::optional<std::string> variable;
  if (wanted.variable != nullptr) variable = wanted.variable;
  OneArrayFile opened = swath::open(comm, how.path, variable, how.mode, how.options);
  *array = handle_of(handle_of(comm, std::move(opened.file), how.method), std::move(opened.array));
}

void create_array(const std::shared_ptr<Comm>& comm, const char* path, const NewArrayArguments& arguments,
                  const swath_options* options, swath_array** array) {
  formats::NewArray made;
  const Opening how = parsed(*comm, [&] {
    *given(array, "array") = nullptr;
    Opening found = creation_of(path, options);
    const swath_options known_options = known(options);
    const auto [format, flavour] = formats::format_for(found.path, new_file_options(known_options).format);
    made = new_array(arguments, known_options, std::string(format->name()));
    return found;
  });
  OneArrayFile created = swath::create(comm, how.path, made, new_file_options(known(options)), how.options);
  *array = handle_of(handle_of(comm, std::move(created.file), how.method), std::move(created.array));
}

}  // namespace swath::c_interface

using swath::make_solo_comm;
using swath::c_interface::guarded;

int swath_file_open(const char* path, const char* mode, const swath_options* options, swath_file** file) {
  return guarded([&] { swath::c_interface::open_file(make_solo_comm(), path, mode, options, file); });
}

int swath_file_create(const char* path, const swath_options* options, swath_file** file) {
  return guarded([&] { swath::c_interface::create_file(make_solo_comm(), path, options, file); });
}

int swath_open(const char* path, const char* variable, const char* mode, const swath_options* options,
               swath_array** array) {
  return guarded([&] {
    swath::c_interface::open_array(make_solo_comm(),
                                   {.path = path, .variable = variable, .mode = mode, .options = options}, array);
  });
}

// NOLINTNEXTLINE(readability-function-size)
int swath_open_raw(const char* path, int ndim, const int64_t* shape, const char* dtype, const char* mode,
                   const swath_options* options, swath_array** array) {
  return guarded([&] {
    swath::c_interface::open_array(make_solo_comm(),
                                   {.path = path,
                                    .mode = mode,
                                    .options = options,
                                    .is_raw = true,
                                    .raw = {.ndim = ndim, .shape = shape, .dtype = dtype}},
                                   array);
  });
}

// NOLINTNEXTLINE(readability-function-size)
int swath_create(const char* path, const char* variable, int ndim, const int64_t* shape, const char* dtype,
                 const swath_options* options, swath_array** array) {
  return guarded([&] {
    swath::c_interface::create_array(
        make_solo_comm(), path, {.variable = variable, .ndim = ndim, .shape = shape, .dtype = dtype}, options, array);
  });
}
