#include "files/data_file.h"

#include <atomic>
#include <utility>

#include "array/learning.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "files/collective_file.h"
#include "files/file_array.h"
#include "files/first_rank.h"
#include "files/fitted.h"
#include "files/one_change.h"
#include "formats/all.h"
#include "formats/description.h"
#include "formats/files.h"
#include "formats/format.h"
#include "formats/raw/raw.h"
#include "formats/refusals.h"
#include "formats/serialise.h"
#include "plan/profile.h"
#include "store/atomic_file.h"

namespace swath {

using formats::Attributes;
using formats::Contents;
using formats::Description;
using formats::Format;
using formats::FormatFile;
using formats::NewArray;

namespace {

// A number for an opening, unique in this process.
int64_t next_number() {
  static std::atomic<int64_t> openings = 0;
  return ++openings;
}

// The text by which ranks compare their descriptions of a raw file.
std::string words_of(const std::optional<formats::RawElements>& raw) {
  if (!raw) return "";
  return "\nshape=" + to_string(raw->shape) + "\ntype=" + raw->type.to_string() +
         "\norder=" + formats::tuple_text({raw->order.begin(), raw->order.end()}) +
         "\noffset=" + std::to_string(raw->offset);
}

CollectiveFile::Options given_by(const DataFileOptions& options) {
  CollectiveFile::Options given;
  if (options.file) given.how = *options.file;
  given.raw = options.raw;
  const auto profile = options.profile ? options.profile : std::make_shared<const Profile>(default_profile());
  given.learning = std::make_shared<Learning>(profile, false);
  return given;
}

// What rank 0 broadcasts about a new file.
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

DataFile::DataFile(std::unique_ptr<CollectiveFile> file, std::optional<std::vector<std::byte>> fill)
    : file_(std::move(file)), fill_(std::move(fill)) {}

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
  CollectiveFile::Options given = given_by(options);
  given.path = given.final_path = path;
  given.number = number;
  given.mode = mode;
  given.contents = formats::next_contents(reader);
  auto file = std::make_unique<CollectiveFile>(std::move(comm), format, std::move(given));
  file->changes()->use(std::move(metadata));
  run_collectively(file->comm(), question_of("open " + path + ": engines"), [&] { file->open_bytes(); });
  return std::shared_ptr<DataFile>(new DataFile(std::move(file), std::nullopt));
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
  run_collectively(*comm, question_of(words), [&] {  // before any file is made
    kind = formats::format_for(path, create.format);
    if (array != nullptr || kind.first->holds_many()) return;
    fail_argument("create " + path + ": a " + std::string(kind.first->name()) +
                  " file holds one array: create it together with the file");
  });
  const Format& format = *kind.first;
  CollectiveFile::Options given = given_by(options);
  given.raw.reset();
  if (!format.describes_itself()) given.raw = formats::RawElements{array->shape, array->type, array->order};
  std::shared_ptr<AtomicFile> atomic_file;
  const auto found = on_first_rank(*comm, words + "\n: file", [&] {
    std::optional<Replacing> replacing;
    if (create.overwrite) replacing.emplace(path);
    const AtomicFileOptions how{
        .overwrite = create.overwrite, .atomic = create.atomic, .is_folder = format.is_folder()};
    atomic_file = std::make_shared<AtomicFile>(path, how);
    if (replacing && !create.atomic) replacing->taken();
    formats::NewContents contents{.flavour = kind.second};
    contents.groups.emplace_back();
    if (array != nullptr) contents.arrays.push_back(*array);
    format.create(atomic_file->working_path(), contents);
    return serialise(*atomic_file, next_number(),
                     formats::open_with(format, atomic_file->working_path(), nullptr, given.raw)->contents());
  });
  ByteReader reader("what rank 0 made", found);
  given.final_path = reader.text();
  given.path = reader.text();
  const std::string replaced_path = reader.text();
  given.number = reader.number();
  given.mode = OpenMode::kReadWrite;
  given.contents = formats::next_contents(reader);
  if (atomic_file == nullptr) {
    const AtomicFileOptions how{.overwrite = create.overwrite,
                                .atomic = create.atomic,
                                .is_folder = format.is_folder(),
                                .working_path = given.path,
                                .replaced_path = replaced_path};
    atomic_file = std::make_shared<AtomicFile>(AtomicFile::made_elsewhere(given.final_path, how));
  }
  given.new_file = atomic_file;
  std::optional<std::vector<std::byte>> fill;
  if (array != nullptr && !format.holds_many()) fill = array->fill;
  auto made = std::make_unique<CollectiveFile>(std::move(comm), format, std::move(given));
  run_collectively(made->comm(), question_of("create " + path + ": engines"), [&] { made->open_bytes(); });
  const auto file = std::shared_ptr<DataFile>(new DataFile(std::move(made), std::move(fill)));
  if (file->comm().rank() == 0) atomic_file->drop_replaced();
  if (array != nullptr) {
    const auto first = file->array(array->variable);
    if (first->grows()) file->file_->begin_records(first->path());
  }
  if (!create.attributes.empty()) file->set_attributes("", create.attributes);
  return file;
}

DataFile::~DataFile() {
  if (!is_closed()) take_back();
  release();
}

const std::string& DataFile::path() const { return file_->final_path(); }
const Contents& DataFile::contents() const { return *file_->contents(); }
Comm& DataFile::comm() const { return file_->comm(); }
bool DataFile::is_closed() const { return file_->is_closed(); }

// ---- Arrays, and changes of what the file holds -------------------------------------------------------------------

std::shared_ptr<FileArray> DataFile::make_array(const Description& description, bool is_new) {
  auto array = std::make_shared<FileArray>(weak_from_this(), file_->make_array(description, is_new));
  arrays_[array->path()] = array;
  return array;
}

std::shared_ptr<FileArray> DataFile::array(const std::optional<std::string>& path) {
  const std::lock_guard one_change(file_->changing().get());
  const formats::Variable* variable = path ? contents().variable(*path) : nullptr;
  const auto known = variable == nullptr ? arrays_.end() : arrays_.find(variable->path);
  if (known != arrays_.end()) return known->second;
  const std::string name = path.value_or("its array");
  const CollectiveTurnScope turn(comm().size() > 1 ? &comm().turn() : nullptr, "open", name);
  const auto described = on_first_rank(comm(), file_->words("open array " + name), [&] {
    if (is_closed()) file_->refuse_closed("open " + name + " of");
    return file_->changes()->read([&](FormatFile& metadata) { return formats::serialise(metadata.describe(path)); });
  });
  Description description = formats::parse_description(described);
  if (fill_) description.fill = *fill_;
  if (const auto found = arrays_.find(description.variable.value_or("")); found != arrays_.end()) return found->second;
  const bool is_new = file_->is_new();  // elements that are never written get the fill value
  std::shared_ptr<FileArray> array;
  run_collectively(comm(), question_of(file_->words("open array " + name + ": form")),
                   [&] { array = make_array(description, is_new); });
  return array;
}

std::shared_ptr<FileArray> DataFile::add(const NewArray& array) {
  const OneChange one_change(file_->changing());
  const CollectiveTurnScope turn(comm().size() > 1 ? &comm().turn() : nullptr, "add", array.path());
  file_->refuse_closed("add to");
  return make_array(file_->add(file_->words("add " + words_of(array)), [&] { return array; }), true);
}

void DataFile::set_attributes(const std::string& holder, const Attributes& changes) {
  const OneChange one_change(file_->changing());
  const CollectiveTurnScope turn(comm().size() > 1 ? &comm().turn() : nullptr, "set attributes of", holder);
  file_->refuse_closed("set attributes of");
  file_->set_attributes(file_->words("set attributes of " + holder + ": " + words_of(changes)), holder,
                        [&] { return changes; });
  file_->contents()->set_attributes(holder, changes);
}

// ---- Sync and close -----------------------------------------------------------------------------------------------

void DataFile::sync() {
  const OneChange one_change(file_->changing());
  const CollectiveTurnScope turn(comm().size() > 1 ? &comm().turn() : nullptr, "sync", path());
  file_->sync();
}

void DataFile::close() {
  const OneChange one_change(file_->changing());
  if (is_closed()) return;
  if (file_->changes()->is_forked()) return release();  // the file belongs to the parent process
  const CollectiveTurnScope turn(comm().size() > 1 ? &comm().turn() : nullptr, "close", path());
  try {
    file_->complete_records();
    const std::optional<Error> failure = failure_of([&] { file_->refuse_lost_writes(); });
    file_->stop();
    agree_same(comm(), failure ? "" : file_->words("close"), failure);
    file_->complete();
  } catch (...) {
    take_back();
    release();
    throw;
  }
  release();
}

void DataFile::take_back() noexcept {
  const auto ignored = failure_of([&] { file_->take_back(); });
  static_cast<void>(ignored);  // the caller throws the first error
}

void DataFile::release() noexcept {
  const auto ignored = failure_of([&] { file_->release(); });
  static_cast<void>(ignored);
  arrays_.clear();
}

}  // namespace swath
