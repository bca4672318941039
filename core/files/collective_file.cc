#include "files/collective_file.h"

#include <cerrno>
#include <optional>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"
#include "files/array_form.h"
#include "files/chunk_room.h"
#include "files/first_rank.h"
#include "files/fitted.h"
#include "files/one_change.h"
#include "formats/added.h"
#include "formats/serialise.h"

namespace swath {

using formats::Description;
using formats::FormatFile;

std::vector<std::byte> CollectiveFile::Changed::serialise() const {
  ByteWriter writer;
  writer.put(std::string_view(reinterpret_cast<const char*>(result.data()), result.size()));
  writer.put(std::ssize(others));
  for (const Description& other : others) formats::put(writer, other);
  writer.put(is_other_file ? 1 : 0);
  return writer.take();
}

CollectiveFile::Changed CollectiveFile::Changed::parse(std::span<const std::byte> bytes) {
  ByteReader reader("what rank 0 changed", bytes);
  Changed changed;
  const std::string result = reader.text();
  const auto* const first = reinterpret_cast<const std::byte*>(result.data());
  changed.result.assign(first, first + result.size());
  for (int64_t i = reader.count(1); i > 0; --i) changed.others.push_back(formats::next_description(reader));
  changed.is_other_file = reader.flag("other file");
  return changed;
}

CollectiveFile::CollectiveFile(std::shared_ptr<Comm> comm, const formats::Format& format, Options options)
    : comm_(std::move(comm)), format_(format), options_(std::move(options)), new_file_(std::move(options_.new_file)) {
  FileChanges::Options given{.is_new = is_new(), .raw = options_.raw};
  given.refuse_stale = [this](FormatFile& file, OwnRows own) { refuse_stale(file, std::move(own)); };
  changes_ = std::make_shared<FileChanges>(format_, options_.path, std::move(given));
}

CollectiveFile::~CollectiveFile() = default;

void CollectiveFile::open_bytes() {
  const bool has_name = options_.minds_name && options_.mode == OpenMode::kReadWrite && comm_->rank() == 0;
  do {
    if (has_name) changes_->note_name(path());
    file_ =
        format_.is_folder() ? File::open_folder(path(), options_.how) : File::open(path(), options_.mode, options_.how);
  } while (has_name && changes_->is_replaced());
}

std::string CollectiveFile::words(const std::string& doing) const {
  return doing + " (" + final_path() + ", opened as number " + std::to_string(number()) + ")";
}

std::string CollectiveFile::identity_of(const Description& description) const {
  return swath::identity_of(description, final_path(), number());
}

// ---- What may be done ---------------------------------------------------------------------------------------------

// Also throws in a forked child of the process that opened the file.
void CollectiveFile::refuse_closed(const std::string& doing) const {
  if (is_closed_) fail_argument(doing + " " + final_path() + ": the file is closed; open it again");
  if (changes_->is_forked()) {
    fail_argument(doing + " " + final_path() +
                  ": the process that has the file open was forked, and this is its child: open the file again here");
  }
}

void CollectiveFile::refuse_changing(const std::string& doing) const {
  refuse_closed(doing);
  if (options_.mode != OpenMode::kReadWrite) {
    fail_argument(doing + " " + final_path() +
                  ": opened for reading; open it with mode=\"r+\" (in C++ with OpenMode::kReadWrite)");
  }
}

void CollectiveFile::refuse_writing(const std::string& doing) const {
  if (options_.mode != OpenMode::kReadWrite) refuse_changing(doing);
  changes_->refuse_replaced(doing);
}

// Compares the file with the contents that this handle has read. If it was opened for one array, compares open arrays'
// shapes.
void CollectiveFile::refuse_stale(FormatFile& file, OwnRows own) const {
  Shapes opened;
  if (!options_.contents) {
    for (const auto& array : arrays()) opened[array->path()] = array->shape();
  }
  const std::optional<Records> records = [&] {  // a copy: reading the file below may wait, so no lock is held
    const std::lock_guard guard(knowing_.get());
    return records_;
  }();
  own.contents = options_.contents ? &*options_.contents : nullptr;
  own.records = records ? &*records : nullptr;
  swath::refuse_stale(final_path(), file, own, opened);
}

// ---- Its arrays ---------------------------------------------------------------------------------------------------

std::shared_ptr<StoredArray> CollectiveFile::make_array(const Description& description, bool is_new) {
  Array::Options given;
  given.form = array_form(description, identity_of(description));
  given.chunks = coded_chunks(description);
  given.fill = description.fill;
  given.name = final_path();
  given.is_new = is_new;
  StoredArray::Known known{.path = description.variable.value_or("")};
  known.can_grow = !description.unlimited.empty() && description.unlimited.front();
  known.may_get_chunk_places = may_have_chunk_table(description);
  known.description = std::make_shared<const Description>(description);
  return make_array(std::move(given), std::move(known));
}

// A growing array does not count as new: the file fills its rows that no rank writes.
std::shared_ptr<StoredArray> CollectiveFile::make_array(Array::Options given, StoredArray::Known known) {
  given.is_new = given.is_new && !known.can_grow;
  known.can_grow = known.can_grow || (format_.is_folder() && !given.form->shape().empty());
  given.learning = options_.learning;
  if (known.may_get_chunk_places) given.allocator = std::make_shared<ChunkRoom>(changes_, known.path);
  auto array = std::make_shared<StoredArray>(comm_, file_, given, std::move(known));
  const std::lock_guard guard(knowing_.get());
  arrays_[array->path()] = array;
  return array;
}

std::vector<std::shared_ptr<StoredArray>> CollectiveFile::arrays() const {
  std::vector<std::shared_ptr<StoredArray>> found;
  const std::lock_guard guard(knowing_.get());
  for (const auto& [path, known] : arrays_) {
    if (auto array = known.lock()) found.push_back(std::move(array));
  }
  return found;
}

std::shared_ptr<StoredArray> CollectiveFile::array_called(const std::string& variable) const {
  const std::lock_guard guard(knowing_.get());
  const auto known = arrays_.find(variable);
  return known == arrays_.end() ? nullptr : known->second.lock();
}

void CollectiveFile::note_written(const StoredArray& array) {
  has_written_ = true;
  const Shape shape = array.shape();
  const std::lock_guard guard(knowing_.get());
  if (records_ && !shape.empty()) records_->has_rows(array.path(), shape.front());
}

// ---- Changes of what it holds -------------------------------------------------------------------------------------

namespace {

// Adds the path to errors about arguments that do not name it.
template <typename Work>
void name_file(const std::string& path, const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    const bool is_of_arguments = error.kind() == ErrorKind::kArgument || error.os_error() == EEXIST;
    if (!is_of_arguments || std::string_view(error.what()).find(path) != std::string_view::npos) throw;
    throw Error(error.kind(), path + ": " + error.what(), error.os_error());
  }
}

}  // namespace

