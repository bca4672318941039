// Converts arguments from C to the core's types. All throw Error{kArgument} for invalid arguments.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "chunks/codec.h"
#include "comm/agreement.h"
#include "comm/comm.h"
#include "files/data_file.h"
#include "formats/element_type.h"
#include "formats/new_array.h"
#include "space/distribution.h"
#include "store/open_mode.h"
#include "swath/swath.h"

namespace swath::c_interface {

// Returns `pointer`; throws if it is NULL. `what` is its name in the message.
template <typename T>
T* given(T* pointer, const char* what) {
  if (pointer == nullptr) fail_argument(std::string(what) + " is NULL; it must be given");
  return pointer;
}

// Collective. Returns the result of `parse` for this rank's arguments; if it throws on any rank, all ranks throw.
template <typename Parse>
auto parsed(Comm& comm, const Parse& parse) {
  std::optional<decltype(parse())> result;
  const std::optional<Error> failure = failure_of([&] { result.emplace(parse()); });
  if (failure) agree(comm, failure);
  return std::move(*result);
}

// The program's options, with defaults for members that its header does not have.
swath_options known(const swath_options* options);

// Parses "f4", "<f4", ">i8", "|S5"; rejects "float32".
formats::ElementType type_of_text(const char* dtype);
OpenMode mode_of_text(const char* mode);
Shape shape_of(int ndim, const int64_t* shape);
// "C", "F", "2,0,1"; empty: C.
std::vector<int> order_of_text(const char* order, size_t dimensions);
// Parses "shuffle,zlib:4", in the names of the format; none if `codecs` is NULL.
std::optional<std::vector<Codec>> codecs_of_text(const char* codecs, int64_t element_bytes, const std::string& format);

DataFileOptions file_options(const swath_options& options, const std::string& path);
NewFileOptions new_file_options(const swath_options& options);

struct NewArrayArguments {
  const char* variable = nullptr;
  int ndim = 0;
  const int64_t* shape = nullptr;
  const char* const* dimensions = nullptr;
  const char* dtype = nullptr;
};
formats::NewArray new_array(const NewArrayArguments& arguments, const swath_options& options,
                            const std::string& format);

// NULL: the whole array.
Selection selection_of(const swath_slice* slices, const Shape& shape);
// NULL: packed in C order.
std::optional<std::vector<int64_t>> strides_of(const int64_t* strides, size_t dimensions);

}  // namespace swath::c_interface
