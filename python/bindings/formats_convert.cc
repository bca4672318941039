#include "formats_convert.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <utility>

#include "base/error.h"

namespace nb = nanobind;

namespace swath::formats {
namespace {

nb::module_ numpy() { return nb::module_::import_("numpy"); }
nb::object dataclass(const char* module, const char* name) {
  // Imports the package first: another thread that is importing the package would wait for this module, and this thread
  // for the package.
  nb::module_::import_("swath.formats");
  return nb::module_::import_((std::string("swath.formats.") + module).c_str()).attr(name);
}

template <typename Range>
nb::tuple tuple_of(const Range& items) {
  nb::list list;
  for (const auto& item : items) list.append(nb::cast(item));
  return nb::tuple(list);
}

nb::tuple tuple_of(const std::vector<bool>& flags) {
  nb::list list;
  for (const bool flag : flags) list.append(nb::bool_(flag));
  return nb::tuple(list);
}

nb::object tuple_or_none(const std::optional<Shape>& shape) {
  return shape ? nb::object(tuple_of(*shape)) : nb::none();
}

nb::bytes bytes_object(const std::vector<std::byte>& bytes) { return nb::bytes(bytes.data(), bytes.size()); }

std::vector<std::byte> bytes_from(const nb::handle& object) {
  const auto bytes = nb::cast<nb::bytes>(object);
  const auto* first = static_cast<const std::byte*>(bytes.data());
  return {first, first + bytes.size()};
}

nb::dict to_python(const OtherAttributes& words) {
  nb::dict found;
  for (const auto& [name, text] : words) found[nb::cast(name)] = text;
  return found;
}

// ---- codecs ---------------------------------------------------------------------------------------------------------

// The settings of a codec, in the order of codecs.py.
nb::tuple settings_of(const Codec& codec) {
  nb::list settings;
  const auto number = [&](const char* key, int64_t value) { settings.append(nb::make_tuple(key, value)); };
  switch (codec.kind) {
    case CodecKind::kBlosc:
      settings.append(nb::make_tuple("compressor", codec.compressor));
      number("level", codec.level);
      number("shuffle", codec.shuffle);
      number("element_bytes", codec.element_bytes);
      number("block_bytes", codec.block_bytes);
      break;
    case CodecKind::kShuffle:
      number("element_bytes", codec.element_bytes);
      break;
    case CodecKind::kZstd:
      number("level", codec.level);
      number("checksum", codec.checksum ? 1 : 0);
      break;
    case CodecKind::kHdf5Lz4:
      number("block_bytes", codec.block_bytes);
      break;
    case CodecKind::kLz4:
    case CodecKind::kGzip:
    case CodecKind::kZlib:
      number("level", codec.level);
      break;
    case CodecKind::kCrc32c:
    case CodecKind::kFletcher32:
      break;
  }
  return nb::tuple(settings);
}

nb::tuple to_python(const std::vector<Codec>& codecs) {
  const nb::object type = dataclass("description", "Codec");
  nb::list list;
  for (const Codec& codec : codecs) list.append(type(to_string(codec.kind), settings_of(codec)));
  return nb::tuple(list);
}

nb::object codecs_or_none(const std::optional<std::vector<Codec>>& codecs) {
  return codecs ? nb::object(to_python(*codecs)) : nb::none();
}

// ---- attributes -----------------------------------------------------------------------------------------------------

// Makes a writable ndarray of packed elements, in the file's byte order.
nb::object array_of(const NumbersValue& value) {
  const nb::object dtype = to_python(value.type);
  const nb::tuple shape = tuple_of(value.shape);
  if (value.bytes.empty()) return numpy().attr("zeros")(shape, dtype);
  const nb::object stored = numpy().attr("frombuffer")(bytes_object(value.bytes), dtype);
  return stored.attr("copy")().attr("reshape")(shape);
}

bool are_all_text(const nb::handle& items) {
  bool is_any = false;
  for (const nb::handle item : items) {
    if (!PyUnicode_Check(item.ptr())) return false;
    is_any = true;
  }
  return is_any;
}

bool has_text(const nb::handle& items) {
  for (const nb::handle item : items) {
    if (PyUnicode_Check(item.ptr())) return true;
  }
  return false;
}

std::vector<std::string> texts_from(const nb::handle& items) {
  std::vector<std::string> texts;
  for (const nb::handle item : items) texts.push_back(nb::cast<std::string>(item));
  return texts;
}

// Converts a NumPy value in a list or a mapping to Python's own; the `default` function of json.dumps().
nb::object as_plain(const nb::handle& value) {
  // Throws for times, which would lose their unit, and for structures, which would lose their field names.
  const bool has_kind = nb::hasattr(value, "dtype");
  const auto kind = has_kind ? nb::cast<std::string>(value.attr("dtype").attr("kind")) : std::string();
  const bool is_meant = kind != "M" && kind != "m" && kind != "V";
  if (is_meant && nb::hasattr(value, "tolist")) return value.attr("tolist")();
  throw nb::type_error(("JSON holds no " + nb::cast<std::string>(nb::repr(value))).c_str());
}

// Throws for keys that are not text: Python's json would convert them to text.
void refuse_keys_that_are_no_text(const nb::handle& value) {
  if (PyDict_Check(value.ptr())) {
    for (const auto& [key, member] : nb::borrow<nb::dict>(value)) {
      if (!PyUnicode_Check(key.ptr())) {
        const auto called = nb::cast<std::string>(nb::repr(key));
        fail_argument("a member that is called " + called + "; expected a string");
      }
      refuse_keys_that_are_no_text(member);
    }
  } else if (PyList_Check(value.ptr()) || PyTuple_Check(value.ptr())) {
    for (const nb::handle item : value) refuse_keys_that_are_no_text(item);
  }
}

AttributeValue json_from(const std::string& name, const nb::handle& value) {
  using namespace nb::literals;
  try {
    const nb::object text =
        nb::module_::import_("json").attr("dumps")(value, "default"_a = nb::cpp_function(&as_plain));
    refuse_keys_that_are_no_text(value);  // the recursion ends: json.dumps() has succeeded
    return JsonValue{nb::cast<std::string>(text)};
  } catch (const nb::python_error& error) {
    const auto why = nb::cast<std::string>(nb::str(error.value()));
    fail_argument("attribute " + name + ": " + nb::cast<std::string>(nb::repr(value)) +
                  " is no text, no number, and no list of these: " + why);
  }
}

// The value as an ndarray; an invalid object if NumPy cannot convert it.
nb::object as_array(const nb::handle& value) {
  try {
    return numpy().attr("asarray")(value);
  } catch (const nb::python_error&) {
    return {};  // lists of different lengths
  }
}

AttributeValue numbers_or_json_from(const std::string& name, const nb::handle& value) {
  const nb::object array = as_array(value);
  if (!array.is_valid()) return json_from(name, value);
  const nb::object dtype = array.attr("dtype");
  const auto kind = nb::cast<std::string>(dtype.attr("kind"));
  const auto dimensions = nb::cast<int64_t>(array.attr("ndim"));
  if (kind == "U" && dimensions == 0) return nb::cast<std::string>(array.attr("item")());
  if ((kind == "U" || kind == "T" || kind == "O") && dimensions == 1) {
    const nb::object items = array.attr("tolist")();
    if (are_all_text(items)) return texts_from(items);
  }
  if (kind == "U" || kind == "T" || nb::cast<bool>(dtype.attr("hasobject"))) return json_from(name, value);
  return NumbersValue{element_type_from(dtype), nb::cast<Shape>(array.attr("shape")),
                      bytes_from(array.attr("tobytes")())};
}

// ---- contents of files ----------------------------------------------------------------------------------------------

nb::object enumeration_or_none(const std::optional<Enumeration>& enumeration, bool is_unsigned) {
  if (!enumeration) return nb::none();
  nb::dict members;
  for (const auto& [name, number] : enumeration->members) {
    members[nb::cast(name)] = is_unsigned ? nb::cast(static_cast<uint64_t>(number)) : nb::cast(number);
  }
  return dataclass("description", "Enumeration")(enumeration->name, members);
}

std::optional<Enumeration> enumeration_from(const nb::handle& object) {
  if (object.is_none()) return std::nullopt;
  Enumeration found{.name = nb::cast<std::string>(object.attr("name"))};
  for (const auto& [name, number] : nb::cast<nb::dict>(object.attr("members"))) {
    const auto value = static_cast<int64_t>(PyLong_AsUnsignedLongLongMask(nb::int_(nb::borrow(number)).ptr()));
    found.members.emplace_back(nb::cast<std::string>(name), value);
  }
  return found;
}

nb::object to_python(const Group& group) {
  const nb::object type = dataclass("contents", "Dimension");
  nb::dict dimensions;
  for (const auto& [name, length, is_unlimited] : group.dimensions) {
    dimensions[nb::cast(name)] = type(name, length, is_unlimited);
  }
  return dataclass("contents", "Group")(group.path, to_python(group.attributes), dimensions,
                                        to_python(group.other_attributes));
}

nb::object to_python(const Variable& variable) {
  const bool is_unsigned = variable.type && variable.type->kind == 'u';
  return dataclass("contents", "Variable")(
      variable.path, tuple_of(variable.shape), variable.type ? to_python(*variable.type) : nb::none(),
      tuple_of(variable.dimensions), to_python(variable.attributes), tuple_or_none(variable.chunks),
      variable.is_coordinate, variable.unsupported, tuple_or_none(variable.shards), codecs_or_none(variable.codecs),
      enumeration_or_none(variable.enumeration, is_unsigned), to_python(variable.other_attributes), variable.same_as,
      tuple_of(variable.maxshape));
}

// ---- layouts of arrays ----------------------------------------------------------------------------------------------

// An ndarray in the shape of the chunk grid, with one entry for each chunk.
template <typename Number>
nb::object grid_of(const std::vector<Number>& entries, const char* dtype, const Shape& shape, const Shape& chunk) {
  nb::list edges;
  for (size_t axis = 0; axis < shape.size(); ++axis) edges.append((shape[axis] + chunk[axis] - 1) / chunk[axis]);
  const nb::bytes bytes(reinterpret_cast<const char*>(entries.data()), entries.size() * sizeof(Number));
  return numpy().attr("frombuffer")(bytes, dtype).attr("reshape")(nb::tuple(edges)).attr("copy")();
}

nb::object to_python(const ChunkFiles& files) {
  return dataclass("description", "ChunkFiles")(files.first, files.separator, files.scalar);
}

nb::object coded_layout(const CodedLayout& coded, const Shape& shape) {
  nb::object places;
  if (const auto* table = std::get_if<ChunkTable>(&coded.places)) {
    places = dataclass("description", "ChunkTable")(grid_of(table->offsets, "i8", shape, coded.chunk_shape),
                                                    grid_of(table->bytes, "i8", shape, coded.chunk_shape),
                                                    grid_of(table->skipped, "u4", shape, coded.chunk_shape));
  } else if (const auto* files = std::get_if<ChunkFiles>(&coded.places)) {
    places = to_python(*files);
  } else {
    const auto& shards = std::get<Shards>(coded.places);
    places = dataclass("description", "Shards")(to_python(shards.files), tuple_of(shards.shape),
                                                to_python(shards.index_codecs.codecs()), shards.index_at_end);
  }
  return dataclass("description", "CodedLayout")(coded.path, tuple_of(coded.chunk_shape), tuple_of(coded.order),
                                                 to_python(coded.codecs), places);
}

nb::object layout_of(const Description& description) {
  if (const auto* strided = std::get_if<StridedLayout>(&description.layout)) {
    return dataclass("description", "StridedLayout")(strided->offset, tuple_of(strided->strides));
  }
  if (const auto* chunks = std::get_if<ChunkedLayout>(&description.layout)) {
    return dataclass("description", "ChunkedLayout")(
        tuple_of(chunks->chunk_shape), grid_of(chunks->offsets, "i8", description.shape, chunks->chunk_shape));
  }
  if (const auto* tiled = std::get_if<TiledLayout>(&description.layout)) {
    return dataclass("description", "TiledLayout")(tiled->offset, tuple_of(tiled->chunk_shape));
  }
  if (const auto* coded = std::get_if<CodedLayout>(&description.layout)) {
    return coded_layout(*coded, description.shape);
  }
  const auto& library = std::get<LibraryLayout>(description.layout);
  return dataclass("description", "LibraryLayout")(library.reason, tuple_or_none(library.chunk_shape),
                                                   codecs_or_none(library.codecs));
}

// ---- new arrays and files -------------------------------------------------------------------------------------------

template <typename Value>
std::optional<Value> optional_from(const nb::handle& object) {
  if (object.is_none()) return std::nullopt;
  return nb::cast<Value>(object);
}

// The bytes of one element; for text, its UTF-8.
std::optional<std::vector<std::byte>> fill_from(const nb::handle& fill, const nb::handle& dtype, bool is_text) {
  if (fill.is_none()) return std::nullopt;
  const nb::object element = numpy().attr("asarray")(fill, dtype);
  return bytes_from(is_text ? nb::str(element.attr("item")()).attr("encode")() : element.attr("tobytes")());
}

Group group_from(const nb::handle& object) {
  Group group{.path = nb::cast<std::string>(object.attr("name")),
              .attributes = attributes_from(object.attr("attributes"))};
  for (const nb::handle dimension : nb::cast<nb::dict>(object.attr("dimensions")).values()) {
    group.dimensions.push_back({nb::cast<std::string>(dimension.attr("name")),
                                nb::cast<int64_t>(dimension.attr("length")),
                                nb::cast<bool>(dimension.attr("is_unlimited"))});
  }
  return group;
}

}  // namespace

nb::object to_python(const ElementType& type) {
  const nb::object dtype = numpy().attr("dtype");
  if (!type.is_structure()) return dtype(type.to_string());
  nb::list names;
  nb::list formats;
  nb::list offsets;
  nb::list titles;
  bool has_titles = false;
  for (const ElementField& field : type.fields) {
    has_titles = has_titles || !field.title.empty();
    titles.append(field.title.empty() ? nb::none() : nb::object(nb::cast(field.title)));
    const nb::object one = to_python(field.type);
    names.append(field.name);
    formats.append(field.shape.empty() ? one : dtype(nb::make_tuple(one, tuple_of(field.shape))));
    offsets.append(field.offset);
  }
  nb::dict structure;
  structure["names"] = names;
  structure["formats"] = formats;
  structure["offsets"] = offsets;
  if (has_titles) structure["titles"] = titles;
  structure["itemsize"] = type.bytes;
  return dtype(structure);
}

Codec codec_from(const nb::handle& object) {
  Codec codec;
  codec.kind = codec_named(nb::cast<std::string>(object.attr("name")));
  for (const nb::handle setting : object.attr("settings")) {
    const auto key = nb::cast<std::string>(setting[0]);
    const nb::object value = setting[1];
    if (key == "compressor") {
      codec.compressor = nb::cast<std::string>(value);
    } else if (key == "level") {
      codec.level = nb::cast<int>(value);
    } else if (key == "checksum") {
      codec.checksum = nb::cast<int64_t>(value) != 0;
    } else if (key == "element_bytes") {
      codec.element_bytes = nb::cast<int64_t>(value);
    } else if (key == "shuffle") {
      codec.shuffle = nb::cast<int>(value);
    } else if (key == "block_bytes") {
      codec.block_bytes = nb::cast<int64_t>(value);
    } else {
      throw Error(ErrorKind::kInternal, "codec " + to_string(codec.kind) + " has no setting " + key);
    }
  }
  return codec;
}

std::vector<Codec> codecs_from(const nb::handle& codecs) {
  std::vector<Codec> found;
  for (const nb::handle codec : codecs) found.push_back(codec_from(codec));
  return found;
}

package_types::Codec to_python(const Codec& codec) {
  return dataclass("description", "Codec")(to_string(codec.kind), settings_of(codec));
}

ElementType element_type_from(const nb::handle& dtype) {
  const nb::object names = dtype.attr("names");
  if (names.is_none()) return ElementType::parse(nb::cast<std::string>(dtype.attr("str")));
  ElementType type{.kind = 'V', .bytes = nb::cast<int64_t>(dtype.attr("itemsize"))};
  for (const nb::handle name : names) {
    const nb::object field = dtype.attr("fields")[name];
    nb::object of_field = field[0];
    Shape shape;
    if (const nb::object nested = of_field.attr("subdtype"); !nested.is_none()) {
      shape = nb::cast<Shape>(nested[1]);
      of_field = nested[0];
    }
    const bool has_title = nb::len(field) > 2 && nb::isinstance<nb::str>(field[2]);
    type.fields.push_back({nb::cast<std::string>(name), element_type_from(of_field), nb::cast<int64_t>(field[1]),
                           std::move(shape), has_title ? nb::cast<std::string>(field[2]) : ""});
  }
  return type;
}

nb::object to_python(const AttributeValue& value) {
  if (std::holds_alternative<NullValue>(value)) return nb::none();
  if (const auto* text = std::get_if<std::string>(&value)) return nb::cast(*text);
  if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) return nb::cast(*texts);
  if (const auto* json = std::get_if<JsonValue>(&value)) return nb::module_::import_("json").attr("loads")(json->text);
  const auto& numbers = std::get<NumbersValue>(value);
  const nb::object array = array_of(numbers);
  return numbers.shape.empty() ? nb::object(array[nb::tuple()]) : array;
}

