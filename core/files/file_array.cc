#include "files/file_array.h"

#include <mutex>
#include <utility>
#include <variant>
#include <vector>

#include "array/array.h"
#include "array/file.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "comm/agreement.h"
#include "files/array_form.h"
#include "files/data_file.h"
#include "files/data_file_chunks.h"
#include "formats/description.h"
#include "plan/explain.h"

namespace swath {
namespace {

int64_t share_bytes(const Decomposition& whose, int rank, int64_t element_bytes) {
  int64_t bytes = 0;
  for (const Part& part : whose.parts(rank, element_bytes)) bytes += part.count() * element_bytes;
  return bytes;
}

// Records [first, last) as NumPy selects them; one record has no dimension of records.
Selection select_records(const Shape& shape, int64_t first, int64_t last, bool is_one) {
  Selection selection = select_all(shape);
  selection.front() = {.start = first, .step = 1, .count = last - first, .dropped = is_one};
  return selection;
}

// "chunks of (1, 45, 90), shuffle, zlib".
std::string words_of_chunks(const formats::Description& description) {
  const auto* coded = std::get_if<formats::CodedPlaces>(&description.places);
  if (coded == nullptr) return "chunks";
  std::string words = "chunks of " + to_string(coded->chunk_shape);
  for (const Codec& codec : coded->codecs) words += ", " + to_string(codec.kind);
  return words;
}

}  // namespace

FileArray::FileArray(std::weak_ptr<DataFile> file, formats::Description description, std::unique_ptr<Array> array)
    : file_(std::move(file)),
      path_(description.variable.value_or("")),
      name_(description.name()),
      description_(std::make_unique<formats::Description>(std::move(description))),
      array_(std::move(array)) {}

FileArray::~FileArray() = default;

const Shape& FileArray::shape() const { return description_->shape; }
const formats::ElementType& FileArray::type() const { return description_->type; }
bool FileArray::grows() const { return !description_->unlimited.empty() && description_->unlimited.front(); }

std::shared_ptr<DataFile> FileArray::file(const char* doing) const {
  auto file = file_.lock();
  if (file == nullptr || file->is_closed()) {
    fail_argument(std::string(doing) + " " + name_ + ": the file is closed; open it again");
  }
  return file;
}

int FileArray::rank_in(const Decomposition& whose) const {
  const int rank = array_->comm().rank();
  return rank < whose.ranks() ? rank : whose.ranks() - 1;
}

void FileArray::check_type(const formats::ElementType* in_memory, const std::string& doing) const {
  const formats::ElementType own = type().in_byte_order(formats::kIsBigEndianHere);
  if (in_memory == nullptr || *in_memory == own) return;
  fail_argument(doing + " " + name_ + ": its elements are " + own.words() + ", those in memory " + in_memory->words() +
                ": convert them, or give the bytes of elements of the array's type");
}

void FileArray::move(Direction direction, const formats::ElementType* in_memory, const Decomposition& whose,
                     std::span<std::byte> values) {
  const Operation operation(array_->form(), {direction, whose});
  const int rank = rank_in(whose);
  const std::optional<Error> failure = failure_of([&] {
    if (direction == Direction::kWrite) file("write")->refuse_writing("write");
    check_type(in_memory, to_string(direction));
    const int64_t wanted = share_bytes(whose, rank, description_->type.bytes);
    if (std::ssize(values) == wanted) return;
    fail_argument(to_string(direction) + " " + name_ + ": memory of " + std::to_string(values.size()) +
                  " bytes; this rank's share has " + std::to_string(wanted));
  });
  if (failure && (array_->comm().size() == 1 || whose.ranks() == 1)) throw *failure;
  if (failure) array_->refuse(&operation, *failure);
  Array::Companions companions;
  if (direction == Direction::kWrite && has_absent_chunks(*description_)) {
    companions.relocate = [this] {
      const auto held = this->file("write");
      relocate(*held);
      const std::string identity = identity_of(*description_, held->final_path_, held->number_);
      return Array::Stored{array_form(*description_, identity), coded_chunks(*description_)};
    };
  }
  array_->execute(operation, packed_memory(whose, rank, description_->type.bytes, values.data()), companions);
}

bool FileArray::is_moved_by_us() const { return !std::holds_alternative<formats::LibraryPlaces>(description_->places); }

void FileArray::relocate(DataFile& file) { *description_ = file.allocated(*this); }

void FileArray::read(const Decomposition& whose, std::span<std::byte> values) { read_as(nullptr, whose, values); }

void FileArray::read_as(const formats::ElementType* in_memory, const Decomposition& whose,
                        std::span<std::byte> values) {
  const auto held = file("read");
  move(Direction::kRead, in_memory, whose, values);
  const formats::ElementType& type = description_->type;
  if (type != type.in_byte_order(formats::kIsBigEndianHere)) swap_bytes(type, values);
}

void FileArray::write(const Decomposition& whose, std::span<const std::byte> values) {
  write_as(nullptr, whose, values);
}

void FileArray::write_as(const formats::ElementType* in_memory, const Decomposition& whose,
                         std::span<const std::byte> values) {
  const auto held = file("write");
  // Whose chunks get places changes what the file holds: before the file's other changes, or behind them.
  std::unique_lock one_change(held->changing_.get(), std::defer_lock);
  if (may_have_chunk_table(*description_) || has_absent_chunks(*description_)) one_change.lock();
  write_unchecked(in_memory, whose, values);
  held->has_written(*this);
}

void FileArray::write_unchecked(const formats::ElementType* in_memory, const Decomposition& whose,
                                std::span<const std::byte> values) {
  const formats::ElementType& type = description_->type;
  if (type == type.in_byte_order(formats::kIsBigEndianHere)) {
    // What is written is only read from.
    move(Direction::kWrite, in_memory, whose, {const_cast<std::byte*>(values.data()), values.size()});
    return;
  }
  std::vector<std::byte> stored(values.begin(), values.end());
  swap_bytes(type, stored);
  move(Direction::kWrite, in_memory, whose, stored);
}

void FileArray::append(const Distribution& distribution, std::span<const std::byte> values, int64_t records) {
  append_as(nullptr, distribution, values, records);
}

void FileArray::append_as(const formats::ElementType* in_memory, const Distribution& distribution,
                          std::span<const std::byte> values, int64_t records) {
  const auto held = file("append to");
  const std::lock_guard one_change(held->changing_.get());
  const InterruptScope uninterrupted([] { return false; });
  const int64_t first = held->rows_to_append_to(*this, in_memory);
  const int64_t last = first + records;
  const std::string words = held->words("append " + std::to_string(records) + " records to " + name_);
  bool has_room = false;
  try {
    held->extend(*this, last, first, words + ": from row " + std::to_string(first));
    has_room = true;
    const Selection rows = select_records(shape(), first, last, records == 1);
    write_unchecked(in_memory, Decomposition::distributed(distribution, rows, array_->comm().size()), values);
  } catch (const Error&) {  // thrown on all ranks alike
    if (has_room) {
      held->extend(*this, first, std::nullopt, words + ": taken back");
      held->records().set_rows(path_, first);
    }
    throw;
  }
  held->wrote(path_, last);
}

void FileArray::fill_rows(int64_t first, int64_t last) {
  if (element_count(shape()) == 0) return;
  const int ranks = array_->comm().size();
  std::vector<DimensionRule> rules(shape().size());
  rules.front().kind = DimensionRule::Kind::kBlock;
  std::vector<int64_t> grid(shape().size(), 1);
  grid.front() = ranks;
  const auto whose =
      Decomposition::distributed(Distribution(rules, grid), select_records(shape(), first, last, false), ranks);
  // It takes no memory: every element is the same one.
  LocalMemory memory{.is_packed = false};
  memory.parts = whose.parts(rank_in(whose), description_->type.bytes);
  for (Part& part : memory.parts) {
    part.memory_origin = 0;
    part.memory_strides.assign(part.memory_strides.size(), 0);
    memory.addresses.push_back(description_->fill.data());
  }
  array_->execute(Operation(array_->form(), {Direction::kWrite, whose}), memory);
}

std::string FileArray::explain(Direction direction, const Decomposition& whose) {
  const Operation operation(array_->form(), {direction, whose});
  if (!array_->goes_by_chunks(direction)) return swath::explain(*array_->explain(operation, std::nullopt), name_);
  return swath::explain(*array_->explain_chunks(operation, std::nullopt), name_, words_of_chunks(*description_));
}

void FileArray::become(formats::Description description, const std::string& identity, std::shared_ptr<File> file) {
  const auto form = array_form(description, identity);
  const auto chunks = coded_chunks(description);
  *description_ = std::move(description);
  array_->become({form, chunks}, std::move(file));
}

}  // namespace swath
