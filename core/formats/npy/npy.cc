#include "formats/npy/npy.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "base/counters.h"
#include "base/error.h"
#include "base/math.h"
#include "formats/files.h"
#include "formats/npy/literal.h"
#include "formats/one_array.h"
#include "layout/layout.h"
#include "store/engine.h"

namespace swath::formats::npy {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr int64_t kStartBytes = 12;  // the magic number, the version, and the length in its longer form
constexpr int64_t kHeaderBytesMax = int64_t{16} << 20;
constexpr size_t kAlignment = 64;
constexpr size_t kDigitsMax = 21;  // digits of the length that may grow, so that a longer one can be written over it

[[noreturn]] void fail_header(const std::string& path, const std::string& why) {
  throw Error(ErrorKind::kFormat, path + ": not a readable .npy header (" + why + ")");
}

// ---- Reading ------------------------------------------------------------------------------------------------------

struct Header {
  Shape shape;
  bool is_fortran = false;
  ElementType type;
  int64_t begin = 0;  // the offset of the elements
};

ElementType type_of(const Literal& descr, int depth = 0);

Shape shape_of(const Literal& literal) {
  if (literal.number() != nullptr) return {*literal.number()};
  if (literal.list() == nullptr) throw Error(ErrorKind::kFormat, "its shape is no tuple of numbers");
  Shape shape;
  for (const Literal& length : *literal.list()) {
    if (length.number() == nullptr) throw Error(ErrorKind::kFormat, "its shape is no tuple of numbers");
    shape.push_back(*length.number());
  }
  return shape;
}

// A field is (name, type) or (name, type, shape); its name may be (title, name).
ElementField field_of(const Literal& literal, int depth) {
  const LiteralList* parts = literal.list();
  if (parts == nullptr || parts->size() < 2 || parts->size() > 3) {
    throw Error(ErrorKind::kFormat, "a field is no tuple of a name, a type and perhaps a shape");
  }
  ElementField field;
  const LiteralList* names = parts->front().list();
  const bool has_title = names != nullptr && names->size() == 2 && (*names)[0].text() && (*names)[1].text();
  if (has_title) {
    field.title = *(*names)[0].text();
    field.name = *(*names)[1].text();
  } else if (parts->front().text() != nullptr) {
    field.name = *parts->front().text();
  } else {
    throw Error(ErrorKind::kFormat, "the name of a field is no text");
  }
  field.type = type_of((*parts)[1], depth + 1);
  if (parts->size() == 3) field.shape = shape_of((*parts)[2]);
  return field;
}

ElementType type_of(const Literal& descr, int depth) {
  if (const std::string* text = descr.text()) return ElementType::parse(*text);
  if (descr.list() == nullptr) throw Error(ErrorKind::kFormat, "its descr is neither a text nor a list of fields");
  ElementType type;
  for (const Literal& part : *descr.list()) {
    ElementField field = field_of(part, depth);
    field.offset = type.bytes;
    int64_t bytes = field.type.bytes;
    for (const int64_t length : field.shape) {
      if (length < 0) throw Error(ErrorKind::kFormat, "a field has a negative length");
      bytes = multiply_or_max(bytes, length);
    }
    if (__builtin_add_overflow(type.bytes, bytes, &type.bytes) || type.bytes > (int64_t{1} << 31)) {
      throw Error(ErrorKind::kFormat, "its elements are longer than 2 GiB");
    }
    // Padding between fields has no name.
    const bool is_padding = field.name.empty() && field.title.empty() && field.type.kind == 'V';
    if (!is_padding) type.fields.push_back(std::move(field));
  }
  if (type.fields.empty()) throw Error(ErrorKind::kFormat, "its elements have no fields");
  return type;
}

std::string utf8_of_latin1(std::string_view text) {
  std::string found;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80) found += static_cast<char>(0xC0 | (byte >> 6));
    found += byte < 0x80 ? c : static_cast<char>(0x80 | (byte & 0x3F));
  }
  return found;
}

uint32_t number_at(std::string_view bytes, size_t at, int count) {
  uint32_t number = 0;
  for (int i = count; i-- > 0;) number = number << 8 | static_cast<unsigned char>(bytes[at + static_cast<size_t>(i)]);
  return number;
}

