#include "arguments.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>

#include "array/file.h"
#include "base/error.h"
#include "streams.h"

namespace swath::c_interface {
namespace {

using formats::ElementType;

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const size_t end = std::min(text.find(at), text.size());
    std::string_view word = text.substr(0, end);
    while (word.starts_with(' ')) word.remove_prefix(1);
    while (word.ends_with(' ')) word.remove_suffix(1);
    words.emplace_back(word);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

int number_of(const std::string& text, const std::string& what) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    fail_argument(what + ": '" + text + "' is no number");
  }
  return number;
}

// HDF5 has other names for some codecs.
std::string name_in(const std::string& format, const std::string& name) {
  if (!format.starts_with("hdf5") && !format.starts_with("netcdf4")) return name;
  if (name == "gzip" || name == "deflate") return "zlib";
  return name == "lz4" ? "hdf5-lz4" : name;
}

int usual_level(CodecKind kind) {
  switch (kind) {
    case CodecKind::kZlib:
      return 4;
    case CodecKind::kGzip:
    case CodecKind::kBlosc:
      return 5;
    case CodecKind::kZstd:
      return 3;
    default:
      return 1;
  }
}

Codec codec_of_text(const std::string& text, int64_t element_bytes, const std::string& format) {
  const size_t colon = text.find(':');
  const std::string name = text.substr(0, colon);
  Codec codec;
  codec.kind = codec_named(name_in(format, name));
  codec.level = usual_level(codec.kind);
  if (colon != std::string::npos) codec.level = number_of(text.substr(colon + 1), "codecs: level of " + name);
  const bool has_level = codec.kind == CodecKind::kZlib || codec.kind == CodecKind::kGzip ||
                         codec.kind == CodecKind::kBlosc || codec.kind == CodecKind::kZstd;
  if (colon != std::string::npos && !has_level)
    fail_argument("codecs: " + name + " has no level: leave out '" + text.substr(colon) + "'");
  const int highest = codec.kind == CodecKind::kZstd ? 22 : 9;
  if (has_level && (codec.level < 0 || codec.level > highest)) {
    fail_argument("codecs: " + text + ": expected a level from 0 to " + std::to_string(highest));
  }
  codec.element_bytes = element_bytes;
  if (codec.kind == CodecKind::kBlosc) {
    codec.compressor = "lz4";
    codec.shuffle = 1;
  }
  return codec;
}

DimensionSelection selected(const swath_slice& slice, int64_t extent, size_t dimension) {
  const auto fail = [&](const std::string& why) {
    fail_argument("slice " + std::to_string(slice.start) + ":" + std::to_string(slice.stop) + ":" +
                  std::to_string(slice.step) + " of dimension " + std::to_string(dimension) + ", which has " +
                  std::to_string(extent) + " elements: " + why);
  };
  const int64_t step = slice.step;
  if (step == 0) fail("the step is 0; expected 1, or another number");
  const int64_t stop = slice.stop != SWATH_END ? slice.stop : step > 0 ? extent : -1;
  if (slice.start < 0) fail("it begins before the first element");
  if (step > 0 ? stop < slice.start : stop > slice.start) return {slice.start, step, 0, false};
  if (step > 0 ? stop > extent : stop < -1) fail("it goes beyond the elements");
  if (stop == slice.start) return {slice.start, step, 0, false};
  if (slice.start >= extent) fail("it begins behind the last element");
  // The number of steps before `stop`. In unsigned numbers, since -step may overflow.
  const auto span = static_cast<uint64_t>(step > 0 ? stop - slice.start : slice.start - stop);
  const uint64_t stride = step > 0 ? static_cast<uint64_t>(step) : ~static_cast<uint64_t>(step) + 1;
  const auto count = static_cast<int64_t>((span - 1) / stride + 1);
  return {slice.start, count == 1 ? 1 : step, count, false};
}

// Throws for element sizes that no machine type has.
void check_size(const ElementType& type) {
  const auto is_one_of = [&](std::initializer_list<int64_t> sizes) {
    return std::find(sizes.begin(), sizes.end(), type.bytes) != sizes.end();
  };
  const bool is_right = type.kind == 'b'                       ? is_one_of({1})
                        : type.kind == 'i' || type.kind == 'u' ? is_one_of({1, 2, 4, 8})
                        : type.kind == 'f'                     ? is_one_of({2, 4, 8, 16})
                        : type.kind == 'c'                     ? is_one_of({8, 16, 32})
                                                               : type.bytes > 0;
  if (!is_right) fail_argument("there are no such numbers of " + std::to_string(type.bytes) + " bytes");
}

}  // namespace

swath_options known(const swath_options* options) {
  swath_options found;
  swath_options_init(&found);
  if (options == nullptr) return found;
  if (options->size < offsetof(swath_options, order) || options->size > size_t{1} << 16) {
    fail_argument("options: size is " + std::to_string(options->size) +
                  "; call swath_options_init() before you fill it in");
  }
  std::memcpy(&found, options, std::min(options->size, sizeof(found)));
  const auto* bytes = reinterpret_cast<const char*>(options);
  for (size_t i = sizeof(found); i < options->size; ++i) {
    if (bytes[i] == 0) continue;
    throw Error(ErrorKind::kUnsupported, std::string("options: this library (version ") + SWATH_VERSION +
                                             ") is older than the program, and does not know all of its options: "
                                             "install the version that the program was built with");
  }
  found.size = sizeof(found);
  return found;
}

