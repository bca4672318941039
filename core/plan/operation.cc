#include "plan/operation.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "base/hash.h"

namespace swath {
namespace {

constexpr int64_t kMagic = 0x31504f4854415753;  // "SWATHOP1" in a hex dump
constexpr int64_t kVersion = 2;
constexpr std::string_view kWhat = "operation";
constexpr int64_t kExtentLimit = int64_t{1} << 62;

uint64_t key_of(const ArrayForm& array) {
  ByteWriter writer;
  array.write(writer);
  return hash_bytes(writer.bytes());
}

// "[3, 10:20:2, 9::-1]", as NumPy would have it.
std::string to_text(const Selection& selection) {
  std::string text;
  for (const auto& [start, step, count, dropped] : selection) {
    text += text.empty() ? "" : ", ";
    text += std::to_string(start);
    if (dropped) continue;
    const int64_t stop = start + count * step;
    text += ":" + (stop >= 0 ? std::to_string(stop) : "") + (step == 1 ? "" : ":" + std::to_string(step));
  }
  return "[" + text + "]";
}

void check_selection(const Selection& selection, const Shape& shape) {
  if (selection.size() != shape.size()) {
    fail_argument("selection " + to_text(selection) + " of an array of " + std::to_string(shape.size()) +
                  " dimensions; expected one index or slice a dimension");
  }
  for (size_t d = 0; d < shape.size(); ++d) {
    if (!lies_within(selection[d], shape[d])) {
      fail_argument("selection " + to_text(selection) + ": dimension " + std::to_string(d) +
                    " leaves the array, which is " + std::to_string(shape[d]) + " long");
    }
  }
}

void check_tuning(const TuningSettings& settings) {
  Tuning tuning;
  AskedTuning asked;
  apply(settings, tuning, asked);
}

}  // namespace

std::string to_string(Direction direction) { return direction == Direction::kRead ? "read" : "write"; }

ArrayForm::ArrayForm(std::string identity, Shape shape, int64_t element_bytes, std::shared_ptr<const Layout> layout)
    : identity_(std::move(identity)),
      shape_(std::move(shape)),
      element_bytes_(element_bytes),
      layout_(std::move(layout)),
      key_(key_of(*this)) {
  if (layout_ != nullptr && (layout_->shape() != shape_ || layout_->element_bytes() != element_bytes_)) {
    fail_argument("array " + identity_ + ": a layout of other elements");
  }
}

void ArrayForm::write(ByteWriter& writer) const {
  writer.put(identity_);
  writer.put(shape_);
  writer.put(element_bytes_);
  writer.put(layout_ == nullptr ? 0 : 1);
  if (layout_ != nullptr) layout_->write(writer);
}

ArrayForm ArrayForm::read(ByteReader& reader) {
  std::string identity = reader.text();
  Shape shape(static_cast<size_t>(reader.count(8)));
  for (int64_t& extent : shape) extent = reader.number_in(0, kExtentLimit, "an extent");
  const int64_t element_bytes = reader.number_in(1, kExtentLimit, "the bytes of an element");
  std::shared_ptr<const Layout> layout;
  if (reader.flag("a layout")) layout = std::make_shared<const Layout>(Layout::read(reader, shape, element_bytes));
  return {std::move(identity), std::move(shape), element_bytes, std::move(layout)};
}

Operation::Operation(std::shared_ptr<const ArrayForm> array, Access access)
    : array_(std::move(array)), access_(std::move(access)) {
  std::sort(access_.tuning.begin(), access_.tuning.end());
  check_selection(decomposition().selection(), array_->shape());
  check_tuning(tuning());
  ByteWriter writer;
  write_access(writer, false);
  access_bytes_ = writer.take();
  const std::array<uint64_t, 2> keys{array_->key(), hash_bytes(access_bytes_)};
  key_ = hash_bytes(std::as_bytes(std::span(keys)));
}

void Operation::write_access(ByteWriter& writer, bool with_gathered) const {
  writer.put(static_cast<int64_t>(direction()));
  writer.put(static_cast<int64_t>(method()));
  writer.put(static_cast<int64_t>(inner()));
  writer.put(std::ssize(tuning()));
  for (const auto& [name, value] : tuning()) {
    writer.put(name);
    writer.put(value);
  }
  decomposition().write(writer, with_gathered);
}

Request request_of(const Operation& operation) {
  Request request;
  request.direction = operation.direction();
  request.layout = operation.array().layout();
  request.decomposition = operation.decomposition();
  request.method = operation.method();
  apply(operation.tuning(), request.tuning, request.asked_tuning);
  request.tuning.inner = operation.inner();
  request.asked_tuning.inner = operation.inner() != Method::kAuto;
  return request;
}

Operation Operation::with_gathered(const std::vector<std::vector<std::byte>>& gathered_by_rank) const {
  return with_decomposition(decomposition().with_gathered(gathered_by_rank, array_->shape()));
}

Operation Operation::with_decomposition(Decomposition decomposition) const {
  Access access = access_;
  access.decomposition = std::move(decomposition);
  return {array_, std::move(access)};
}

std::vector<std::byte> Operation::serialise() const {
  ByteWriter writer;
  writer.put(kMagic);
  writer.put(kVersion);
  array_->write(writer);
  write_access(writer, true);
  return writer.take();
}

Operation Operation::parse(std::span<const std::byte> bytes) {
  ByteReader reader(kWhat, bytes);
  try {
    Operation operation = read(reader);
    reader.expect_end();
    if (!std::ranges::equal(operation.serialise(), bytes)) reader.fail("not as Swath writes it");
    return operation;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kFormat) throw;
    reader.fail(error.what());
  }
}

Operation Operation::parse_parts(std::span<const std::byte> array, std::span<const std::byte> access,
                                 const std::vector<std::vector<std::byte>>& shares) {
  ByteWriter writer;
  writer.put(kMagic);
  writer.put(kVersion);
  writer.put_raw(array);
  writer.put_raw(access);
  for (const auto& share : shares) writer.put_raw(share);
  return parse(writer.bytes());
}

Operation Operation::read(ByteReader& reader) {
  if (reader.number() != kMagic) reader.fail("this is no operation of Swath");
  const int64_t version = reader.number();
  if (version != kVersion) {
    reader.fail("version " + std::to_string(version) + "; this Swath knows version " + std::to_string(kVersion));
  }
  auto array = std::make_shared<const ArrayForm>(ArrayForm::read(reader));
  Access access;
  access.direction = static_cast<Direction>(reader.number_in(0, 2, "the direction"));
  access.method = static_cast<Method>(reader.number_in(0, 5, "the method"));
  access.inner = static_cast<Method>(reader.number_in(0, 5, "the method of windows"));
  access.tuning.resize(static_cast<size_t>(reader.count(16)));
  for (auto& [name, value] : access.tuning) {
    name = reader.text();
    value = reader.number();
  }
  access.decomposition = Decomposition::read(reader, array->shape());
  return {std::move(array), std::move(access)};
}

std::string Operation::words() const {
  std::string text = swath::to_string(direction()) + " " + array_->identity();
  text += "\ndistribution=" + (decomposition().is_boxes()   ? "boxes"
                               : decomposition().is_views() ? "views"
                                                            : decomposition().to_string());
  if (!decomposition().is_gathered()) text += "\nselection=" + to_text(decomposition().selection());
  text += "\nmethod='" + swath::to_string(MethodChoice{method(), inner()}) + "'";
  for (const auto& [name, value] : tuning()) text += "\ntuning[" + name + "]=" + std::to_string(value);
  return text;
}

}  // namespace swath
