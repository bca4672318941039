// Types of the package and of NumPy for arguments and results of the bindings. The stub (python/swath/_core.pyi, made
// by `make stubs`) shows their names. nanobind does not check arguments against these types; the functions that use the
// arguments do.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <utility>

namespace package_types {

inline bool is_any(PyObject* /*object*/) { return true; }

// NOLINTBEGIN(bugprone-macro-parentheses): a class of that name
#define SWATH_PACKAGE_TYPE(name, shown)          \
  class name : public nanobind::object {         \
   public:                                       \
    NB_OBJECT(name, object, shown, is_any)       \
    name(nanobind::object object) /* NOLINT */   \
        : nanobind::object(std::move(object)) {} \
  };
// NOLINTEND(bugprone-macro-parentheses)

SWATH_PACKAGE_TYPE(Any, "typing.Any")
SWATH_PACKAGE_TYPE(AnyArray, "numpy.typing.NDArray[typing.Any]")
SWATH_PACKAGE_TYPE(Contents, "swath.formats.Contents")
SWATH_PACKAGE_TYPE(Description, "swath.formats.description.Description")
SWATH_PACKAGE_TYPE(Codec, "swath.formats.description.Codec")
SWATH_PACKAGE_TYPE(NewArray, "swath.formats.description.NewArray")
SWATH_PACKAGE_TYPE(NewFile, "swath.formats.new_file.NewFile")
// Functions without arguments, called by Array::execute.
SWATH_PACKAGE_TYPE(Work, "collections.abc.Callable[[], None]")
// Functions that CollectiveFile calls.
SWATH_PACKAGE_TYPE(Make, "collections.abc.Callable[[], typing.Any]")
SWATH_PACKAGE_TYPE(WriteRows, "collections.abc.Callable[[list[int]], bool | None]")

#undef SWATH_PACKAGE_TYPE

using Facts = nanobind::typed<nanobind::dict, std::string, Any>;
using Arrays = nanobind::typed<nanobind::list, AnyArray>;

}  // namespace package_types