nb::dict to_python(const Attributes& attributes) {
  nb::dict found;
  for (const auto& [name, value] : attributes.entries()) found[nb::cast(name)] = to_python(value);
  return found;
}

package_types::Contents to_python(const Contents& contents) {
  nb::dict groups;
  for (const Group& group : contents.groups()) groups[nb::cast(group.path)] = to_python(group);
  nb::dict variables;
  for (const Variable& variable : contents.variables()) variables[nb::cast(variable.path)] = to_python(variable);
  return dataclass("contents", "Contents")(contents.format(), contents.version(), groups, variables,
                                           to_python(OtherAttributes(contents.others())));
}

package_types::Description to_python(const Description& description) {
  const nb::object variable = description.variable ? nb::cast(*description.variable) : nb::none();
  const nb::tuple stored = description.stored_shape ? tuple_of(*description.stored_shape) : nb::tuple();
  return dataclass("description", "Description")(
      description.path, description.format, variable, tuple_of(description.shape), to_python(description.type),
      layout_of(description), bytes_object(description.fill), to_python(description.attributes), description.end,
      tuple_of(description.dimensions), tuple_of(description.unlimited), stored,
      to_python(description.other_attributes));
}

AttributeValue attribute_from(const std::string& name, const nb::handle& value) {
  if (value.is_none()) return NullValue{};
  if (PyUnicode_Check(value.ptr())) return nb::cast<std::string>(value);
  if (PyBytes_Check(value.ptr())) {
    std::vector<std::byte> bytes = bytes_from(value);
    const auto size = static_cast<int64_t>(bytes.size());
    return NumbersValue{{.kind = 'S', .bytes = size}, {}, std::move(bytes)};
  }
  const bool is_list = PyList_Check(value.ptr()) || PyTuple_Check(value.ptr());
  if (is_list && are_all_text(value)) return texts_from(value);
  if (is_list && has_text(value)) return json_from(name, value);  // NumPy would convert the numbers to text
  if (PyDict_Check(value.ptr())) return json_from(name, value);
  return numbers_or_json_from(name, value);
}

