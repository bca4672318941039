// Arguments of C, in the words of the core. All throw Error{kArgument} for what cannot be meant.
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

// `pointer`, which may not be NULL; `what` it is, in words.
template <typename T>
T* given(T* pointer, const char* what) {
  if (pointer == nullptr) fail_argument(std::string(what) + " is NULL; it must be given");
  return pointer;
}

// Collective. What `parse` makes of this rank's arguments; what it throws is thrown on all ranks.
template <typename Parse>
auto parsed(Comm& comm, const Parse& parse) {
  std::optional<decltype(parse())> result;
  const std::optional<Error> failure = failure_of([&] { result.emplace(parse()); });
  if (failure) agree(comm, failure);
  return std::move(*result);
}

// What the program has filled in, and the defaults of all else.
swath_options known(const swath_options* options);

// "f4", "<f4", ">i8", "|S5", "float32" is none.
formats::ElementType type_of_text(const char* dtype);
OpenMode mode_of_text(const char* mode);
Shape shape_of(int ndim, const int64_t* shape);
// "C", "F", "2,0,1"; empty: C.
std::vector<int> order_of_text(const char* order, size_t dimensions);
// "shuffle,zlib:4", as the format calls them; none where they are not said.
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

// NULL: everything.
Selection selection_of(const swath_slice* slices, const Shape& shape);
// NULL: packed in C order.
std::optional<std::vector<int64_t>> strides_of(const int64_t* strides, size_t dimensions);

}  // namespace swath::c_interface
