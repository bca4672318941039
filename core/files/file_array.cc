#include "files/file_array.h"

#include <mutex>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"
#include "comm/agreement.h"
#include "files/array_form.h"
#include "files/byte_order.h"
#include "files/collective_file.h"
#include "files/data_file.h"
#include "formats/description.h"
#include "plan/explain.h"
#include "plan/method.h"

namespace swath {
namespace {

int64_t share_bytes(const Decomposition& whose, int rank, int64_t element_bytes) {
  int64_t bytes = 0;
  for (const Part& part : whose.parts(rank, element_bytes)) bytes += part.count() * element_bytes;
  return bytes;
}

// Selects records [first, last). `is_one`: a single record, without the records dimension.
Selection select_records(const Shape& shape, int64_t first, int64_t last, bool is_one) {
  Selection selection = select_all(shape);
  selection.front() = {.start = first, .step = 1, .count = last - first, .dropped = is_one};
  return selection;
}

// "chunks of (1, 45, 90), shuffle, zlib".
std::string words_of_chunks(const formats::Description& description) {
  const auto* coded = std::get_if<formats::CodedLayout>(&description.layout);
  if (coded == nullptr) return "chunks";
  std::string words = "chunks of " + to_string(coded->chunk_shape);
  for (const Codec& codec : coded->codecs) words += ", " + to_string(codec.kind);
  return words;
}

}  // namespace

FileArray::FileArray(std::weak_ptr<DataFile> file, std::shared_ptr<StoredArray> array)
    : file_(std::move(file)),
      path_(array->path()),
      name_(array->description()->name()),
      array_(std::move(array)),
      method_(std::make_unique<MethodChoice>()) {}

FileArray::~FileArray() = default;

void FileArray::set_method(const std::string& name) { *method_ = parse_choice(name); }

const formats::Description& FileArray::description() const { return *array_->description(); }
const Shape& FileArray::shape() const { return description().shape; }
const formats::ElementType& FileArray::type() const { return description().type; }
bool FileArray::grows() const { return !description().unlimited.empty() && description().unlimited.front(); }
Array& FileArray::array() { return *array_; }

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

bool FileArray::is_in_byte_order() const { return type() == type().in_byte_order(formats::kIsBigEndianHere); }

bool FileArray::is_alone(const Decomposition& whose) const { return array_->comm().size() == 1 || whose.ranks() == 1; }

// ---- Memory ---------------------------------------------------------------------------------------------------------

FileArray::MakeMemory FileArray::packed(const formats::ElementType* in_memory, std::span<std::byte> values) const {
  return [this, in_memory, values](Direction direction, const Decomposition& whose) {
    check_type(in_memory, to_string(direction));
    const int rank = rank_in(whose);
    const int64_t bytes = type().bytes;
    if (const int64_t wanted = share_bytes(whose, rank, bytes); std::ssize(values) != wanted) {
      fail_argument(to_string(direction) + " " + name_ + ": memory of " + std::to_string(values.size()) +
                    " bytes; this rank's share has " + std::to_string(wanted));
    }
    return packed_memory(whose, rank, bytes, values.data());
  };
}

FileArray::MakeMemory FileArray::placed(const PartsInMemory& given) const {
  return [this, &given](Direction direction, const Decomposition& whose) {
    LocalMemory memory;
    memory.parts = whose.parts(rank_in(whose), type().bytes);
    const std::string doing = to_string(direction) + " " + name_ + ": ";
    if (given.size() != memory.parts.size()) {
      fail_argument(doing + "memory for " + std::to_string(given.size()) + " parts; this rank's share has " +
                    std::to_string(memory.parts.size()));
    }
    const size_t dimensions = selected_shape(whose.selection()).size();
    for (size_t i = 0; i < given.size(); ++i) {
      Part& part = memory.parts[i];
      if (given[i].first == nullptr && part.count() > 0) {
        fail_argument(doing + "no memory (null) for a part of " + std::to_string(part.count()) + " elements");
      }
      memory.addresses.push_back(given[i].first);
      if (!given[i].strides) continue;
      if (given[i].strides->size() != dimensions) {
        fail_argument(doing + std::to_string(given[i].strides->size()) + " strides for " + std::to_string(dimensions) +
                      " dimensions");
      }
      place_in_memory(part, whose.selection(), *given[i].strides);
      memory.is_packed = false;
    }
    return memory;
  };
}

// ---- Reads and writes -----------------------------------------------------------------------------------------------

struct FileArray::Prepared {
  Operation operation;
  LocalMemory memory;
};

void FileArray::refuse_what_the_library_moves(Direction direction) const {
  if (array_->is_moved_by_us()) return;
  throw Error(ErrorKind::kUnsupported,
              to_string(direction) + " " + name_ + ": " +
                  std::get<formats::LibraryLayout>(description().layout).reason +
                  ": only HDF5's own library moves its elements, which Python's swath.open() calls; copy it into a "
                  "variable of another storage (h5repack, swath copy)");
}

// Throws if one rank writes alone and the write must allocate chunks: allocation is collective.
void FileArray::check_alone(Direction direction, const Decomposition& whose) const {
  if (direction == Direction::kRead || whose.ranks() > 1 || array_->comm().size() == 1) return;
  if (!may_have_chunk_table(description()) && !has_absent_chunks(description())) return;
  fail_argument("write " + name_ +
                " by one rank alone: its chunks get their places in the file, which all ranks give them together: let "
                "all ranks write, those that have nothing an empty share");
}

FileArray::Prepared FileArray::prepare(Direction direction, const Decomposition& whose, const MakeMemory& make,
                                       Failing failing) const {
  std::optional<Operation> operation;
  LocalMemory memory;
  const std::optional<Error> failure = failure_of([&] {
    refuse_what_the_library_moves(direction);
    operation.emplace(array_->form(), Operation::Access{direction, whose, method_->method, {}, method_->inner});
    if (direction == Direction::kWrite) file("write")->file_->refuse_writing("write");
    check_alone(direction, whose);
    memory = make(direction, whose);
  });
  if (!failure) return {std::move(*operation), std::move(memory)};
  if (failing == Failing::kThrow || is_alone(whose)) throw *failure;
  array_->refuse(operation ? &*operation : nullptr, *failure);
}

void FileArray::refuse(const Error& error) { array_->refuse(nullptr, error); }

void FileArray::read(const Decomposition& whose, std::span<std::byte> values) { read_as(nullptr, whose, values); }

void FileArray::read_placed(const Decomposition& whose, const PartsInMemory& parts) { read_into(whose, placed(parts)); }

void FileArray::read_as(const formats::ElementType* in_memory, const Decomposition& whose,
                        std::span<std::byte> values) {
  read_into(whose, packed(in_memory, values));
}

void FileArray::read_into(const Decomposition& whose, const MakeMemory& make) {
  const auto held = file("read");
  const auto [operation, memory] = prepare(Direction::kRead, whose, make);
  array_->execute(operation, memory, {});
  if (!is_in_byte_order()) swap_in_place(type(), memory);
}

void FileArray::write(const Decomposition& whose, std::span<const std::byte> values) {
  write_as(nullptr, whose, values);
}

void FileArray::write_placed(const Decomposition& whose, const PartsInMemory& parts) {
  write_from(whose, placed(parts));
}

// The const_cast is safe: a write only reads this memory.
void FileArray::write_as(const formats::ElementType* in_memory, const Decomposition& whose,
                         std::span<const std::byte> values) {
  write_from(whose, packed(in_memory, {const_cast<std::byte*>(values.data()), values.size()}));
}

void FileArray::write_from(const Decomposition& whose, const MakeMemory& make) {
  const auto held = file("write");
  // A write that allocates chunks changes the file's contents, so it must not overlap with other changes.
  std::unique_lock one_change(held->file_->changing().get(), std::defer_lock);
  if (may_have_chunk_table(description()) || has_absent_chunks(description())) one_change.lock();
  write_unchecked(whose, make);
  held->file_->note_written(*array_);
}

void FileArray::write_unchecked(const Decomposition& whose, const MakeMemory& make) {
  auto [operation, memory] = prepare(Direction::kWrite, whose, make);
  Array::ExecuteOptions execute_options;
  if (has_absent_chunks(description())) {
    execute_options.relocate = [this] { return file("write")->file_->allocate(*array_); };
  }
  std::vector<std::byte> stored;
  if (!is_in_byte_order()) memory = swapped_copy(whose, memory, stored);
  array_->execute(operation, memory, execute_options);
}

LocalMemory FileArray::swapped_copy(const Decomposition& whose, const LocalMemory& memory,
                                    std::vector<std::byte>& bytes) const {
  int64_t count = memory.view ? memory.view->view.bytes() : 0;
  for (const Part& part : memory.parts) count += part.count() * type().bytes;
  bytes.resize(static_cast<size_t>(count));
  LocalMemory stored = packed_memory(whose, rank_in(whose), type().bytes, bytes.data());
  copy_swapped(type(), memory, stored);
  return stored;
}

// ---- In the background ----------------------------------------------------------------------------------------------

StartedMove::StartedMove(std::optional<Future> future, std::function<void()> finish)
    : future_(future ? std::make_unique<Future>(std::move(*future)) : nullptr), finish_(std::move(finish)) {}
StartedMove::~StartedMove() = default;
StartedMove::StartedMove(StartedMove&&) noexcept = default;

void StartedMove::wait() {
  if (future_ != nullptr) future_->wait();
  if (const auto finish = std::exchange(finish_, nullptr)) finish();
}

bool FileArray::may_run_in_background(Direction direction) const {
  const bool gets_places = may_have_chunk_table(description()) || has_absent_chunks(description());
  return array_->may_run_in_background(direction) && (direction == Direction::kRead || !gets_places);
}

StartedMove FileArray::start(Direction direction, const Decomposition& whose, const PartsInMemory& parts) {
  if (!may_run_in_background(direction)) {
    direction == Direction::kRead ? read_placed(whose, parts) : write_placed(whose, parts);
    return StartedMove(std::nullopt);
  }
  const auto held = file("start an operation of");
  std::optional<Prepared> prepared;
  const std::optional<Error> failure =
      failure_of([&] { prepared = prepare(direction, whose, placed(parts), Failing::kThrow); });
  if (failure && is_alone(whose)) throw *failure;
  if (failure) return start_refused(direction, *failure);
  Array::ExecuteOptions execute_options;
  std::function<void()> finish;
  if (direction == Direction::kWrite && !is_in_byte_order()) {
    const auto stored = std::make_shared<std::vector<std::byte>>();
    prepared->memory = swapped_copy(whose, prepared->memory, *stored);
    execute_options.keep = stored;
  } else if (!is_in_byte_order()) {
    finish = [type = type(), memory = prepared->memory] { swap_in_place(type, memory); };
  }
  StartedMove started(array_->start(prepared->operation, prepared->memory, execute_options), std::move(finish));
  if (direction == Direction::kWrite) held->file_->note_written(*array_);
  return started;
}

StartedMove FileArray::start_refused(Direction direction, const Error& error) {
  if (!may_run_in_background(direction)) refuse(error);
  return StartedMove(array_->start_refused(nullptr, error));
}

// ---- Records --------------------------------------------------------------------------------------------------------

void FileArray::append(const Distribution& distribution, std::span<const std::byte> values, int64_t records) {
  append_as(nullptr, distribution, values, records);
}

void FileArray::append_placed(const Distribution& distribution, const PartInMemory& part, int64_t records) {
  const PartsInMemory parts{part};
  append_from(nullptr, distributed_rows(distribution, records), placed(parts), records);
}

void FileArray::append_boxes(const Boxes& boxes, const PartsInMemory& parts) {
  struct Count {
    int64_t elements;
    void combine(const Count& other) { elements += other.elements; }
  };
  Comm& comm = array_->comm();
  const auto with_row = [](const Shape& of_record, int64_t row) {
    Shape all{row};
    all.insert(all.end(), of_record.begin(), of_record.end());
    return all;
  };
  Count own{0};
  for (const Box& box : boxes) {
    int64_t elements = 1;
    for (size_t d = 0; d < box.begin.size(); ++d) elements *= std::max<int64_t>(box.end[d] - box.begin[d], 0);
    own.elements += elements;
  }
  PartsInMemory with_rows = parts;
  for (PartInMemory& part : with_rows) {
    if (part.strides) part.strides->insert(part.strides->begin(), 0);  // a box has one row
  }
  const Shape record = shape().empty() ? Shape{} : Shape(shape().begin() + 1, shape().end());
  // Written boxes do not overlap, so equal counts mean that every element is written.
  const bool writes_all = allreduce_record(comm, own).elements == element_count(record);
  const WhoseRows whose = [&](int64_t first, int64_t last) {
    Boxes of_rows;
    for (const Box& box : boxes) of_rows.push_back({with_row(box.begin, first), with_row(box.end, last)});
    return Decomposition::own_boxes(std::move(of_rows), comm.rank(), comm.size(), shape());
  };
  append_from(nullptr, whose, placed(with_rows), 1, writes_all);
}

FileArray::WhoseRows FileArray::distributed_rows(const Distribution& distribution, int64_t records) const {
  return [this, distribution, records](int64_t first, int64_t last) {
    return Decomposition::distributed(distribution, select_records(shape(), first, last, records == 1),
                                      array_->comm().size());
  };
}

void FileArray::append_as(const formats::ElementType* in_memory, const Distribution& distribution,
                          std::span<const std::byte> values, int64_t records) {
  append_from(in_memory, distributed_rows(distribution, records),
              packed(in_memory, {const_cast<std::byte*>(values.data()), values.size()}), records);
}

void FileArray::append_from(const formats::ElementType* in_memory, const WhoseRows& whose_rows, const MakeMemory& make,
                            int64_t records, bool writes_all) {
  const auto held = file("append to");
  const CollectiveFile::Appending appending{.writes_all = writes_all,
                                            .check = [&] { check_type(in_memory, "append to"); }};
  held->file_->append({{array_.get(), records}}, appending, [&](const std::vector<int64_t>& first) {
    std::optional<Decomposition> whose;
    const std::optional<Error> failure =
        failure_of([&] { whose = whose_rows(first.front(), first.front() + records); });
    if (failure) refuse(*failure);
    write_unchecked(*whose, make);
  });
}

std::string FileArray::explain(Direction direction, const Decomposition& whose) {
  refuse_what_the_library_moves(direction);
  const Operation operation(array_->form(), {direction, whose, method_->method, {}, method_->inner});
  if (!array_->goes_by_chunks(direction)) return swath::explain(*array_->explain(operation, std::nullopt), name_);
  return swath::explain(*array_->explain_chunks(operation, std::nullopt), name_, words_of_chunks(description()));
}

}  // namespace swath