Attributes attributes_from(const nb::handle& attributes) {
  Attributes found;
  const nb::dict items = nb::cast<nb::dict>(nb::module_::import_("builtins").attr("dict")(attributes));
  for (const auto& [key, value] : items) {
    const auto name = nb::cast<std::string>(key);
    found.set(name, attribute_from(name, value));
  }
  return found;
}

namespace {

Contents dimensions_from(const nb::handle& contents) {
  Contents found(nb::cast<std::string>(contents.attr("format")));
  for (const nb::handle group : contents.attr("groups").attr("values")()) {
    const auto path = nb::cast<std::string>(group.attr("name"));
    found.add(Group{.path = path});
    for (const nb::handle dimension : group.attr("dimensions").attr("values")()) {
      found.set(path, {nb::cast<std::string>(dimension.attr("name")), nb::cast<int64_t>(dimension.attr("length")),
                       nb::cast<bool>(dimension.attr("is_unlimited"))});
    }
  }
  return found;
}

Variable length_from(const nb::handle& variable) {
  return {.path = nb::cast<std::string>(variable.attr("name")),
          .shape = nb::cast<Shape>(variable.attr("shape")),
          .dimensions = nb::cast<std::vector<std::string>>(variable.attr("dimensions"))};
}

}  // namespace