Header header_of(std::string_view text) {
  const Literal literal = parse_literal(text);
  Header header;
  const LiteralItems* items = literal.items();
  if (items == nullptr || items->size() != 3) {
    throw Error(ErrorKind::kFormat, "expected descr, fortran_order and shape");
  }
  int found = 0;
  for (const auto& [name, value] : *items) {
    if (name == "descr") {
      header.type = type_of(value);
      found |= 1;
    } else if (name == "fortran_order" && value.boolean() != nullptr) {
      header.is_fortran = *value.boolean();
      found |= 2;
    } else if (name == "shape" && value.list() != nullptr) {
      header.shape = shape_of(value);
      found |= 4;
    }
  }
  if (found != 7) throw Error(ErrorKind::kFormat, "expected descr, fortran_order and shape");
  return header;
}

Header read_header(const std::string& path, const StoredFile& file) {
  const std::string start = file.read(0, kStartBytes);
  const int major = start.size() > 7 ? static_cast<unsigned char>(start[6]) : 0;
  const int minor = start.size() > 7 ? static_cast<unsigned char>(start[7]) : 0;
  if (start.size() < 10 || !start.starts_with(kMagic)) fail_header(path, "it ends too early");
  if (major < 1 || major > 3 || minor != 0) {
    throw Error(ErrorKind::kFormat, path + ": .npy version " + std::to_string(major) + "." + std::to_string(minor) +
                                        " is unknown; expected 1.0, 2.0 or 3.0");
  }
  const int length_bytes = major == 1 ? 2 : 4;
  if (std::ssize(start) < 8 + length_bytes) fail_header(path, "it ends too early");
  const int64_t begin = 8 + length_bytes;
  const int64_t length = number_at(start, 8, length_bytes);
  if (length > file.bytes() - begin || length > kHeaderBytesMax) {
    fail_header(
        path, "it claims " + std::to_string(length) + " bytes, " + std::to_string(file.bytes() - begin) + " are left");
  }
  const std::string text = file.read(begin, length);
  try {
    Header header = header_of(major == 3 ? text : utf8_of_latin1(text));
    header.begin = begin + length;
    return header;
  } catch (const Error& error) {
    fail_header(path, error.what());
  }
}

std::vector<int> order_of(size_t dimensions, bool is_fortran) {
  std::vector<int> order(dimensions);
  std::iota(order.begin(), order.end(), 0);
  if (is_fortran) std::reverse(order.begin(), order.end());
  return order;
}

Description described(const std::string& path) {
  const StoredFile file(path);
  const Header header = read_header(path, file);
  refuse_objects(path, header.type);
  for (const int64_t length : header.shape) {
    if (length < 0) {
      throw Error(ErrorKind::kFormat, path + ": the header gives the impossible shape " + to_string(header.shape));
    }
  }
  Description description = one_array(path, "npy", header.shape, header.type);
  const auto order = order_of(header.shape.size(), header.is_fortran);
  const int64_t bytes = bytes_of_array(path, header.shape, header.type.bytes, header.begin);
  description.layout = StridedLayout{header.begin, strides_in_order(header.shape, header.type.bytes, order)};
  description.end = bytes == 0 ? 0 : header.begin + bytes;
  check_whole(description, file.bytes());
  return description;
}

// ---- Writing ------------------------------------------------------------------------------------------------------

std::string tuple_literal(const Shape& shape) {
  std::string text = "(";
  for (size_t axis = 0; axis < shape.size(); ++axis) text += (axis > 0 ? ", " : "") + std::to_string(shape[axis]);
  return text + (shape.size() == 1 ? ",)" : ")");
}