// Current descriptions of the open arrays. Extends those that have rows appended by this handle that the file does not
// count yet.
std::vector<Description> CollectiveFile::described_again(FormatFile& file) const {
  std::vector<Description> found;
  for (const auto& array : arrays()) {
    Description described = file.describe(array->path());
    const std::optional<int64_t> rows = known_rows(array->path());
    if (rows && *rows > described.shape.front()) described = file.extend(array->path(), *rows, std::nullopt);
    found.push_back(std::move(described));
  }
  return found;
}

std::vector<std::byte> CollectiveFile::change(const std::string& words,
                                              const std::function<std::vector<std::byte>(FormatFile&)>& work) {
  const OneChange one_change(changing_);
  finish_started();
  Changed changed = Changed::parse(change_on_first_rank(*comm_, words, [&] {
    refuse_changing("change");
    return changes_->change([&](FormatFile& file) {
      Changed made;
      name_file(path(), [&] { made.result = work(file); });
      const auto [has_moved, is_other_file] = changes_->moved();
      made.is_other_file = is_other_file;
      if (has_moved || is_other_file) made.others = described_again(file);
      return made.serialise();
    });
  }));
  apply(changed);
  return std::move(changed.result);
}

Description CollectiveFile::add(const std::string& words, const std::function<formats::NewArray()>& make) {
  const OneChange one_change(changing_);
  formats::Contents& contents = listed();
  const Description added = formats::parse_description(change(
      words, [&](FormatFile& file) { return formats::serialise(add_on_first(file, fitted(contents, make()))); }));
  add_to(contents, added);
  if (!added.unlimited.empty() && added.unlimited.front()) begin_records(added.variable.value_or(""));
  return added;
}

// If the format can only store another element type, undoes the change and throws; another byte order is allowed.
Description CollectiveFile::add_on_first(FormatFile& file, const formats::NewArray& array) {
  std::optional<Mark> before;
  if (!file.may_delay(array)) before = changes_->mark();
  Description made = file.add(array);
  if (made.type == array.type) {
    if (array.fill) made.fill = *array.fill;
    return made;
  }
  if (made.type.in_byte_order(formats::kIsBigEndianHere) != array.type.in_byte_order(formats::kIsBigEndianHere)) {
    if (before) changes_->undo(before);
    fail_argument(made.format + " cannot store type " + array.type.words() + " as it is, only " + made.type.words() +
                  ": ask for that, or choose another format");
  }
  if (array.fill) {
    made.fill = *array.fill;
    formats::swap_bytes(made.type, made.fill);
  }
  return made;
}

void CollectiveFile::set_attributes(const std::string& words, const std::string& holder,
                                    const std::function<formats::Attributes()>& make) {
  change(words, [&](FormatFile& file) {
    file.set_attributes(holder, make());
    return std::vector<std::byte>();
  });
}

void CollectiveFile::apply(Changed& changed) {
  changes_->note_changed();
  if (changed.is_other_file) {
    run_collectively(*comm_, question_of(words("open again")), [&] { open_bytes(); });
  }
  for (Description& other : changed.others) {
    const auto array = array_called(other.variable.value_or(""));
    if (array == nullptr) continue;
    const std::string identity = identity_of(other);
    array->relocate_to(std::move(other), identity, file_);
  }
}

Array::Stored CollectiveFile::allocate(StoredArray& array) {
  Description described = formats::parse_description(on_first_rank(
      *comm_, words("allocate " + array.path()), [&] { return formats::serialise(changes_->allocate(array.path())); }));
  const std::string identity = identity_of(described);
  return array.describe(std::move(described), identity);
}

}  // namespace swath
