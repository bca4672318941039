// Conversions between the core's descriptions of files and the dataclasses of swath/formats: contents.py,
// description.py, new_file.py. All require the interpreter's lock.
//
// An element type is a NumPy dtype; text of variable length has the dtype object. An attribute is a text, a list of
// texts, a NumPy scalar, an ndarray in the file's byte order, a JSON value, or None.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

#include "chunks/codec.h"
#include "formats/attribute.h"
#include "formats/contents.h"
#include "formats/description.h"
#include "formats/element_type.h"
#include "formats/new_array.h"
#include "package_types.h"
#include "text.h"

namespace swath::formats {

nanobind::object to_python(const ElementType& type);
nanobind::object to_python(const AttributeValue& value);
nanobind::dict to_python(const Attributes& attributes);
package_types::Codec to_python(const Codec& codec);
package_types::Contents to_python(const Contents& contents);
package_types::Description to_python(const Description& description);

// Throws Error{kFormat} for a dtype that no format has, such as Python objects in a structure.
ElementType element_type_from(const nanobind::handle& dtype);
// `name` is for messages. Throws Error{kArgument} for values that are neither text nor numbers, and that JSON cannot
// hold.
AttributeValue attribute_from(const std::string& name, const nanobind::handle& value);
// Takes a mapping of names to values.
Attributes attributes_from(const nanobind::handle& attributes);
// Take the classes of description.py.
Codec codec_from(const nanobind::handle& codec);
std::vector<Codec> codecs_from(const nanobind::handle& codecs);
// Takes from a Contents only what determines lengths: the dimensions, and the name, shape and dimension names of each
// variable. `named`: only variables with the same first dimension as this one.
Contents lengths_from(const nanobind::handle& contents);
Contents lengths_from(const nanobind::handle& contents, const std::string& named);
// Takes a NewArray. Its codecs are those of description.py, or None.
NewArray new_array_from(const nanobind::handle& array);
// Takes a NewFile.
NewContents new_contents_from(const nanobind::handle& file);

}  // namespace swath::formats
