#include "formats/raw/raw.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "formats/files.h"
#include "formats/one_array.h"
#include "formats/refusals.h"
#include "layout/layout.h"

namespace swath::formats::raw {
namespace {

// Throws Error{kArgument} unless `order` has each dimension once.
std::vector<int> checked_order(const std::vector<int>& order, size_t dimensions) {
  std::vector<int> every(dimensions);
  std::iota(every.begin(), every.end(), 0);
  if (order.empty()) return every;
  if (std::is_permutation(order.begin(), order.end(), every.begin(), every.end())) return order;
  fail_argument("order " + tuple_text({order.begin(), order.end()}) + ": expected each of the dimensions 0 to " +
                std::to_string(dimensions) + " (excluded) once, from slowest to fastest");
}

// Throws Error{kArgument} for impossible lengths, types and offsets.
void check(const std::string& path, const RawElements& elements) {
  for (const int64_t length : elements.shape) {
    if (length < 0) fail_argument(path + ": the shape " + to_string(elements.shape) + " has a negative length");
  }
  refuse_objects(path, elements.type);
  if (elements.type.bytes < 1) {
    fail_argument(path + ": the type " + elements.type.to_string() + " has no fixed number of bytes");
  }
  if (elements.offset < 0) fail_argument(path + ": offset " + std::to_string(elements.offset) + " must be at least 0");
}

Description described(const std::string& path, const RawElements& elements) {
  check(path, elements);
  const auto order = checked_order(elements.order, elements.shape.size());
  const int64_t bytes = bytes_of_array(path, elements.shape, elements.type.bytes, elements.offset);
  Description description = one_array(path, "raw", elements.shape, elements.type);
  description.layout = StridedLayout{elements.offset, strides_in_order(elements.shape, elements.type.bytes, order)};
  description.end = bytes == 0 ? 0 : elements.offset + bytes;
  return description;
}

RawElements elements_of(const NewArray& array) {
  refuse_names_and_chunks(array, "raw");
  return {array.shape, array.type, array.order};
}

class RawFormat final : public Format {
 public:
  std::string_view name() const override { return "raw"; }
  bool holds_many() const override { return false; }
  bool describes_itself() const override { return false; }
  std::vector<std::string_view> suffixes() const override { return {".raw", ".bin", ".dat", ""}; }
  bool matches(const std::string& /*path*/, std::string_view /*start*/) const override { return false; }

  std::unique_ptr<FormatFile> open(const std::string& path, Changes* /*changes*/) const override {
    fail_argument(path + ": a raw file does not say what it holds: give its shape and type");
  }

  void create(const std::string& path, const NewContents& contents) const override {
    create_stored_file(path, "", described(path, elements_of(only_array(contents, name()))).end);
  }

  std::vector<std::string> refusals(const NewContents& contents) const override {
    return refused([&] { described("a raw file", elements_of(only_array(contents, name()))); });
  }
};

}  // namespace

const Format& format() {
  static const RawFormat format;
  return format;
}

std::unique_ptr<FormatFile> open(const std::string& path, const RawElements& elements) {
  Description description = described(path, elements);
  check_whole(description, StoredFile(path).bytes());
  return open_one_array(std::move(description), nullptr);
}

}  // namespace swath::formats::raw