Contents lengths_from(const nb::handle& contents) {
  Contents found = dimensions_from(contents);
  for (const nb::handle variable : contents.attr("variables").attr("values")()) found.add(length_from(variable));
  return found;
}

Contents lengths_from(const nb::handle& contents, const std::string& named) {
  const auto variables = nb::cast<nb::dict>(contents.attr("variables"));
  const nb::object one = variables[nb::cast(named)];
  Contents found = dimensions_from(contents);
  const nb::object names = one.attr("dimensions");
  if (nb::len(names) == 0) {
    found.add(length_from(one));
    return found;
  }
  const nb::object first = names[0];
  for (const auto& [path, variable] : variables) {
    const nb::object others = variable.attr("dimensions");
    if (nb::len(others) > 0 && nb::object(others[0]).equal(first)) found.add(length_from(variable));
  }
  return found;
}

NewArray new_array_from(const nb::handle& array) {
  NewArray found;
  const nb::object dtype = array.attr("dtype");
  found.shape = nb::cast<Shape>(array.attr("shape"));
  found.type = element_type_from(dtype);
  found.order = nb::cast<std::vector<int>>(array.attr("order"));
  found.fill = fill_from(array.attr("fill"), dtype, found.type.is_text());
  found.variable = optional_from<std::string>(array.attr("variable"));
  found.dimensions = optional_from<std::vector<std::string>>(array.attr("dimensions"));
  found.attributes = attributes_from(array.attr("attributes"));
  found.chunks = optional_from<Shape>(array.attr("chunks"));
  found.shards = optional_from<Shape>(array.attr("shards"));
  if (const nb::object codecs = array.attr("codecs"); !codecs.is_none()) {
    found.codecs.emplace();
    for (const nb::handle codec : codecs) found.codecs->push_back(codec_from(codec));
  }
  found.only_registered_codecs = nb::cast<bool>(array.attr("only_registered_codecs"));
  found.unlimited = nb::cast<std::vector<bool>>(array.attr("unlimited"));
  found.maxshape = nb::cast<std::vector<std::optional<int64_t>>>(array.attr("maxshape"));
  found.marks_fill = nb::cast<bool>(array.attr("marks_fill"));
  if (const nb::object stated = array.attr("stated_fill"); !stated.is_none()) {
    found.stated_fill = attribute_from("_FillValue", stated);
  }
  found.enumeration = enumeration_from(array.attr("enumeration"));
  return found;
}

NewContents new_contents_from(const nb::handle& file) {
  NewContents found;
  if (const nb::object flavour = file.attr("flavour"); !flavour.is_none()) {
    found.flavour = nb::cast<std::string>(flavour);
  }
  for (const nb::handle group : file.attr("groups")) found.groups.push_back(group_from(group));
  for (const nb::handle array : file.attr("variables")) found.arrays.push_back(new_array_from(array));
  return found;
}

}  // namespace swath::formats