std::string type_literal(const ElementType& type) {
  if (!type.is_structure()) return text_literal(type.to_string());
  std::string text = "[";
  int64_t at = 0;
  const auto pad = [&](int64_t to) {
    if (to > at) text += (text.size() > 1 ? ", " : "") + ("('', '|V" + std::to_string(to - at) + "')");
    if (to < at) {
      fail_argument(
          ".npy stores the fields of a structure one behind the other; those of this one overlap, or lie in another "
          "order than they are named in: choose another type, or create a raw file");
    }
    at = to;
  };
  for (const ElementField& field : type.fields) {
    pad(field.offset);
    const std::string name = field.title.empty()
                                 ? text_literal(field.name)
                                 : "(" + text_literal(field.title) + ", " + text_literal(field.name) + ")";
    text += (text.size() > 1 ? ", (" : "(") + name + ", " + type_literal(field.type);
    if (!field.shape.empty()) text += ", " + tuple_literal(field.shape);
    text += ')';
    at += element_count(field.shape) * field.type.bytes;
  }
  pad(type.bytes);
  return text + "]";
}

// Whether the elements are in Fortran order. An array that is in both orders counts as C.
bool is_fortran(const NewArray& array) {
  const auto c_order = order_of(array.shape.size(), false);
  const auto strides = strides_in_order(array.shape, 1, array.order.empty() ? c_order : array.order);
  if (strides == strides_in_order(array.shape, 1, c_order)) return false;
  if (strides == strides_in_order(array.shape, 1, order_of(array.shape.size(), true))) return true;
  fail_argument(".npy stores order C or F, not another order of dimensions; create a raw file instead");
}

// The text in Latin-1; none if it has other characters.
std::optional<std::string> latin1_of(std::string_view utf8) {
  std::string found;
  for (size_t at = 0; at < utf8.size(); ++at) {
    const auto byte = static_cast<unsigned char>(utf8[at]);
    if (byte < 0x80) {
      found += utf8[at];
    } else if (byte <= 0xC3 && at + 1 < utf8.size()) {
      found += static_cast<char>((byte & 0x03) << 6 | (static_cast<unsigned char>(utf8[++at]) & 0x3F));
    } else {
      return std::nullopt;
    }
  }
  return found;
}

std::string wrapped(const std::string& text, int version) {
  const size_t length_bytes = version == 1 ? 2 : 4;
  const size_t start = kMagic.size() + 2 + length_bytes;
  const size_t padding = kAlignment - (start + text.size() + 1) % kAlignment;
  size_t length = text.size() + 1 + padding;
  std::string header = std::string(kMagic) + static_cast<char>(version) + '\0';
  for (size_t i = 0; i < length_bytes; ++i, length >>= 8) header += static_cast<char>(length & 0xFF);
  return header + text + std::string(padding, ' ') + "\n";
}

class NpyFormat final : public Format {
 public:
  std::string_view name() const override { return "npy"; }
  bool holds_many() const override { return false; }
  std::vector<std::string_view> suffixes() const override { return {".npy"}; }
  bool matches(const std::string& /*path*/, std::string_view start) const override { return start.starts_with(kMagic); }

  std::unique_ptr<FormatFile> open(const std::string& path, Changes* changes) const override {
    return open_one_array(described(path), changes);
  }

  void create(const std::string& path, const NewContents& contents) const override {
    const NewArray& array = only_array(contents, ".npy");
    const std::string header = new_header(array);
    const int64_t bytes = bytes_of_array(path, array.shape, array.type.bytes, std::ssize(header));
    create_stored_file(path, header, std::ssize(header) + bytes);
  }

  std::vector<std::string> refusals(const NewContents& contents) const override {
    return refused([&] { new_header(only_array(contents, ".npy")); });
  }
};

}  // namespace

std::string new_header(const NewArray& array) {
  refuse_names_and_chunks(array, ".npy");
  refuse_objects("a .npy file", array.type);
  const bool fortran = is_fortran(array);
  std::string text = "{'descr': " + type_literal(array.type) + ", 'fortran_order': " + (fortran ? "True" : "False") +
                     ", 'shape': " + tuple_literal(array.shape) + ", }";
  if (!array.shape.empty()) {
    const size_t digits = std::to_string(fortran ? array.shape.back() : array.shape.front()).size();
    text += std::string(kDigitsMax - digits, ' ');
  }
  const auto latin1 = latin1_of(text);
  if (!latin1) return wrapped(text, 3);
  std::string header = wrapped(*latin1, 1);
  return header.size() - 10 <= 0xFFFF ? header : wrapped(*latin1, 2);
}

const Format& format() {
  static const NpyFormat format;
  return format;
}

}  // namespace swath::formats::npy
