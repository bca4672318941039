#include "formats/hdf5/changed_file.h"

#include <cerrno>
#include <optional>

#include "base/error.h"
#include "formats/hdf5/driver.h"
#include "formats/one_array.h"
#include "journal/target_lock.h"
#include "store/open_file.h"

namespace swath::formats::hdf5 {
namespace {

constexpr unsigned kMarksWriters = 3;  // superblocks from this version on record that the file is open for writing
// A new file records the order in which objects are made: netCDF-4 needs it to change the file later.
Handle creation_properties() {
  Handle made(library().H5Pcreate(library().id("H5P_CLS_FILE_CREATE_ID_g")));
  checked(library().H5Pset_link_creation_order(made.get(), kInOrder));
  checked(library().H5Pset_attr_creation_order(made.get(), kInOrder));
  checked(library().H5Pset_obj_track_times(made.get(), false));  // the same calls make the same bytes at any time
  return made;
}

}  // namespace

ChangedFile::ChangedFile(Changes& changes, Start start) : changes_(changes), start_(start) {}

// A forked child does not close the library's file: the parent's thread in the library does not exist in the child.
ChangedFile::~ChangedFile() {
  if (made_in_ != fork_generation()) {
    file_.release();
  } else {
    drop();
  }
}

void ChangedFile::refuse_child() const {
  if (made_in_ == fork_generation()) return;
  throw Error(ErrorKind::kStore,
              path() + ": the process that this one was forked from has it open for changes; open it again in this one",
              EBADF);
}

void ChangedFile::drop() {
  expected_.clear();
  if (stored_ == nullptr) return;
  const Session session;
  if (!std::exchange(delayed_, {}).empty()) stored_->give_up();
  file_ = DrivenFile();
  stored_.reset();
}

// The chunk cache is off, because elements are written without the library.
DrivenFile ChangedFile::opened_file(unsigned flags) const {
  const Library& all = library();
  const std::shared_ptr<DriverFile> file = stored_;
  Handle driver = register_driver();
  const Handle access(all.H5Pcreate(all.id("H5P_CLS_FILE_ACCESS_ID_g")));
  set_driver(access.get(), driver.get(), file);
  checked(all.H5Pset_cache(access.get(), 0, 0, 0, 0));
  checked(all.H5Pset_fclose_degree(access.get(), H5F_CLOSE_STRONG));
  Handle opened(flags == H5F_ACC_TRUNC ? all.H5Fcreate(path().c_str(), flags, creation_properties().get(), access.get())
                                       : all.H5Fopen(path().c_str(), flags, access.get()));
  return {std::move(driver), std::move(opened)};
}

// Call this after the begin of a change: the library's writes when it opens the file belong to the change.
void ChangedFile::open() {
  const bool is_new = start_ == Start::kEmpty;
  file_ = opened_file(is_new ? H5F_ACC_TRUNC : H5F_ACC_RDWR);
  stays_open_ = is_new || read_superblock(path()).version < kMarksWriters;
}

// While this waits for a program, it holds no lock of this process: the thread that has the file open may need it.
void ChangedFile::make_change(const FileWork& work, When when) {
  refuse_child();
  const std::string doing = start_ == Start::kEmpty ? "create" : "change";
  LockWait wait;
  while (!try_change(doing, work, when)) {
    if (!wait.again()) fail_target_locked(path(), "HDF5 cannot " + doing + " it");
  }
  if (delayed_.empty()) allow_readers();
}

void ChangedFile::change(const FileWork& work) {
  write_delayed();
  make_change(work, When::kNow);
}

void ChangedFile::change_later(const FileWork& work) {
  make_change(work, changes_.is_durable() ? When::kNow : When::kLater);
}

void ChangedFile::write_delayed() {
  if (delayed_.empty()) return;
  refuse_child();
  try {
    make_change([this](const OpenFile&) { delayed_.clear(); }, When::kNow);
  } catch (const Error& error) {
    changes_.lose(error.what());
    throw;
  }
}

// The file is as it was before all changes in memory.
void ChangedFile::repeat_delayed() noexcept {
  const std::vector<FileWork> works = std::exchange(delayed_, {});
  if (works.empty()) return;
  try {
    make_change(
        [&works](const OpenFile& file) {
          for (const FileWork& work : works) work(file);
        },
        When::kNow);
  } catch (const std::exception& error) {
    changes_.lose(error.what());
  }
}

// Returns false if another program has the file open.
bool ChangedFile::try_change(const std::string& doing, const FileWork& work, When when) {
  const Session session;
  if (stored_ == nullptr) {
    const StoredFile is_file(path());  // the library would wait for the other end of a pipe
    if (start_ == Start::kExisting) refuse_written(path());
    stored_ = std::make_shared<JournalledFile>(changes_);
  }
  try {
    if (delayed_.empty() && !stored_->begin()) {
      drop();
      return false;
    }
    do_change(doing, work, when);
    return true;
  } catch (...) {
    const std::optional<Error> failure = stored_->failure();
    take_back();
    repeat_delayed();
    if (!failure) throw;
    const std::string why = failure->os_error() == 0 ? failure->what() : system_message(failure->os_error());
    throw Error(ErrorKind::kStore, path() + ": HDF5 cannot " + doing + " it: " + why + "; it is as it was before",
                failure->os_error());
  }
}

// Throws the error of a failed write at the end; the library does not see it.
void ChangedFile::do_change(const std::string& doing, const FileWork& work, When when) {
  translate_errors(path(), doing, [&] {
    if (!file_.is_open()) open();
    work(OpenFile(path(), file_.get()));
    if (!stays_open_) when = When::kNow;
    if (when == When::kNow) checked(library().H5Fflush(file_.get(), H5F_SCOPE_GLOBAL));
  });
  when == When::kNow ? flush() : delayed_.push_back(work);
}

void ChangedFile::flush() {
  if (!stays_open_) file_ = DrivenFile();
  stored_->flush();
  if (stored_->failure()) throw *stored_->failure();
  start_ = Start::kExisting;
  stored_->end();
}

// No other program reads a file that has no name yet.
void ChangedFile::expect(Room room, const std::string& variable) {
  if (changes_.is_durable()) expected_.emplace(room, variable);
}

void ChangedFile::written(Room room, const std::string& variable) {
  if (made_in_ == fork_generation() && expected_.erase({room, variable}) > 0) allow_readers();
}

void ChangedFile::allow_readers() {
  if (stored_ == nullptr || !expected_.empty()) return;
  if (!stored_->allow_readers() || !stays_open_) drop();
}

void ChangedFile::take_back() {
  const std::shared_ptr<JournalledFile> stored = std::exchange(stored_, nullptr);
  stored->give_up();
  expected_.clear();
  dimensions_ = {};
  file_ = DrivenFile();
  stored->undo();
}

void ChangedFile::read(const FileWork& work) {
  refuse_child();
  if (stored_ == nullptr) return with_open_file(path(), work);
  const Session session;
  translate_errors(path(), "read", [&] {
    // the file is closed after each change, but still locked
    const DrivenFile opened = file_.is_open() ? DrivenFile() : opened_file(H5F_ACC_RDONLY);
    work(OpenFile(path(), file_.is_open() ? file_.get() : opened.get()));
  });
}

}  // namespace swath::formats::hdf5
