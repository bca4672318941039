#include "files/data_file.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "array/array.h"
#include "array/file.h"
#include "array/learning.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "files/array_form.h"
#include "files/chunk_room.h"
#include "files/file_array.h"
#include "files/file_changes.h"
#include "files/first_rank.h"
#include "files/fitted.h"
#include "files/one_change.h"
#include "formats/added.h"
#include "formats/all.h"
#include "formats/description.h"
#include "formats/files.h"
#include "formats/format.h"
#include "formats/raw/raw.h"
#include "formats/refusals.h"
#include "formats/serialise.h"
#include "plan/profile.h"
#include "store/atomic_file.h"
#include "throttle/throttled_engine.h"

namespace swath {

using formats::Attributes;
using formats::Contents;
using formats::Description;
using formats::Format;
using formats::FormatFile;
using formats::NewArray;

namespace {

// A number that no other opening of this process has.
int64_t next_number() {
  static std::atomic<int64_t> openings = 0;
  return ++openings;
}

// What ranks compare of a raw file.
std::string words_of(const std::optional<formats::RawElements>& raw) {
  if (!raw) return "";
  return "\nshape=" + to_string(raw->shape) + "\ntype=" + raw->type.to_string() +
         "\norder=" + formats::tuple_text({raw->order.begin(), raw->order.end()}) +
         "\noffset=" + std::to_string(raw->offset);
}

// What rank 0 says of a new file.
std::vector<std::byte> serialise(const AtomicFile& file, int64_t number, const Contents& contents) {
  ByteWriter writer;
  writer.put(std::string_view(file.final_path()));
  writer.put(std::string_view(file.working_path()));
  writer.put(std::string_view(file.options().replaced_path));
  writer.put(number);
  formats::put(writer, contents);
  return writer.take();
}

}  // namespace

// What rank 0 says after a change of what the file holds.
struct DataFile::Placed {
  std::optional<Description> changed;
  std::vector<Description> others;  // arrays that are open, and that the change has moved
  bool is_other_file = false;       // the name is another file's now, with more in it
};

DataFile::DataFile(std::shared_ptr<Comm> comm, const Format& format, OpenMode mode, DataFileOptions options)
    : comm_(std::move(comm)), format_(format), mode_(mode), options_(std::move(options)) {
  const auto profile = options_.profile ? options_.profile : std::make_shared<const Profile>(default_profile());
  learning_ = std::make_shared<Learning>(profile, false);
}

std::shared_ptr<DataFile> DataFile::open(std::shared_ptr<Comm> comm, const std::string& path, OpenMode mode,
                                         const DataFileOptions& options) {
  const CollectiveTurnScope turn(comm->size() > 1 ? &comm->turn() : nullptr, "open", path);
  const std::string words =
      "open file " + path + "\nmode=" + (mode == OpenMode::kRead ? "r" : "r+") + words_of(options.raw);
  std::unique_ptr<FormatFile> metadata;
  const auto found = on_first_rank(*comm, words, [&] {
    repair(path);
    const Format& found_format = options.raw ? formats::raw::format() : formats::format_of(path);
    metadata = formats::open_with(found_format, path, nullptr, options.raw);
    ByteWriter writer;
    writer.put(next_number());
    writer.put(found_format.name());
    const Contents& contents = mode == OpenMode::kRead ? metadata->contents() : metadata->contents_to_change();
    formats::put(writer, contents);
    return writer.take();
  });
  ByteReader reader("what rank 0 found", found);
  const int64_t number = reader.number();
  const Format& format = formats::format_named(reader.text());
  auto file = std::shared_ptr<DataFile>(new DataFile(std::move(comm), format, mode, options));
  file->number_ = number;
  file->contents_ = formats::next_contents(reader);
  file->final_path_ = path;
  file->may_change(path);
  file->changes_->use(std::move(metadata));
  file->open_bytes("open " + path);
  return file;
}

std::shared_ptr<DataFile> DataFile::create(std::shared_ptr<Comm> comm, const std::string& path,
                                           const NewFileOptions& create, const DataFileOptions& options) {
  return create_with(std::move(comm), path, create, nullptr, options);
}

std::shared_ptr<DataFile> DataFile::create_with(std::shared_ptr<Comm> comm, const std::string& path,
                                                const NewFileOptions& create, const NewArray* array,
                                                const DataFileOptions& options) {
  const CollectiveTurnScope turn(comm->size() > 1 ? &comm->turn() : nullptr, "create", path);
  const std::string words =
      "create file " + path + "\nformat=" + create.format + "\noverwrite=" + (create.overwrite ? "true" : "false") +
      "\natomic=" + (create.atomic ? "true" : "false") + (array == nullptr ? "" : "\narray=" + words_of(*array));
  std::pair<const Format*, std::string> kind;
  run_collectively(*comm, question_of(words), [&] {  // before anything is made
    kind = formats::format_for(path, create.format);
    if (array != nullptr || kind.first->holds_many()) return;
    fail_argument("create " + path + ": a " + std::string(kind.first->name()) +
                  " file holds one array: create it together with the file");
  });
  const Format& format = *kind.first;
  DataFileOptions given_options = options;
  given_options.raw.reset();
  if (!format.describes_itself()) given_options.raw = formats::RawElements{array->shape, array->type, array->order};
  std::shared_ptr<AtomicFile> atomic_file;
  const auto found = on_first_rank(*comm, words + "\n: file", [&] {
    std::optional<Replacing> replacing;
    if (create.overwrite) replacing.emplace(path);
    const AtomicFileOptions given{
        .overwrite = create.overwrite, .atomic = create.atomic, .is_folder = format.is_folder()};
    atomic_file = std::make_shared<AtomicFile>(path, given);
    if (replacing && !create.atomic) replacing->taken();
    formats::NewContents contents{.flavour = kind.second};
    contents.groups.emplace_back();
    if (array != nullptr) contents.arrays.push_back(*array);
    format.create(atomic_file->working_path(), contents);
    return serialise(*atomic_file, next_number(),
                     formats::open_with(format, atomic_file->working_path(), nullptr, given_options.raw)->contents());
  });
  ByteReader reader("what rank 0 made", found);
  const std::string final_path = reader.text();
  const std::string working_path = reader.text();
  const std::string replaced_path = reader.text();
  auto file = std::shared_ptr<DataFile>(new DataFile(std::move(comm), format, OpenMode::kReadWrite, given_options));
  file->number_ = reader.number();
  if (array != nullptr && !format.holds_many()) file->fill_ = array->fill;
  file->contents_ = formats::next_contents(reader);
  file->final_path_ = final_path;
  file->atomic_file_ = std::move(atomic_file);
  if (file->atomic_file_ == nullptr) {
    const AtomicFileOptions given{.overwrite = create.overwrite,
                                  .atomic = create.atomic,
                                  .is_folder = format.is_folder(),
                                  .working_path = working_path,
                                  .replaced_path = replaced_path};
    file->atomic_file_ = std::make_shared<AtomicFile>(AtomicFile::made_elsewhere(final_path, given));
  }
  file->may_change(working_path);
  file->open_bytes("create " + path);
  if (file->comm_->rank() == 0) file->atomic_file_->drop_replaced();
  if (array != nullptr) {
    const auto made = file->array(array->variable);
    if (made->grows()) file->records();
  }
  if (!create.attributes.empty()) file->set_attributes("", create.attributes);
  return file;
}

DataFile::~DataFile() {
  if (!is_closed_) take_back();
  release();
}

std::string DataFile::words(const std::string& doing) const {
  return doing + " (" + final_path_ + ", opened as number " + std::to_string(number_) + ")";
}

void DataFile::may_change(const std::string& path) {
  FileChanges::Options given{.is_new = atomic_file_ != nullptr, .raw = options_.raw};
  given.refuse_stale = [this](FormatFile& file, OwnRows own) {
    own.contents = &contents_;
    own.records = records_ ? &*records_ : nullptr;
    swath::refuse_stale(final_path_, file, own);
  };
  changes_ = std::make_shared<FileChanges>(format_, path, std::move(given));
}

void DataFile::open_bytes(const std::string& words) {
  run_collectively(*comm_, question_of(words + ": engines"), [&] {
    const FileOptions how = options_.file ? *options_.file : FileOptions();
    const bool has_name = mode_ == OpenMode::kReadWrite && comm_->rank() == 0;
    do {
      if (has_name) changes_->note_name(changes_->path());
      file_ = format_.is_folder() ? File::open_folder(changes_->path(), how) : File::open(changes_->path(), mode_, how);
    } while (has_name && changes_->is_replaced());
  });
}

// ---- What may be done ---------------------------------------------------------------------------------------------

// Or open in the parent of this process only.
void DataFile::refuse_closed(const std::string& doing) const {
  if (is_closed_) fail_argument(doing + " " + final_path_ + ": the file is closed; open it again");
  if (changes_->is_forked()) {
    fail_argument(doing + " " + final_path_ +
                  ": the process that has the file open was forked, and this is its child: open the file again here");
  }
}

void DataFile::refuse_changing(const std::string& doing) const {
  refuse_closed(doing);
  if (mode_ != OpenMode::kReadWrite) {
    fail_argument(doing + " " + final_path_ + ": the file is open for reading; open it for reading and writing");
  }
}

void DataFile::refuse_writing(const std::string& doing) const {
  if (mode_ != OpenMode::kReadWrite) refuse_changing(doing);
  changes_->refuse_replaced(doing);
}

void DataFile::has_written(const FileArray& array) {
  if (records_ && !array.shape().empty()) records_->has_rows(array.path(), array.shape().front());
}

// ---- On rank 0 ----------------------------------------------------------------------------------------------------

namespace {

std::vector<std::byte> serialise_placed(const std::optional<Description>& changed,
                                        const std::vector<Description>& others, bool is_other_file) {
  ByteWriter writer;
  writer.put(changed ? 1 : 0);
  if (changed) formats::put(writer, *changed);
  writer.put(std::ssize(others));
  for (const Description& other : others) formats::put(writer, other);
  writer.put(is_other_file ? 1 : 0);
  return writer.take();
}

}  // namespace

std::vector<std::byte> DataFile::placed_after_change(FormatFile& metadata, const std::optional<Description>& changed) {
  const auto [has_moved, is_other_file] = changes_->moved();
  std::vector<Description> others;
  if (has_moved || is_other_file) {
    for (const auto& [path, array] : arrays_) {
      Description described = metadata.describe(path);
      // Rows that only this handle knows of.
      if (records_ && records_->follows(path) && records_->rows(path) > described.shape.front()) {
        described = metadata.extend(path, records_->rows(path), std::nullopt);
      }
      others.push_back(std::move(described));
    }
  }
  return serialise_placed(changed, others, is_other_file);
}

// Arrays that lie along the dimension behind their first are longer, too.
std::vector<std::byte> DataFile::set_length_of(const std::string& dimension, int64_t rows,
                                               const std::vector<std::string>& longer) {
  return changes_->change([&](FormatFile& metadata) {
    metadata.set_length(dimension, rows);
    changes_->checkpoint();
    std::vector<Description> others;
    for (const std::string& path : longer) others.push_back(metadata.describe(path));
    return serialise_placed(std::nullopt, others, false);
  });
}

// ---- Changes of what the file holds -------------------------------------------------------------------------------

DataFile::Placed DataFile::take(const std::vector<std::byte>& placed) {
  ByteReader reader("what rank 0 changed", placed);
  Placed found;
  if (reader.flag("changed")) found.changed = formats::next_description(reader);
  const int64_t count = reader.count(1);
  for (int64_t i = 0; i < count; ++i) found.others.push_back(formats::next_description(reader));
  found.is_other_file = reader.flag("other file");
  changes_->note_changed();
  if (found.is_other_file) open_bytes(words("open again"));
  for (Description& other : found.others) {
    FileArray& array = *arrays_.at(other.variable.value_or(""));
    array.relocate(std::move(other), identity_of(array.description(), final_path_, number_), file_);
  }
  return found;
}

std::shared_ptr<FileArray> DataFile::make_array(const Description& description, bool is_new) {
  const std::string identity = identity_of(description, final_path_, number_);
  Array::Options given;
  given.form = array_form(description, identity);
  given.chunks = coded_chunks(description);
  if (may_have_chunk_table(description))
    given.allocator = std::make_shared<ChunkRoom>(changes_, description.variable.value_or(""));
  given.fill = description.fill;
  given.learning = learning_;
  given.name = final_path_;
  given.is_new = is_new && (description.unlimited.empty() || !description.unlimited.front());
  auto array = std::make_shared<FileArray>(weak_from_this(), description, std::make_unique<Array>(comm_, file_, given));
  arrays_[array->path()] = array;
  return array;
}

std::shared_ptr<FileArray> DataFile::array(const std::optional<std::string>& path) {
  const std::lock_guard one_change(changing_.get());
  const formats::Variable* variable = path ? contents_.variable(*path) : nullptr;
  const auto known = variable == nullptr ? arrays_.end() : arrays_.find(variable->path);
  if (known != arrays_.end()) return known->second;
  const std::string name = path.value_or("its array");
  const CollectiveTurnScope turn(comm_->size() > 1 ? &comm_->turn() : nullptr, "open", name);
  const auto described = on_first_rank(*comm_, words("open array " + name), [&] {
    if (is_closed_) fail_argument("open " + name + " of " + final_path_ + ": the file is closed; open it again");
    return changes_->read([&](FormatFile& metadata) { return formats::serialise(metadata.describe(path)); });
  });
  Description description = formats::parse_description(described);
  if (fill_) description.fill = *fill_;
  if (const auto found = arrays_.find(description.variable.value_or("")); found != arrays_.end()) return found->second;
  const bool is_new = atomic_file_ != nullptr;  // what is never written of it is filled
  std::shared_ptr<FileArray> array;
  run_collectively(*comm_, question_of(words("open array " + name + ": form")),
                   [&] { array = make_array(description, is_new); });
  return array;
}

std::shared_ptr<FileArray> DataFile::add(const NewArray& array) {
  const OneChange one_change(changing_);
  const CollectiveTurnScope turn(comm_->size() > 1 ? &comm_->turn() : nullptr, "add", array.path());
  const std::string doing = words("add " + words_of(array));
  finish_started();
  agree_same(*comm_, doing);  // before anything is changed
  const auto placed = take(on_first_rank(*comm_, doing, [&] {
    refuse_changing("add to");
    return changes_->change(
        [&](FormatFile& metadata) { return placed_after_change(metadata, metadata.add(fitted(contents_, array))); });
  }));
  const Description& added = *placed.changed;
  add_to(contents_, added);
  if (!added.unlimited.empty() && added.unlimited.front()) records().begin(contents_, added.variable.value_or(""));
  return make_array(added, true);
}

void DataFile::set_attributes(const std::string& holder, const Attributes& changes) {
  const OneChange one_change(changing_);
  const CollectiveTurnScope turn(comm_->size() > 1 ? &comm_->turn() : nullptr, "set attributes of", holder);
  const std::string doing = words("set attributes of " + holder + ": " + words_of(changes));
  finish_started();
  agree_same(*comm_, doing);  // before anything is changed
  take(on_first_rank(*comm_, doing, [&] {
    refuse_changing("set attributes of");
    return changes_->change([&](FormatFile& metadata) {
      metadata.set_attributes(holder, changes);
      return placed_after_change(metadata, std::nullopt);
    });
  }));
  contents_.set_attributes(holder, changes);
}

void DataFile::set_length(const std::string& dimension, int64_t rows) {
  const std::vector<std::string> longer = open_arrays_along_later(dimension);
  const auto placed = on_first_rank(*comm_, words(dimension + " has " + std::to_string(rows) + " rows"),
                                    [&] { return set_length_of(dimension, rows, longer); });
  records().set_length(dimension, rows);
  contents_.set_length(dimension, rows);
  take(placed);
}

}  // namespace swath
