#include "formats/one_array.h"

#include <cerrno>
#include <span>
#include <utility>

#include "base/counters.h"
#include "base/math.h"
#include "formats/refusals.h"
#include "store/atomic_file.h"

namespace swath::formats {
namespace {

class OneArrayFile final : public FormatFile {
 public:
  explicit OneArrayFile(Description description)
      : description_(std::move(description)), contents_(description_.format) {
    Variable variable;
    variable.shape = description_.shape;
    variable.type = description_.type;
    contents_.add(std::move(variable));
  }

  const Contents& contents() override { return contents_; }

  Description describe(const std::optional<std::string>& variable) override {
    if (!variable || variable->empty()) return description_;
    fail_argument(description_.path + ": a " + description_.format +
                  " file holds one array without a name; leave out " + "the variable '" + *variable + "'");
  }

  Description add(const NewArray& /*array*/) override { refuse(); }
  void set_attributes(const std::string& /*holder*/, const Attributes& /*changes*/) override { refuse(); }
  Description extend(const std::string& /*variable*/, int64_t /*rows*/, std::optional<int64_t> /*from*/) override {
    refuse();
  }
  void set_length(const std::string& /*dimension*/, int64_t /*rows*/) override { refuse(); }
  Description allocate(const std::string& /*variable*/) override { return description_; }

 private:
  [[noreturn]] void refuse() const {
    throw Error(ErrorKind::kUnsupported, description_.path + ": a " + description_.format +
                                             " file holds one array without a name, and no attributes");
  }

  const Description description_;
  Contents contents_;
};

}  // namespace

std::string StoredFile::read(int64_t offset, int64_t bytes) const {
  std::string found(static_cast<size_t>(std::max<int64_t>(std::min(bytes, this->bytes() - offset), 0)), '\0');
  Counters counters;
  const Transfer piece{offset, reinterpret_cast<std::byte*>(found.data()), std::ssize(found)};
  if (!found.empty()) engine_->transfer(Direction::kRead, {&piece, 1}, counters);
  return found;
}

void create_stored_file(const std::string& path, std::string_view header, int64_t bytes) {
  const auto engine = open_engine(path, OpenMode::kCreateNew, {});
  try {
    engine->resize(bytes);
    std::string start(header);
    Counters counters;
    const Transfer piece{0, reinterpret_cast<std::byte*>(start.data()), std::ssize(start)};
    if (!start.empty()) engine->transfer(Direction::kWrite, {&piece, 1}, counters);
  } catch (...) {
    AtomicFile::made_elsewhere(path, {.atomic = false, .working_path = path}).remove();
    throw;
  }
}

Description one_array(const std::string& path, std::string format, Shape shape, ElementType type) {
  Description description;
  description.path = path;
  description.format = std::move(format);
  description.shape = std::move(shape);
  description.fill.resize(static_cast<size_t>(type.bytes));
  description.type = std::move(type);
  return description;
}

std::unique_ptr<FormatFile> open_one_array(Description description, Changes* /*changes*/) {
  return std::make_unique<OneArrayFile>(std::move(description));
}

int64_t bytes_of_array(const std::string& path, const Shape& shape, int64_t element_bytes, int64_t begin) {
  int64_t bytes = element_bytes;
  bool is_empty = element_bytes == 0;
  for (const int64_t length : shape) {
    is_empty = is_empty || length == 0;
    bytes = multiply_or_max(bytes, std::max<int64_t>(length, 1));
  }
  if (is_empty) return 0;
  int64_t end = 0;
  if (bytes == INT64_MAX || __builtin_add_overflow(begin, bytes, &end)) {
    throw Error(ErrorKind::kFormat, path + ": an array of shape " + to_string(shape) + " with elements of " +
                                        std::to_string(element_bytes) + " bytes is beyond 64-bit offsets");
  }
  return bytes;
}

void refuse_objects(const std::string& path, const ElementType& type) {
  if (type.kind == 'O') {
    throw Error(ErrorKind::kUnsupported, path + ": its elements are Python objects, which have no fixed bytes");
  }
  for (const ElementField& field : type.fields) refuse_objects(path, field.type);
}

const NewArray& only_array(const NewContents& contents, std::string_view format) {
  if (contents.arrays.size() != 1) {
    fail_argument("a " + std::string(format) + " file holds one array, not " + std::to_string(contents.arrays.size()));
  }
  const NewArray& array = contents.arrays.front();
  if (array.fill && std::ssize(*array.fill) != array.type.bytes) {
    fail_argument("a fill value of " + std::to_string(array.fill->size()) + " bytes; expected one element, " +
                  std::to_string(array.type.bytes) + " bytes");
  }
  return array;
}

void refuse_names_and_chunks(const NewArray& array, std::string_view format) {
  const std::string file = "a " + std::string(format) + " file";
  if (array.variable || array.dimensions || !array.attributes.empty()) {
    fail_argument(file + " has no names and no attributes: leave out variable, dimensions and attributes, or choose " +
                  "netCDF, HDF5 or Zarr");
  }
  refuse_chunks(array, std::string(format));
  for (const bool grows : array.unlimited) {
    if (grows) fail_argument(file + " does not grow: give the first length, or choose netCDF, HDF5 or Zarr");
  }
}

}  // namespace swath::formats
