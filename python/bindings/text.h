// Converts text between Python and the core: UTF-8, with other bytes preserved as os.fsencode and os.fsdecode do.
//
// File names are bytes. In Python, a name that is not UTF-8 is a str with lone surrogates, which nanobind's own caster
// refuses; the core's messages about such a file could not be shown in Python either. Include this header instead of
// <nanobind/stl/string.h> everywhere, since a program may have only one caster for std::string.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

namespace nanobind::detail {

template <>
struct type_caster<std::string> {
  NB_TYPE_CASTER(std::string, const_name("str"))

  bool from_python(handle src, uint32_t /*flags*/, cleanup_list* /*cleanup*/) noexcept {
    if (!PyUnicode_Check(src.ptr())) return false;
    Py_ssize_t size = 0;
    if (const char* text = PyUnicode_AsUTF8AndSize(src.ptr(), &size)) {
      value.assign(text, static_cast<size_t>(size));
      return true;
    }
    PyErr_Clear();
    // Other surrogates cannot occur in file names. In messages they are passed on, so that no second error occurs.
    for (const char* errors : {"surrogateescape", "surrogatepass"}) {
      const object encoded = steal(PyUnicode_AsEncodedString(src.ptr(), "utf-8", errors));
      if (encoded.is_valid()) {
        value.assign(PyBytes_AsString(encoded.ptr()), static_cast<size_t>(PyBytes_Size(encoded.ptr())));
        return true;
      }
      PyErr_Clear();
    }
    return false;
  }

  static handle from_cpp(const std::string& text, rv_policy /*policy*/, cleanup_list* /*cleanup*/) noexcept {
    return PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape");
  }
};

}  // namespace nanobind::detail