ElementType type_of_text(const char* dtype) {
  std::string text = given(dtype, "dtype");
  const std::string asked = text;
  if (text.starts_with('=')) text.erase(0, 1);
  try {
    const bool has_order = text.starts_with('<') || text.starts_with('>') || text.starts_with('|');
    ElementType type = ElementType::parse(has_order ? text : "<" + text);
    if (type.is_text()) fail_argument("it has no size of its own in memory");
    check_size(type);
    if (has_order) return type;
    return type.in_byte_order(formats::kIsBigEndianHere);
  } catch (const Error& error) {
    fail_argument("dtype '" + asked + "': " + error.what() + "; expected a type as NumPy writes it: \"f4\", \"<i8\"");
  }
}

OpenMode mode_of_text(const char* mode) {
  const std::string text = given(mode, "mode");
  if (text == "r") return OpenMode::kRead;
  if (text == "r+") return OpenMode::kReadWrite;
  fail_argument("mode '" + text + "': expected \"r\" or \"r+\"");
}

Shape shape_of(int ndim, const int64_t* shape) {
  if (ndim < 0 || ndim > SWATH_DIMENSIONS_MAX) {
    fail_argument(std::to_string(ndim) + " dimensions: expected 0 to " + std::to_string(SWATH_DIMENSIONS_MAX));
  }
  if (ndim > 0) given(shape, "shape");
  return {shape, shape + ndim};
}

std::vector<int> order_of_text(const char* order, size_t dimensions) {
  const std::string text = order == nullptr ? "C" : order;
  if (text == "C" || text.empty()) return {};
  std::vector<int> found;
  if (text == "F") {
    for (size_t d = dimensions; d-- > 0;) found.push_back(static_cast<int>(d));
    return found;
  }
  for (const std::string& word : split(text, ',')) found.push_back(number_of(word, "order '" + text + "'"));
  std::vector<int> sorted = found;
  std::sort(sorted.begin(), sorted.end());
  bool is_order = sorted.size() == dimensions;
  for (size_t d = 0; is_order && d < dimensions; ++d) is_order = sorted[d] == static_cast<int>(d);
  if (is_order) return found;
  fail_argument("order '" + text + "': expected \"C\", \"F\", or each of " + std::to_string(dimensions) +
                " dimensions once, from slowest to fastest");
}

std::optional<std::vector<Codec>> codecs_of_text(const char* codecs, int64_t element_bytes, const std::string& format) {
  if (codecs == nullptr) return std::nullopt;
  std::vector<Codec> found;
  for (const std::string& word : split(codecs, ',')) found.push_back(codec_of_text(word, element_bytes, format));
  return found;
}

DataFileOptions file_options(const swath_options& options, const std::string& path) {
  DataFileOptions found;
  auto file = std::make_shared<FileOptions>();
  if (options.engine != nullptr) file->engine.engine = options.engine;
  if (options.streams != nullptr) limit_streams(options.streams, path, *file);
  found.file = std::move(file);
  return found;
}

NewFileOptions new_file_options(const swath_options& options) {
  NewFileOptions found;
  if (options.format != nullptr) found.format = options.format;
  found.overwrite = options.overwrite != 0;
  found.atomic = options.atomic != 0;
  return found;
}

formats::NewArray new_array(const NewArrayArguments& arguments, const swath_options& options,
                            const std::string& format) {
  formats::NewArray array;
  array.shape = shape_of(arguments.ndim, arguments.shape);
  array.type = type_of_text(arguments.dtype);
  for (size_t d = 0; d < array.shape.size(); ++d) {
    const bool grows = array.shape[d] == SWATH_UNLIMITED;
    if (!grows && array.shape[d] < 0) {
      fail_argument("shape: dimension " + std::to_string(d) + " is " + std::to_string(array.shape[d]) +
                    "; expected a length, or SWATH_UNLIMITED");
    }
    array.unlimited.push_back(grows);
    if (grows) array.shape[d] = 0;
  }
  if (!array.grows()) array.unlimited.clear();
  if (arguments.variable != nullptr) array.variable = arguments.variable;
  if (arguments.dimensions != nullptr) {
    array.dimensions.emplace();
    for (size_t d = 0; d < array.shape.size(); ++d) {
      array.dimensions->emplace_back(given(arguments.dimensions[d], "the name of a dimension"));
    }
  }
  array.order = order_of_text(options.order, array.shape.size());
  array.codecs = codecs_of_text(options.codecs, array.type.bytes, format);
  const auto lengths = static_cast<std::ptrdiff_t>(array.shape.size());
  if (options.chunks != nullptr) array.chunks.emplace(options.chunks, options.chunks + lengths);
  if (options.shards != nullptr) array.shards.emplace(options.shards, options.shards + lengths);
  if (options.fill != nullptr) {
    const auto* bytes = static_cast<const std::byte*>(options.fill);
    array.fill.emplace(bytes, bytes + array.type.bytes);
    if (array.type != array.type.in_byte_order(formats::kIsBigEndianHere)) swap_bytes(array.type, *array.fill);
  }
  return array;
}

Selection selection_of(const swath_slice* slices, const Shape& shape) {
  if (slices == nullptr) return select_all(shape);
  Selection found;
  for (size_t d = 0; d < shape.size(); ++d) found.push_back(selected(slices[d], shape[d], d));
  return found;
}

std::optional<std::vector<int64_t>> strides_of(const int64_t* strides, size_t dimensions) {
  if (strides == nullptr) return std::nullopt;
  return std::vector<int64_t>(strides, strides + dimensions);
}

}  // namespace swath::c_interface

void swath_options_init_sized(swath_options* options, size_t size) {
  std::memset(options, 0, size);
  options->size = size;
  if (size > offsetof(swath_options, atomic)) options->atomic = 1;
}
