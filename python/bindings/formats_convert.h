// What formats say and are asked, between the core and the dataclasses of swath/formats: contents.py, description.py,
// new_file.py. All of it with the interpreter's lock held.
//
// Types of elements are NumPy's dtypes; text of variable length is the dtype object. An attribute is text, a list of
// texts, a NumPy scalar, an ndarray in the byte order that the format says, what JSON holds, or None.
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

// Throws Error{kFormat} for a dtype that no file has, such as Python's own objects in a structure.
ElementType element_type_from(const nanobind::handle& dtype);
// `name` is for messages. Throws Error{kArgument} for what is neither text nor numbers, and what JSON cannot hold.
AttributeValue attribute_from(const std::string& name, const nanobind::handle& value);
// Of a mapping of names to values.
Attributes attributes_from(const nanobind::handle& attributes);
// Of those of description.py.
Codec codec_from(const nanobind::handle& codec);
std::vector<Codec> codecs_from(const nanobind::handle& codecs);
// Of a Contents its dimensions, and of each variable the name, the shape and the names of its dimensions: what tells
// how long it is. `named`: of those variables alone that have the same first dimension as that one.
Contents lengths_from(const nanobind::handle& contents);
Contents lengths_from(const nanobind::handle& contents, const std::string& named);
// Of a NewArray. What it says of codecs are those of description.py, or None.
NewArray new_array_from(const nanobind::handle& array);
// Of a NewFile.
NewContents new_contents_from(const nanobind::handle& file);

}  // namespace swath::formats
