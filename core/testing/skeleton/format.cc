#include "testing/skeleton/format.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/math.h"
#include "formats/files.h"
#include "formats/one_array.h"
#include "formats/refusals.h"
#include "formats/text.h"
#include "layout/layout.h"

namespace swath::formats::skeleton {
namespace {

constexpr std::string_view kMagic = "SKELETON";  // at most 8 bytes: a format is recognised by no more
constexpr int64_t kAlignment = 64;
constexpr int64_t kHeaderBytesMax = 4096;

[[noreturn]] void fail_header(const std::string& path, const std::string& why) {
  throw Error(ErrorKind::kFormat, path + ": not a readable skeleton header (" + why + ")");
}

// The types that are stored: "<f8" or ">f8" is f8.
bool is_stored(std::string_view type) {
  const std::array types = {"b1", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"};
  if (type.empty() || std::string_view("<>|").find(type.front()) == std::string_view::npos) return false;
  return std::find(types.begin(), types.end(), type.substr(1)) != types.end();
}

// ---- Reading ----------------------------------------------------------------------------------------------------

// A header comes from anybody: every number in it is checked before it is used.
int64_t length_of(const std::string& path, const std::string& word) {
  int64_t length = 0;
  const char* const end = word.data() + word.size();
  const auto [last, error] = std::from_chars(word.data(), end, length);
  if (error != std::errc() || last != end || length < 0) fail_header(path, formats::quoted(word) + " is no length");
  return length;
}

Description described(const std::string& path, const Shape& shape, const ElementType& type, int64_t begin) {
  const int64_t bytes = bytes_of_array(path, shape, type.bytes, begin);
  std::vector<int> order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  Description description = one_array(path, "skeleton", shape, type);
  description.layout = StridedLayout{begin, strides_in_order(shape, type.bytes, order)};
  description.end = begin + bytes;
  return description;
}

Description read_header(const std::string& path, const StoredFile& file) {
  const std::string start = file.read(0, kHeaderBytesMax);
  const size_t end = start.find('\n');
  if (end == std::string::npos) {
    fail_header(path, "it has no end in its first " + std::to_string(kHeaderBytesMax) + " bytes");
  }
  std::istringstream words(start.substr(0, end));
  std::string magic;
  std::string type_word;
  words >> magic >> type_word;
  if (magic != kMagic)
    fail_header(path, "it begins with " + formats::quoted(magic) + ", not with " + std::string(kMagic));
  if (!is_stored(type_word)) fail_header(path, formats::quoted(type_word) + " is no type of numbers");
  const ElementType type = ElementType::parse(type_word);
  Shape shape;
  for (std::string word; words >> word;) shape.push_back(length_of(path, word));
  return described(path, shape, type, ceil_div(static_cast<int64_t>(end) + 1, kAlignment) * kAlignment);
}

// ---- Writing ----------------------------------------------------------------------------------------------------

// Throws Error{kArgument} for what the format cannot store.
std::string new_header(const NewArray& array) {
  refuse_names_and_chunks(array, "skeleton");
  refuse_other_orders(array, "skeleton");
  if (!is_stored(array.type.to_string())) fail_argument("a skeleton file holds numbers, not " + array.type.to_string());
  std::string header = std::string(kMagic) + " " + array.type.to_string();
  for (const int64_t length : array.shape) header += " " + std::to_string(length);
  header += '\n';
  if (std::ssize(header) > kHeaderBytesMax) {
    fail_argument("a skeleton file has no room for " + std::to_string(array.shape.size()) + " dimensions: its header " +
                  "has at most " + std::to_string(kHeaderBytesMax) + " bytes");
  }
  header.resize(static_cast<size_t>(ceil_div(std::ssize(header), kAlignment) * kAlignment), ' ');
  return header;
}

class SkeletonFormat final : public Format {
 public:
  std::string_view name() const override { return "skeleton"; }
  bool holds_many() const override { return false; }
  std::vector<std::string_view> suffixes() const override { return {".skeleton"}; }
  bool matches(const std::string& /*path*/, std::string_view start) const override { return start == kMagic; }

  std::unique_ptr<FormatFile> open(const std::string& path, Changes* changes) const override {
    const StoredFile file(path);
    Description description = read_header(path, file);
    check_whole(description, file.bytes());
    return open_one_array(std::move(description), changes);
  }

  void create(const std::string& path, const NewContents& contents) const override {
    const NewArray& array = only_array(contents, name());
    const std::string header = new_header(array);
    create_stored_file(path, header, described(path, array.shape, array.type, std::ssize(header)).end);
  }

  std::vector<std::string> refusals(const NewContents& contents) const override {
    return refused([&] { new_header(only_array(contents, name())); });
  }
};

}  // namespace

const Format& format() {
  static const SkeletonFormat format;
  return format;
}

}  // namespace swath::formats::skeleton
